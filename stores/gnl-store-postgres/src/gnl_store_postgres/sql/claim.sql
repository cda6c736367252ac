-- Grant ready jobs in the total claim order.
--
-- One pass takes the first lanes by turn, the first jobs of each by number, and deals them out
-- round by round: that is the same sequence as single claims. Jobs that another claim has
-- locked are skipped, so claimers of one lane never wait for each other.
--
-- Where to begin: `p_floor` (gnl_lanes), `p_due_floor` (gnl_delayed) and each pair's `head`
-- (gnl_ready) only spare the claim from walking over dead index entries, which stay for as long
-- as some transaction holds an old snapshot. All three trail behind by 50 ms or more, since
-- numbers are taken before commit; what appears below them later than that is found by looks
-- from the very beginning: of a lane once a second, of everything when `p_full` is set and the
-- passes before gave fewer jobs than asked.
--
-- The first row is no grant: token is the first turn seen (the last stamp given if no lane was
-- ready), due_at the next delayed job's instant (null: none), granted_at this claim's instant.
create or replace function {schema}.gnl_claim(
    p_types text[], p_limit integer, p_ttl bigint, p_worker text, p_budget bigint,
    p_floor bigint, p_due_floor bigint, p_full boolean
) returns table (
    seq bigint, token bigint, id text, org text, type text, payload text, attempt bigint,
    budget bigint, enqueued_at bigint, due_at bigint, granted_at bigint, reclaimed boolean
)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_now bigint := {schema}.gnl_now();
    v_reclaim_at bigint;
    v_next_due bigint;
    v_from bigint := p_floor;
    v_deep boolean := false;
    v_need integer := p_limit;
    v_first_turn bigint;
    v_stamp bigint := (select last_value from {schema}.gnl_stamps);
    v_pass record;
    v_seqs bigint[] := '{}';
    v_tokens bigint[] := '{}';
    v_attempts bigint[] := '{}';
    v_dues bigint[] := '{}';
    v_again boolean[] := '{}';
begin
    select c.reclaim_at into v_reclaim_at from {schema}.gnl_clock as c;
    if v_reclaim_at <= v_now then
        perform {schema}.gnl_reclaim(v_now, v_now + least(p_ttl, 1000000));
    elsif v_now + p_ttl < v_reclaim_at then
        update {schema}.gnl_clock as c set reclaim_at = least(c.reclaim_at, v_now + p_ttl);
    end if;

    v_next_due := {schema}.gnl_next_due(p_types, p_due_floor);
    if v_next_due <= v_now then
        perform {schema}.gnl_wake(p_types, v_now, p_due_floor);
        v_next_due := {schema}.gnl_next_due(p_types, p_due_floor);
    end if;
    -- Leases begin behind all waits of this claim.
    v_now := {schema}.gnl_now();

    loop
        select * into v_pass from {schema}.gnl_grant(
            p_types, v_need, v_now, p_ttl, p_worker, p_budget, v_from, v_deep
        );
        v_first_turn := coalesce(v_first_turn, v_pass.first_turn);
        if v_pass.seqs is not null then
            v_seqs := v_seqs || v_pass.seqs;
            v_tokens := v_tokens || v_pass.tokens;
            v_attempts := v_attempts || v_pass.attempts;
            v_dues := v_dues || v_pass.dues;
            v_again := v_again || v_pass.again;
        end if;
        v_need := p_limit - cardinality(v_seqs);
        exit when v_need = 0;
        if v_pass.exhausted then
            exit when v_deep or not p_full;
            v_deep := true;
            v_from := 0;
        else
            -- Every lane up to the last one seen was served, and so moved, or had nothing.
            v_from := v_pass.last_turn + 1;
        end if;
    end loop;

    return query select null::bigint, coalesce(v_first_turn, v_stamp), null::text, null::text, null::text, null::text,
        null::bigint, null::bigint, null::bigint, v_next_due, v_now, null::boolean;
    if cardinality(v_seqs) > 0 then
        return query
        select s.seq, s.token, j.id, j.org, j.type, j.payload, s.attempt,
            coalesce(j.max_attempts, p_budget), j.enqueued_at, s.due_at, v_now, s.again
        from unnest(v_seqs, v_tokens, v_attempts, v_dues, v_again)
            as s(seq, token, attempt, due_at, again)
        join {schema}.gnl_jobs as j on j.seq = s.seq
        order by s.token;
    end if;
