-- Add jobs, all or none.
--
-- Arrays hold one entry a job, in call order. An array that would say the same of every job is
-- null: `p_org` and `p_type` stand for all then, no job has a budget of its own, none is
-- delayed. If none is, `p_pair_*` are the pairs of lane and type in the call, each with the
-- place of its first job.
--
-- `p_own` says that the store's own short transaction runs this; else it is the caller's, in
-- which nobody else may ever have to wait: so rows of gnl_lanes, which others need too, are not
-- written there. The first call then answers the pairs that lack one, having written nothing
-- but holding their locks; the store opens them by gnl_open_lanes in a transaction of its own
-- and calls again with `p_opened`.
--
-- Answers rows (what, place, a, b, n1, n2):
--   known  the job at `place` was there before, with type a and payload b
--   deep   refused: organization a has n1 live jobs, the call would add n2
--   away   this database is a, not `p_home`: nothing was written
--   lane   pair (a, b) lacks a row in gnl_lanes, nothing was written
create or replace function {schema}.gnl_add(
    p_org text, p_type text, p_orgs text[], p_types text[], p_ids text[], p_payloads text[],
    p_budgets bigint[], p_delays bigint[], p_run_ats bigint[],
    p_pair_orgs text[], p_pair_types text[], p_pair_places bigint[],
    p_max_depth bigint, p_own boolean, p_opened boolean, p_home text, p_channel text
) returns table (what text, place bigint, a text, b text, n1 bigint, n2 bigint)
language plpgsql set enable_seqscan = off set enable_mergejoin = off set work_mem = '64MB'
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_now bigint := {schema}.gnl_now();
    v_count bigint := cardinality(p_ids);
    v_seqs bigint[];
    v_dues bigint[];
    v_orgs text[] := p_pair_orgs;
    v_types text[] := p_pair_types;
    v_firsts bigint[];
    v_made bigint;
    v_places bigint[];
    v_known_types text[];
    v_known_payloads text[];
