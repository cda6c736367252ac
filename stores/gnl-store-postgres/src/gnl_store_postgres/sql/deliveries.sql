-- Steps of a delivery; they run under its settings and its lock.

-- Whether a delivery to the consumer would change anything. `p_flags` are the values of
-- `blocked` that may be handed out.
create or replace function {schema}.gnl_has_work(
    p_topic text, p_consumer bigint, p_reach bigint, p_now bigint, p_flags boolean[]
) returns boolean
language plpgsql as $$
begin
    return {schema}.gnl_next_delivery(p_topic, p_consumer, p_reach, p_flags) <= p_now
        or {schema}.gnl_first_at(p_consumer, 'held', '{false,true}') <= p_now
        or exists (select from {schema}.gnl_left_lines as l where l.consumer = p_consumer);
end $$;

-- When something can be handed out: 0 if there is something new, null if nothing comes by time.
create or replace function {schema}.gnl_next_delivery(
    p_topic text, p_consumer bigint, p_reach bigint, p_flags boolean[]
) returns bigint
language plpgsql as $$
begin
    if exists (select from {schema}.gnl_arrivals as a where a.topic = p_topic) or (
        select l."position" from {schema}.gnl_log as l
        where l.topic = p_topic and l."position" > p_reach
        order by l.topic, l."position"
        limit 1
    ) is not null then
        return 0;
    end if;
    return least(
        {schema}.gnl_first_at(p_consumer, 'back', p_flags),
        {schema}.gnl_first_at(p_consumer, 'retry', p_flags)
    );
end $$;

-- The smallest `at` of the consumer's rows in this state.
create or replace function {schema}.gnl_first_at(
    p_consumer bigint, p_state text, p_flags boolean[]
) returns bigint
language plpgsql as $$
begin
    return (
        select min(d.at) from unnest(p_flags) as f(blocked)
        cross join lateral (
            select d.at from {schema}.gnl_deliveries as d
            where d.consumer = p_consumer and d.state = p_state and d.blocked = f.blocked
            order by d.at, d."position"
            limit 1
        ) as d
    );
end $$;

-- Positions of rows in this state whose `at` has come, by (at, position).
create or replace function {schema}.gnl_parked(
    p_consumer bigint, p_state text, p_at bigint, p_flags boolean[], p_limit integer
) returns setof bigint
language plpgsql as $$
begin
    return query
    select d."position" from unnest(p_flags) as f(blocked)
    cross join lateral (
        select d.at, d."position" from {schema}.gnl_deliveries as d
        where d.consumer = p_consumer and d.state = p_state and d.blocked = f.blocked
            and d.at <= p_at
        order by d.at, d."position"
        limit p_limit
    ) as d
    order by d.at, d."position"
    limit p_limit;
end $$;

-- End the consumer's leases that ran out, a thousand at the most, and see who is first of the
-- lines that events have left.
create or replace function {schema}.gnl_end_deliveries(p_consumer bigint, p_now bigint)
returns void
language plpgsql as $$
declare
    v_positions bigint[] := array(
        select {schema}.gnl_parked(p_consumer, 'held', p_now, '{false,true}', 1000)
    );
begin
    if cardinality(v_positions) > 0 then
        with mine as materialized (
            select d."position", (d.attempts >= d.budget) is true as last
            from unnest(v_positions) as u("position")
            join {schema}.gnl_deliveries as d
                on d.consumer = p_consumer and d."position" = u."position"
            where d.token <> 0 and d.at <= p_now
            for update of d skip locked
        ), ended as (
            update {schema}.gnl_deliveries as d
            set state = case when m.last then 'quarantined' else 'back' end,
                blocked = d.blocked and not m.last,
                due_at = case when m.last then d.due_at else d.at end,
                at = 0, token = 0, error = '{lease_expired}', reclaimed = true,
                quarantined_at = case when m.last then p_now end
            from mine as m
            where d.consumer = p_consumer and d."position" = m."position"
            returning d.org, d.key, m.last
        )
        insert into {schema}.gnl_left_lines (consumer, org, key)
        select p_consumer, e.org, e.key from ended as e where e.last and e.key is not null;
    end if;
    if exists (select from {schema}.gnl_left_lines as l where l.consumer = p_consumer) then
        perform {schema}.gnl_move_up(p_consumer);
    end if;
end $$;

-- Unblock the first of each line that events have left. One that is held stays noted: whoever
-- settles it may hold its lock.
create or replace function {schema}.gnl_move_up(p_consumer bigint) returns void
language plpgsql as $$
begin
    with noted as materialized (
        select l.n, l.org, l.key from {schema}.gnl_left_lines as l
        where l.consumer = p_consumer
        order by l.consumer, l.n
        limit 10000
    ), lines as materialized (
        select distinct n.org, n.key from noted as n
    ), firsts as materialized (
        select l.org, l.key, d."position", d.blocked and d.state = 'held' as later,
            d.blocked and d.state <> 'held' as now
        from lines as l
        left join lateral (
            select d."position", d.blocked, d.state from {schema}.gnl_deliveries as d
            where d.consumer = p_consumer and d.org = l.org and d.key = l.key
                and d.state <> 'quarantined'
            order by d."position"
            limit 1
        ) as d on true
    ), up as (
        update {schema}.gnl_deliveries as d set blocked = false
        from firsts as f
        where f.now and d.consumer = p_consumer and d."position" = f."position"
    ), done as materialized (
        select n.n from noted as n
        where (n.org, n.key) not in (select f.org, f.key from firsts as f where f.later)
    )
    delete from {schema}.gnl_left_lines as l using done as d
    where l.consumer = p_consumer and l.n = d.n;
end $$;