end $$;

-- One pass: lanes from turn `p_from` on, each from its head on unless `p_deep`.
create or replace function {schema}.gnl_grant(
    p_types text[], p_need integer, p_now bigint, p_ttl bigint, p_worker text, p_budget bigint,
    p_from bigint, p_deep boolean,
    out seqs bigint[], out tokens bigint[], out attempts bigint[], out dues bigint[],
    out again boolean[], out first_turn bigint, out last_turn bigint, out exhausted boolean
)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_orgs text[];
    v_types text[];
    v_tops bigint[];
    v_stamps bigint[];
    v_blank_orgs text[];
    v_blank_types text[];
    v_blank_heads bigint[];
    v_cost bigint;
begin
    with asked as (
        select l.org, l.turn
        from unnest(p_types) as t(type)
        cross join lateral (
            select l.org, l.turn from {schema}.gnl_lanes as l
            where l.type = t.type and l.turn >= p_from
            order by l.turn
            limit p_need
        ) as l
    ), front as materialized (
        select a.org, min(a.turn) as turn from asked as a group by a.org order by 2 limit p_need
    ), share as materialized (
        select count(*) as lanes, (p_need + count(*) - 1) / greatest(count(*), 1) as quota,
            min(turn) as first_turn, max(turn) as last_turn
        from front
    ), pairs as materialized (
        select f.org, f.turn, l.type, l.head,
            case
                when p_deep or l.swept_at + greatest(1000000, 20 * l.sweep_cost) <= p_now then 0
                else l.head
            end as after
        from front as f
        join {schema}.gnl_lanes as l on l.org = f.org
        where l.type = any (p_types)
    ), picked as materialized (
        select p.org, p.type, p.turn, p.head, r.*,
            row_number() over (partition by p.turn order by r.seq) as round
        from pairs as p
        left join lateral (
            select r.ctid as row, r.seq, r.attempts, r.due_at, r.reclaimed, r.error
            from {schema}.gnl_ready as r
            where r.org = p.org and r.type = p.type and r.seq > p.after
            order by r.seq
            limit (select quota from share)
            for update skip locked
        ) as r on true
    ), granted as materialized (
        select nextval('{schema}.gnl_stamps') as token, c.*
        from (
            select * from picked where round <= (select quota from share) and seq is not null
            order by round, turn
            limit p_need
        ) as c
    ), gone as (
        delete from {schema}.gnl_ready where ctid = any (array(select g.row from granted as g))
    ), held as (
        insert into {schema}.gnl_held (
            seq, token, org, type, worker, attempts, budget, granted_at, due_at, expires_at,
            canceled, error
        )
        -- A job's own budget never changes, so that it can be looked up when it counts.
        select g.seq, g.token, g.org, g.type, p_worker, g.attempts + 1, p_budget, p_now,
            g.due_at, p_now + p_ttl, false, g.error
        from granted as g
    )
    select g.seqs, g.tokens, g.attempts, g.dues, g.again, s.first_turn, s.last_turn,
        s.lanes < p_need and not exists (
            select from picked as k where k.round >= s.quota and k.seq is not null
        ),
        p.orgs, p.types, p.tops, p.stamps, b.orgs, b.types, b.heads
    into seqs, tokens, attempts, dues, again, first_turn, last_turn, exhausted,
        v_orgs, v_types, v_tops, v_stamps, v_blank_orgs, v_blank_types, v_blank_heads
    from share as s
    cross join (
        select array_agg(seq) as seqs, array_agg(token) as tokens,
            array_agg(attempts + 1) as attempts, array_agg(due_at) as dues,
            array_agg(reclaimed) as again
        from granted
    ) as g
    cross join (
        select array_agg(org) as orgs, array_agg(type) as types, array_agg(top) as tops,
            array_agg(stamp) as stamps
        from (
            select org, type, max(seq) as top, max(token) as stamp from granted group by org, type
        ) as served
    ) as p
    cross join (
        select array_agg(org) as orgs, array_agg(type) as types, array_agg(head) as heads
        from picked where seq is null
    ) as b;

    if seqs is null and v_blank_orgs is null then
        return;
    end if;
    -- Twenty times this long, five seconds at the most, until the next look from the beginning.
    v_cost := least({schema}.gnl_now() - p_now, 250000);
    perform {schema}.gnl_close_emptied(
        v_orgs, v_types, v_tops, v_blank_orgs, v_blank_types, v_blank_heads
    );
    if seqs is not null then
        perform {schema}.gnl_move_lanes(
            v_orgs, v_types, v_tops, v_stamps, v_blank_orgs, p_now, v_cost, p_deep
        );
    end if;