begin
    if p_home <> {schema}.gnl_home() then
        return query select 'away', 0::bigint, {schema}.gnl_home(), null::text, 0::bigint, 0::bigint;
        return;
    end if;
    if v_orgs is null or not p_own or p_max_depth is not null then
        p_orgs := coalesce(p_orgs, array_fill(p_org, array[v_count::integer]));
        p_types := coalesce(p_types, array_fill(p_type, array[v_count::integer]));
        v_dues := array(
            select coalesce(u.run_at, v_now + coalesce(u.delay, 0))
            from unnest(p_ids, p_run_ats, p_delays) as u(id, run_at, delay)
        );
    end if;
    -- Pairs of jobs that will be ready. The locks are held before the first row is written.
    if v_orgs is null then
        select array_agg(org), array_agg(type) into v_orgs, v_types
        from (
            select distinct u.org, u.type from unnest(p_orgs, p_types, v_dues) as u(org, type, due_at)
            where u.due_at <= v_now
        ) as d;
    end if;
    if v_orgs is not null then
        perform {schema}.gnl_share_lanes(v_orgs, v_types);
        if not p_own and not p_opened then
            return query select * from {schema}.gnl_unopened(p_orgs, p_ids, p_types, v_dues, v_now);
            if found then
                return;
            end if;
        end if;
    end if;

    -- The jobs. Numbers in call order, rows in key order: calls with common ids wait for each
    -- other in one order. Waiting for an id comes before anything that others may wait for.
    v_seqs := array(select nextval('{schema}.gnl_jobs_seq_seq') from generate_series(1, v_count));
    v_made := {schema}.gnl_insert_jobs(
        v_seqs, p_org, p_type, p_orgs, p_types, p_ids, p_payloads, p_budgets, v_now
    );

    if v_made < v_count then
        p_orgs := coalesce(p_orgs, array_fill(p_org, array[v_count::integer]));
        p_types := coalesce(p_types, array_fill(p_type, array[v_count::integer]));
        v_dues := coalesce(v_dues, array_fill(v_now, array[v_count::integer]));
    end if;
    while v_made < v_count loop
        select array_agg(u.place), array_agg(j.type), array_agg(j.payload)
        into v_places, v_known_types, v_known_payloads
        from unnest(p_orgs, p_ids, v_seqs) with ordinality as u(org, id, seq, place)
        cross join lateral (
            select j.type, j.payload, j.seq from {schema}.gnl_jobs as j
            where j.org = u.org and j.id = u.id
        ) as j
        where j.seq <> u.seq;
        exit when v_made + coalesce(cardinality(v_places), 0) = v_count;
        -- One that stood in the way was pruned meanwhile: the job is new after all.
        v_made := v_made + {schema}.gnl_insert_jobs(
            v_seqs, p_org, p_type, p_orgs, p_types, p_ids, p_payloads, p_budgets, v_now
        );
    end loop;

    if p_max_depth is not null and v_made > 0 then
        return query select * from {schema}.gnl_too_deep(p_orgs, v_seqs, p_max_depth, p_own);
        if found then
            delete from {schema}.gnl_jobs where seq = any (v_seqs);
            return;
        end if;
    end if;

    if v_made < v_count then
        return query
        select 'known', k.place, k.type, k.payload, null::bigint, null::bigint
        from unnest(v_places, v_known_types, v_known_payloads) as k(place, type, payload);
        select array_agg(u.org order by u.place), array_agg(u.type order by u.place),
            array_agg(u.seq order by u.place), array_agg(u.due_at order by u.place)
        into p_orgs, p_types, v_seqs, v_dues
        from unnest(p_orgs, p_types, v_seqs, v_dues)
            with ordinality as u(org, type, seq, due_at, place)
        where exists (select from {schema}.gnl_jobs as j where j.seq = u.seq);
    end if;
    if v_made = 0 then
        return;
    end if;

    if p_own and v_orgs is not null then
        if v_made = v_count and p_pair_places is not null then
            v_firsts := array(
                select v_seqs[p.place] from unnest(p_pair_places) with ordinality as p(place, n)
                order by p.n
            );
        else
            select array_agg(d.org order by d.seq), array_agg(d.type order by d.seq),
                array_agg(d.seq order by d.seq)
            into v_orgs, v_types, v_firsts
            from (
                select u.org, u.type, min(u.seq) as seq
                from unnest(p_orgs, p_types, v_seqs, v_dues) as u(org, type, seq, due_at)
                where u.due_at <= v_now
                group by u.org, u.type
            ) as d;
        end if;
        if v_orgs is not null then
            perform {schema}.gnl_open_lanes(v_orgs, v_types, v_firsts);
        end if;
    end if;
    insert into {schema}.gnl_ready (org, type, seq, attempts, due_at, reclaimed)
    select coalesce(u.org, p_org), coalesce(u.type, p_type), u.seq, 0, coalesce(u.due_at, v_now), false
    from unnest(p_orgs, p_types, v_seqs, v_dues) as u(org, type, seq, due_at)
    where u.due_at is null or u.due_at <= v_now;
    get diagnostics v_count = row_count;
    if v_count < v_made then
        insert into {schema}.gnl_delayed (seq, org, type, due_at, attempts, reclaimed)
        select u.seq, u.org, u.type, u.due_at, 0, false
        from unnest(p_orgs, p_types, v_seqs, v_dues) as u(org, type, seq, due_at)
        where u.due_at > v_now;
    end if;
    if p_channel is not null then
        perform pg_notify(p_channel, '');
    end if;
end $$;

