-- Which database this is, and whether its transaction numbers mean anything.

-- What names this store from any connection: its tables' id, and the database they are in.
create or replace function {schema}.gnl_home() returns text
language sql stable as
$$ select current_database() || '/' || (select value from {schema}.gnl_meta where name = 'id') $$;

-- A listing tells by the number of the transaction that added a job whether the job belongs to
-- it. In a database restored into another cluster these numbers are the old cluster's, and may
-- lie in the future of the new one: they are set to 0, which is visible to every listing.
create or replace function {schema}.gnl_adopt_cluster() returns void
language plpgsql as $$
declare
    v_cluster text := (select system_identifier from pg_control_system())::text;
    v_known text;
begin
    select value into v_known from {schema}.gnl_meta where name = 'cluster';
    if v_known = v_cluster then
        return;
    end if;
    perform pg_advisory_xact_lock(1735289888);
    if v_known is not null then
        update {schema}.gnl_jobs set xact = '0'
        where xact >= pg_snapshot_xmin(pg_current_snapshot());
    end if;
    insert into {schema}.gnl_meta (name, value) values ('cluster', v_cluster)
    on conflict (name) do update set value = excluded.value;
end $$;
