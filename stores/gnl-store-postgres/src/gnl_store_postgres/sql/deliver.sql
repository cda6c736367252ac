-- Hand out events to one consumer, in the order of the store interface.
--
-- The consumer's row is locked for the whole decision, so only one delivery to it goes on at a
-- time; a look without locks comes first, so that one without work writes nothing. Rows that
-- somebody may be settling are skipped if they are locked, never waited for. Parked rows change
-- under the consumer's lock only.
--
-- `p_start` is the reach of a consumer that is not known yet (null: behind all there is).
-- The last row is no grant: token is how long until the next event is due (null: none), attempt
-- is the consumer's number, due_at how often it was rewound, emitted_at this delivery's instant.
create or replace function {schema}.gnl_deliver(
    p_topic text, p_name text, p_limit integer, p_ttl bigint, p_worker text, p_budget bigint,
    p_start bigint, p_by_key boolean
) returns table (
    token bigint, "position" bigint, seq bigint, id text, org text, key text, payload text,
    attempt bigint, emitted_at bigint, due_at bigint, reclaimed boolean
)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_now bigint := {schema}.gnl_now();
    v_flags boolean[] := case when p_by_key then '{false}' else '{false,true}' end;
    v_consumer record;
    v_backs bigint[];
    v_retries bigint[];
    v_rest integer;
    v_positions bigint[];
    v_seqs bigint[];
    v_orgs text[];
    v_keys text[];
    v_blocked boolean[];
    v_reach bigint;
    v_order bigint[];
    v_is_new boolean[];
    v_due bigint;
begin
    select c.number, c.reach, c.rewinds, c.retried_last into v_consumer
    from {schema}.gnl_consumers as c where c.topic = p_topic and c.name = p_name;
    if not found
        or {schema}.gnl_has_work(p_topic, v_consumer.number, v_consumer.reach, v_now, v_flags)
    then
        -- As many as this can hand out and pass over; the next delivery goes on.
        perform {schema}.gnl_number(p_topic, p_limit + 2000, false);
        select * into v_consumer from {schema}.gnl_lock_consumer(p_topic, p_name, p_start);
        v_now := {schema}.gnl_now();
        perform {schema}.gnl_end_deliveries(v_consumer.number, v_now);
        v_backs := array(
            select {schema}.gnl_parked(v_consumer.number, 'back', 0, v_flags, p_limit)
        );
        v_rest := p_limit - cardinality(v_backs);
        v_order := v_backs;
        v_is_new := array_fill(false, array[cardinality(v_backs)]);
        if v_rest > 0 then
            v_retries := array(
                select {schema}.gnl_parked(v_consumer.number, 'retry', v_now, v_flags, v_rest)
            );
            select * into v_positions, v_seqs, v_orgs, v_keys, v_blocked, v_reach
            from {schema}.gnl_take_new(
                p_topic, v_consumer.number, v_consumer.reach, v_rest, cardinality(v_retries),
                v_consumer.retried_last, p_by_key, v_now
            );
            -- In turn: by rank, and of one rank first the kind that was not handed out last.
            select v_order || coalesce(array_agg(o."position" order by o.rank, o.second), '{}'),
                v_is_new || coalesce(array_agg(o.is_new order by o.rank, o.second), '{}')
            into v_order, v_is_new
            from (
                select r."position", r.rank, v_consumer.retried_last as second, false as is_new
                from unnest(v_retries) with ordinality as r("position", rank)
                union all
                select n."position", n.rank, not v_consumer.retried_last, true
                from unnest(v_positions) with ordinality as n("position", rank)
                order by 2, 3
                limit v_rest
            ) as o;
            if cardinality(v_order) > cardinality(v_backs) then
                v_consumer.retried_last := not v_is_new[cardinality(v_is_new)];
            end if;
            update {schema}.gnl_consumers as c
            set reach = v_reach, retried_last = v_consumer.retried_last
            where c.number = v_consumer.number
                and (c.reach, c.retried_last) <> (v_reach, v_consumer.retried_last);
            v_consumer.reach := v_reach;
        end if;
        return query
        with slots as materialized (
            select nextval('{schema}.gnl_event_tokens') as token, u."position", u.is_new
            from unnest(v_order, v_is_new) as u("position", is_new)
        ), again as materialized (
            select s.token, d."position", d.seq, d.attempts + 1 as attempt, d.due_at, d.reclaimed
            from slots as s
            join {schema}.gnl_deliveries as d
                on d.consumer = v_consumer.number and d."position" = s."position"
            where not s.is_new
        ), held as (
            update {schema}.gnl_deliveries as d
            set state = 'held', at = v_now + p_ttl, attempts = a.attempt, token = a.token,
                budget = p_budget, worker = p_worker, reclaimed = false
            from again as a
            where d.consumer = v_consumer.number and d."position" = a."position"
        ), tokens as materialized (
            select array_agg(s.token order by s.token) as all from slots as s where s.is_new
        ), entered as (
            insert into {schema}.gnl_deliveries (
                consumer, "position", seq, org, key, state, blocked, at, due_at, attempts, token,
                budget, worker, reclaimed, error
            )
            select v_consumer.number, n."position", n.seq, n.org, n.key, 'held', n.blocked,
                v_now + p_ttl, v_now, 1, t.all[n.rank], p_budget, p_worker, false, ''
            from tokens as t
            cross join unnest(v_positions, v_seqs, v_orgs, v_keys, v_blocked)
                with ordinality as n("position", seq, org, key, blocked, rank)
            where t.all is not null
            returning token, "position", seq, attempts as attempt, due_at, reclaimed
        )
        select g.token, g."position", g.seq, e.id, e.org, e.key, e.payload, g.attempt,
            e.emitted_at, g.due_at, g.reclaimed
        from (select * from again union all select * from entered) as g
        join {schema}.gnl_events as e on e.seq = g.seq
        order by g.token;
    end if;
    v_due := {schema}.gnl_next_delivery(p_topic, v_consumer.number, v_consumer.reach, v_flags);
    return query select
        case when v_due is not null then greatest(v_due - v_now, 0) end,
        null::bigint, null::bigint, null::text, null::text, null::text, null::text,
        v_consumer.number, v_now, v_consumer.rewinds, null::boolean;