-- Insert those of the jobs whose ids are new, by key; answers how many.
create or replace function {schema}.gnl_insert_jobs(
    p_seqs bigint[], p_org text, p_type text, p_orgs text[], p_types text[], p_ids text[],
    p_payloads text[], p_budgets bigint[], p_now bigint
) returns bigint
language plpgsql set work_mem = '64MB' set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_made bigint;
begin
    -- Looking for each id before it is inserted costs a large batch half as much again, and
    -- mostly all of its ids are new.
    if cardinality(p_ids) > 100 then
        begin
            insert into {schema}.gnl_jobs (seq, org, id, type, payload, max_attempts, enqueued_at)
            select u.seq, coalesce(u.org, p_org), u.id, coalesce(u.type, p_type), u.payload, u.budget,
                p_now
            from unnest(p_seqs, p_orgs, p_ids, p_types, p_payloads, p_budgets)
                as u(seq, org, id, type, payload, budget)
            order by u.org, u.id;
            return cardinality(p_ids);
        exception when unique_violation then
            null;
        end;
    end if;
    insert into {schema}.gnl_jobs (seq, org, id, type, payload, max_attempts, enqueued_at)
    select u.seq, coalesce(u.org, p_org), u.id, coalesce(u.type, p_type), u.payload, u.budget, p_now
    from unnest(p_seqs, p_orgs, p_ids, p_types, p_payloads, p_budgets)
        as u(seq, org, id, type, payload, budget)
    order by u.org, u.id
    on conflict (org, id) do nothing;
    get diagnostics v_made = row_count;
    return v_made;
end $$;

-- Pairs of jobs to be added that lack a row in gnl_lanes, as far as this transaction can know.
-- One with a snapshot of its own may see a row that is gone: there, every pair is answered.
create or replace function {schema}.gnl_unopened(
    p_orgs text[], p_ids text[], p_types text[], p_dues bigint[], p_now bigint
) returns table (what text, place bigint, a text, b text, n1 bigint, n2 bigint)
language sql set enable_seqscan = off set jit = off as $$
    select 'lane', min(u.place), u.org, u.type, null::bigint, null::bigint
    from unnest(p_orgs, p_ids, p_types, p_dues) with ordinality as u(org, id, type, due_at, place)
    where u.due_at <= p_now
        and not exists (select from {schema}.gnl_jobs as j where j.org = u.org and j.id = u.id)
        and (
            current_setting('transaction_isolation') <> 'read committed'
            or not exists (
                select from {schema}.gnl_lanes as l where l.org = u.org and l.type = u.type
            )
        )
    group by u.org, u.type
    order by min(u.place)
$$;

-- The first organization that the jobs just made take beyond the limit. Calls of the store's
-- own check one after the other; a caller's transaction counts what it can see.
create or replace function {schema}.gnl_too_deep(
    p_orgs text[], p_seqs bigint[], p_max_depth bigint, p_own boolean
) returns table (what text, place bigint, a text, b text, n1 bigint, n2 bigint)
language plpgsql set enable_seqscan = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_orgs text[];
    v_news bigint[];
    v_depth bigint;
    v_lock integer;
begin
    select array_agg(m.org order by m.org), array_agg(m.made order by m.org) into v_orgs, v_news
    from (
        select u.org, count(*) as made
        from unnest(p_orgs, p_seqs) as u(org, seq)
        where exists (select from {schema}.gnl_jobs as j where j.seq = u.seq)
        group by u.org
    ) as m;
    if p_own then
        -- In the order of the locks: two names may share one.
        for v_lock in select distinct hashtext(u.org) from unnest(v_orgs) as u(org) order by 1 loop
            perform pg_advisory_xact_lock(1735289905, v_lock);
        end loop;
    end if;
    for i in 1 .. cardinality(v_orgs) loop
        v_depth := {schema}.gnl_depth(v_orgs[i], p_max_depth - v_news[i] + 1);
        if v_depth + v_news[i] > p_max_depth then
            return query select 'deep', array_position(p_orgs, v_orgs[i])::bigint, v_orgs[i],
                null::text, {schema}.gnl_depth(v_orgs[i], null), v_news[i];
        end if;
    end loop;
end $$;

-- Live jobs of one organization, counting no further than `p_enough` (null: all).
create or replace function {schema}.gnl_depth(p_org text, p_enough bigint) returns bigint
language sql set enable_seqscan = off set jit = off as $$
    select count(*) from (
        select from {schema}.gnl_ready where org = p_org
        union all
        select from {schema}.gnl_delayed where org = p_org
        union all
        select from {schema}.gnl_held where org = p_org
        limit case when p_enough < 0 then 0 else p_enough end
    ) as live
$$;
