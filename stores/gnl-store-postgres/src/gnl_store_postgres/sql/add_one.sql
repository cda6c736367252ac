-- Add one job in the store's own transaction, without a limit: gnl_add for the most usual call,
-- spared the work on arrays. The order of its steps is explained there.
--
-- `p_channel`, if given, is told that there is something new.
-- Answers type and payload of the job that was there before; no row if this one is new.
create or replace function {schema}.gnl_add_one(
    p_org text, p_id text, p_type text, p_payload text, p_budget bigint, p_delay bigint,
    p_run_at bigint, p_channel text
) returns table (known_type text, known_payload text)
language plpgsql set enable_seqscan = off as $$
declare
    v_now bigint := {schema}.gnl_now();
    v_due_at bigint := coalesce(p_run_at, v_now + p_delay);
    v_seq bigint;
begin
    if v_due_at <= v_now then
        perform pg_advisory_xact_lock_shared(1735289904, {schema}.gnl_bucket(p_org, p_type));
    end if;
    loop
        insert into {schema}.gnl_jobs (org, id, type, payload, max_attempts, enqueued_at)
        values (p_org, p_id, p_type, p_payload, p_budget, v_now)
        on conflict (org, id) do nothing
        returning seq into v_seq;
        exit when v_seq is not null;
        return query
        select j.type, j.payload from {schema}.gnl_jobs as j where j.org = p_org and j.id = p_id;
        if found then
            return;
        end if;
        -- What stood in the way was pruned meanwhile.
    end loop;
    if v_due_at > v_now then
        insert into {schema}.gnl_delayed (seq, org, type, due_at, attempts, reclaimed)
        values (v_seq, p_org, p_type, v_due_at, 0, false);
    else
        if not exists (
            select from {schema}.gnl_lanes as l where l.org = p_org and l.type = p_type
        ) then
            insert into {schema}.gnl_lanes (org, type, turn, head, soon_head, soon_at, swept_at)
            values (
                p_org, p_type, nextval('{schema}.gnl_stamps'), v_seq - 1, v_seq - 1, v_now, v_now
            )
            on conflict (org, type) do nothing;
        end if;
        insert into {schema}.gnl_ready (org, type, seq, attempts, due_at, reclaimed)
        values (p_org, p_type, v_seq, 0, v_due_at, false);
    end if;
    if p_channel is not null then
        perform pg_notify(p_channel, '');
    end if;
end $$;
