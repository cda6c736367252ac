-- Drop the functions of an older version: some may have had other arguments or answers.
do $$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid::regprocedure from pg_proc as p
        where p.pronamespace = '{schema_text}'::regnamespace and p.proname like 'gnl\_%'
    loop
        execute format('drop function %s', v_function);
    end loop;
end $$;