end $$;

-- Close those pairs that look empty behind the last job granted, or behind their head.
create or replace function {schema}.gnl_close_emptied(
    p_orgs text[], p_types text[], p_tops bigint[],
    p_blank_orgs text[], p_blank_types text[], p_blank_heads bigint[]
) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_orgs text[];
    v_types text[];
begin
    select array_agg(e.org), array_agg(e.type) into v_orgs, v_types
    from (
        select * from unnest(
            p_orgs || p_blank_orgs, p_types || p_blank_types, p_tops || p_blank_heads
        )
    ) as e(org, type, after)
    where not exists (
        select from {schema}.gnl_ready as r
        where r.org = e.org and r.type = e.type and r.seq > e.after
    );
    if v_orgs is not null then
        perform {schema}.gnl_close_lanes(v_orgs, v_types);
    end if;
end $$;

-- Give all pairs of each served lane the stamp of its last grant; a lane that had nothing,
-- though its row had to stay, goes behind them all. Rows that another claim is moving are left
-- to it.
create or replace function {schema}.gnl_move_lanes(
    p_orgs text[], p_types text[], p_tops bigint[], p_stamps bigint[], p_blank_orgs text[],
    p_now bigint, p_cost bigint, p_deep boolean
) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    with lane as (
        select u.org, max(u.stamp) as stamp, array_agg(u.type) as types, array_agg(u.top) as tops
        from unnest(p_orgs, p_types, p_tops, p_stamps) as u(org, type, top, stamp)
        group by u.org
        union all
        select b.org, nextval('{schema}.gnl_stamps'), null, null
        from (
            select distinct u.org from unnest(p_blank_orgs) as u(org)
            where u.org <> all (p_orgs)
        ) as b
    ), mine as materialized (
        select l.ctid as row, lane.stamp, t.top,
            t.top is not null and p_now - l.soon_at >= 50000 as old,
            t.top is not null and (
                p_deep or l.swept_at + greatest(1000000, 20 * l.sweep_cost) <= p_now
            ) as swept
        from lane
        join {schema}.gnl_lanes as l on l.org = lane.org
        cross join lateral (
            -- The highest number granted of this very pair; null if it had no grant.
            select lane.tops[array_position(lane.types, l.type)] as top
        ) as t
        for no key update of l skip locked
    )
    update {schema}.gnl_lanes as l
    set turn = m.stamp,
        head = case when m.old then l.soon_head else l.head end,
        soon_head = case when m.old then m.top else l.soon_head end,
        soon_at = case when m.old then p_now else l.soon_at end,
        swept_at = case when m.swept then p_now else l.swept_at end,
        sweep_cost = case when m.swept then p_cost else l.sweep_cost end
    from mine as m
    where l.ctid = m.row;
end $$;