end $$;

-- The consumer's row, locked; registered first if the topic does not know it.
create or replace function {schema}.gnl_lock_consumer(
    p_topic text, p_name text, p_start bigint,
    out number bigint, out reach bigint, out rewinds bigint, out retried_last boolean
)
language plpgsql as $$
#variable_conflict use_column
begin
    loop
        select c.number, c.reach, c.rewinds, c.retried_last
        into number, reach, rewinds, retried_last
        from {schema}.gnl_consumers as c where c.topic = p_topic and c.name = p_name
        for update;
        exit when found;
        perform {schema}.gnl_own_topic(p_topic);
        insert into {schema}.gnl_consumers (topic, name, reach, rewinds, retried_last)
        values (p_topic, p_name, coalesce(p_start, (
            select t.last from {schema}.gnl_topics as t where t.topic = p_topic
        ), 0), 0, true)
        on conflict (topic, name) do nothing;
    end loop;
end $$;

-- The next new events: as many as are handed out in turn with `p_retries` due retries, `p_rest`
-- of both at the most. By key, those that have to wait are parked on the way.
--
-- A look begins with few events and goes on with more if it did not see enough.
create or replace function {schema}.gnl_take_new(
    p_topic text, p_consumer bigint, p_reach bigint, p_rest integer, p_retries integer,
    p_retried_last boolean, p_by_key boolean, p_now bigint,
    out positions bigint[], out seqs bigint[], out orgs text[], out keys text[],
    out blocked boolean[], out reach bigint
)
language plpgsql as $$
#variable_conflict use_column
declare
    v_look integer := p_rest + case when p_by_key then 16 else 0 end;
    v_rows integer;
    v_passed integer;
    v_free integer;
    v_take integer;
    v_end bigint;
begin
    loop
        select array_agg(w."position"), array_agg(w.seq), array_agg(w.org), array_agg(w.key),
            array_agg(w.blocked), count(*), count(*) filter (where p_by_key and w.blocked),
            count(*) filter (where not (p_by_key and w.blocked) and w.passed <= 1000)
        into positions, seqs, orgs, keys, blocked, v_rows, v_passed, v_free
        from (
            select b.*,
                count(*) filter (where p_by_key and b.blocked) over (order by b."position")
                    as passed
            from (
                select l.*, l.key is not null and (
                    row_number() over (partition by l.org, l.key order by l."position") > 1
                    -- Not "exists": that may be answered by reading all deliveries at once.
                    or (
                        select d."position" from {schema}.gnl_deliveries as d
                        where d.consumer = p_consumer and d.org = l.org and d.key = l.key
                            and d.state <> 'quarantined'
                        order by d.consumer, d.org, d.key, d."position"
                        limit 1
                    ) is not null
                ) as blocked
                from (
                    select l."position", l.seq, l.org, l.key from {schema}.gnl_log as l
                    where l.topic = p_topic and l."position" > p_reach
                    order by l.topic, l."position"
                    limit v_look
                ) as l
            ) as b
            order by b."position"
        ) as w;
        exit when v_rows < v_look or v_free >= p_rest or v_passed > 1000;
        v_look := v_look * 4;
    end loop;

    v_take := case
        when v_free + p_retries <= p_rest then v_free
        else least(v_free, greatest(
            case when p_retried_last then (p_rest + 1) / 2 else p_rest / 2 end, p_rest - p_retries
        ))
    end;
    -- If the last one of all is new, nothing behind it was looked at.
    if v_free + p_retries >= p_rest and v_take > 0 and (
        2 * v_take > p_rest or 2 * v_take = p_rest and not p_retried_last
    ) then
        v_end := v_take;
    end if;
    with news as materialized (
        select u.*, p_by_key and u.blocked as waits,
            count(*) filter (where not (p_by_key and u.blocked)) over w as free,
            count(*) filter (where p_by_key and u.blocked) over w as passed
        from unnest(positions, seqs, orgs, keys, blocked)
            as u("position", seq, org, key, blocked)
        window w as (order by u."position")
    ), taken as materialized (
        select n.* from news as n
        where n.free <= v_take and n.passed <= 1000
            and (v_end is null or n.free < v_end or not n.waits)
    ), parked as (
        insert into {schema}.gnl_deliveries (
            consumer, "position", seq, org, key, state, blocked, at, due_at, attempts, token,
            reclaimed, error
        )
        select p_consumer, t."position", t.seq, t.org, t.key, 'back', true, 0, p_now, 0, 0,
            false, ''
        from taken as t where t.waits
    )
    select array_agg(t."position" order by t."position") filter (where not t.waits),
        array_agg(t.seq order by t."position") filter (where not t.waits),
        array_agg(t.org order by t."position") filter (where not t.waits),
        array_agg(t.key order by t."position") filter (where not t.waits),
        array_agg(t.blocked order by t."position") filter (where not t.waits),
        coalesce(max(t."position"), p_reach)
    into positions, seqs, orgs, keys, blocked, reach
    from taken as t;
end $$;
