-- End leases that ran out, and make delayed jobs ready whose time has come.
-- Both are steps of a claim, under its instant `p_now`.

-- Leases of any type with `expires_at <= p_now`, by (expires_at, seq), a thousand at the most.
-- One claim at a time does this; the others go on. `p_next` caps when the next look is due.
create or replace function {schema}.gnl_reclaim(p_now bigint, p_next bigint) returns void
language plpgsql set enable_seqscan = on set enable_hashjoin = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_orgs text[];
    v_types text[];
    v_seqs bigint[];
    v_pause bigint := 0;
begin
    perform from {schema}.gnl_clock where reclaim_at <= p_now for update skip locked;
    if not found then
        return;
    end if;
    with expired as materialized (
        select h.seq from {schema}.gnl_held as h
        where h.expires_at <= p_now
        order by h.expires_at, h.seq
        limit 1000
        for update skip locked
    ), gone as (
        delete from {schema}.gnl_held as h
        using expired as e
        join {schema}.gnl_jobs as j on j.seq = e.seq
        where h.seq = e.seq
        returning h.seq, h.org, h.type, h.attempts, h.expires_at, h.canceled, h.error,
            case
                when h.canceled then 'canceled'
                when h.attempts >= coalesce(j.max_attempts, h.budget) then 'dead'
            end as state
    ), failed as (
        insert into {schema}.gnl_failures (seq, n, attempt, error, failed_at)
        select g.seq, {schema}.gnl_next_failure(g.seq), g.attempts, '{lease_expired}', p_now
        from gone as g where not g.canceled
    ), finished as (
        insert into {schema}.gnl_finished (seq, org, state, error, attempts, finished_at)
        select g.seq, g.org, g.state,
            case when g.canceled then g.error else '{lease_expired}' end, g.attempts, p_now
        from gone as g where g.state is not null
        order by g.expires_at, g.seq
    ), again as (
        insert into {schema}.gnl_ready (org, type, seq, attempts, due_at, reclaimed, error)
        select g.org, g.type, g.seq, g.attempts, g.expires_at, true, '{lease_expired}'
        from gone as g where g.state is null
    )
    select array_agg(g.org order by g.expires_at, g.seq),
        array_agg(g.type order by g.expires_at, g.seq),
        array_agg(g.seq order by g.expires_at, g.seq)
    into v_orgs, v_types, v_seqs
    from gone as g where g.state is null;
    if v_orgs is not null then
        perform {schema}.gnl_reopen_lanes(v_orgs, v_types, v_seqs);
    end if;
    -- When old snapshots keep so many dead rows alive that a look takes long, it is not taken
    -- again at once. Time alone would say the same of a machine that is merely busy.
    if pg_relation_size('{schema_text}.gnl_held') > 16000000 then
        v_pause := least(20 * ({schema}.gnl_now() - p_now), 1000000);
    end if;
    update {schema}.gnl_clock
    set reclaim_at = greatest(
        least((select min(h.expires_at) from {schema}.gnl_held as h), p_next), p_now + v_pause
    );
end $$;

-- The number of a job's next failure. Only the holder of its lease asks, so nobody else counts.
create or replace function {schema}.gnl_next_failure(p_seq bigint) returns bigint
language sql volatile as
$$ select coalesce(max(n), 0) + 1 from {schema}.gnl_failures where seq = p_seq $$;

-- Delayed jobs of these types that are due, by (due_at, seq), a thousand at the most.
create or replace function {schema}.gnl_wake(p_types text[], p_now bigint, p_from bigint)
returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_orgs text[];
    v_types text[];
    v_seqs bigint[];
begin
    with due as materialized (
        select d.due_at, d.seq
        from unnest(p_types) as t(type)
        cross join lateral (
            select d.due_at, d.seq from {schema}.gnl_delayed as d
            where d.type = t.type and d.due_at >= p_from and d.due_at <= p_now
            order by d.due_at, d.seq
            limit 1000
        ) as d
        order by d.due_at, d.seq
        limit 1000
    ), mine as materialized (
        select d.seq from due join {schema}.gnl_delayed as d on d.seq = due.seq
        for update of d skip locked
    ), gone as (
        delete from {schema}.gnl_delayed as d using mine as m where d.seq = m.seq
        returning d.*
    ), ready as (
        insert into {schema}.gnl_ready (org, type, seq, attempts, due_at, reclaimed, error)
        select g.org, g.type, g.seq, g.attempts, g.due_at, g.reclaimed, g.error from gone as g
    )
    select array_agg(g.org order by g.due_at, g.seq), array_agg(g.type order by g.due_at, g.seq),
        array_agg(g.seq order by g.due_at, g.seq)
    into v_orgs, v_types, v_seqs
    from gone as g;
    if v_orgs is not null then
        perform {schema}.gnl_reopen_lanes(v_orgs, v_types, v_seqs);
    end if;
end $$;

-- When the next delayed job of these types falls due, null if there is none. In plpgsql, since
-- a function in plain SQL is parsed and planned on every call.
create or replace function {schema}.gnl_next_due(p_types text[], p_from bigint) returns bigint
language plpgsql volatile set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off as $$
begin
    return (
        select min(d.due_at)
        from unnest(p_types) as t(type)
        cross join lateral (
            select d.due_at from {schema}.gnl_delayed as d
            where d.type = t.type and d.due_at >= p_from
            order by d.due_at, d.seq
            limit 1
        ) as d
    );
end $$;
