-- Rows of gnl_lanes: one for every pair of lane and type that has ready jobs, with its turn.

-- Keep the rows of these pairs from being deleted until this transaction ends.
-- Waits for a claim at the most, never for a caller's transaction.
create or replace function {schema}.gnl_share_lanes(p_orgs text[], p_types text[]) returns void
language plpgsql as $$
begin
    if cardinality(p_orgs) = 1 then
        perform pg_advisory_xact_lock_shared(1735289904, {schema}.gnl_bucket(p_orgs[1], p_types[1]));
    else
        perform pg_advisory_xact_lock_shared(1735289904, b.bucket)
        from (
            select distinct {schema}.gnl_bucket(u.org, u.type) as bucket
            from unnest(p_orgs, p_types) as u(org, type)
            order by bucket
        ) as b;
    end if;
end $$;

-- Give each pair that has no turn the next stamp, in the order given. For new jobs, whose
-- sequence numbers are above all that were granted; gnl_share_lanes comes first.
create or replace function {schema}.gnl_open_lanes(p_orgs text[], p_types text[], p_seqs bigint[])
returns void
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_now bigint := {schema}.gnl_now();
begin
    -- Stamps in call order, rows in key order: two calls never wait for each other crosswise.
    insert into {schema}.gnl_lanes (org, type, turn, head, soon_head, soon_at, swept_at)
    select s.org, s.type, s.stamp, s.head, s.head, v_now, v_now
    from (
        select f.org, f.type, f.head, nextval('{schema}.gnl_stamps') as stamp
        from (
            select u.org, u.type, min(u.seq) - 1 as head, min(u.place) as first
            from unnest(p_orgs, p_types, p_seqs) with ordinality as u(org, type, seq, place)
            group by u.org, u.type
            order by first
        ) as f
    ) as s
    order by s.org, s.type
    on conflict (org, type) do nothing;
end $$;

-- The same for jobs that become ready again: they take their old place in their lane, so a
-- claim has to begin its scan at them.
create or replace function {schema}.gnl_reopen_lanes(p_orgs text[], p_types text[], p_seqs bigint[])
returns void
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_now bigint := {schema}.gnl_now();
begin
    perform {schema}.gnl_share_lanes(p_orgs, p_types);
    insert into {schema}.gnl_lanes as l (org, type, turn, head, soon_head, soon_at, swept_at)
    select s.org, s.type, s.stamp, s.head, s.head, v_now, v_now
    from (
        select f.org, f.type, f.head, nextval('{schema}.gnl_stamps') as stamp
        from (
            select u.org, u.type, min(u.seq) - 1 as head, min(u.place) as first
            from unnest(p_orgs, p_types, p_seqs) with ordinality as u(org, type, seq, place)
            group by u.org, u.type
            order by first
        ) as f
    ) as s
    order by s.org, s.type
    on conflict (org, type) do update
    set head = least(l.head, excluded.head),
        soon_head = least(l.soon_head, excluded.head),
        soon_at = excluded.soon_at
    where l.soon_head > excluded.head or l.head > excluded.head;
end $$;

-- Delete the rows of those of these pairs that have no ready job. A pair that a producer is
-- adding to keeps its row (and the next claim will look again): this never waits.
create or replace function {schema}.gnl_close_lanes(p_orgs text[], p_types text[]) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_start bigint := {schema}.gnl_now();
    v_cost bigint;
    v_orgs text[];
    v_types text[];
    v_rows tid[];
begin
    select array_agg(u.org), array_agg(u.type) into v_orgs, v_types
    from unnest(p_orgs, p_types) as u(org, type)
    join {schema}.gnl_lanes as l on l.org = u.org and l.type = u.type
    where (l.sweep_cost < 10000 or l.swept_at + 20 * l.sweep_cost <= v_start)
        and pg_try_advisory_xact_lock(1735289904, {schema}.gnl_bucket(u.org, u.type));
    if v_orgs is null then
        return;
    end if;
    -- A new statement, hence a snapshot taken after the locks: every job of these pairs is
    -- either visible in it or does not exist.
    v_rows := array(
        select l.ctid
        from unnest(v_orgs, v_types) as u(org, type)
        join {schema}.gnl_lanes as l on l.org = u.org and l.type = u.type
        where not exists (
            select from {schema}.gnl_ready as r where r.org = l.org and r.type = l.type
        )
        for update of l skip locked
    );
    v_cost := {schema}.gnl_now() - v_start;
    if v_cost < 10000 then
        delete from {schema}.gnl_lanes where ctid = any (v_rows);
    else
        -- Some old snapshot keeps dead entries alive, and walking them is slow: an empty row
        -- that stays is cheaper than this look after every claim.
        update {schema}.gnl_lanes
        set swept_at = v_start, sweep_cost = least(v_cost, 250000)
        where ctid = any (v_rows);
    end if;
end $$;
