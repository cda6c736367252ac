-- Extend and settle deliveries, each fenced by its token: only a held row has one. (To ask for the
-- state as well would let the planner take another index than the rows' own key.) Rows are given by consumer and
-- position, so that all calls lock them in one order; `p_places` is call order.

-- Answers the places of the holds that are the event's current ones, and their common expiry.
create or replace function {schema}.gnl_extend_deliveries(
    p_consumers bigint[], p_positions bigint[], p_tokens bigint[], p_ttl bigint,
    out places bigint[], out expires_at bigint
)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    expires_at := {schema}.gnl_now() + p_ttl;
    with kept as (
        update {schema}.gnl_deliveries as d set at = expires_at
        from unnest(p_consumers, p_positions, p_tokens) with ordinality
            as u(consumer, "position", token, place)
        where d.consumer = u.consumer and d."position" = u."position" and d.token = u.token
        returning u.place
    )
    select array_agg(k.place) into places from kept as k;
end $$;

-- Letters of `p_kinds`: a ack, r retry and q quarantine (the text is the error), b given back.
-- Answers the places that were settled, whether something waits again, and whether something
-- waited for one of these.
create or replace function {schema}.gnl_settle_deliveries(
    p_consumers bigint[], p_positions bigint[], p_tokens bigint[], p_kinds text, p_texts text[],
    p_delays bigint[], p_places bigint[], out places bigint[], out waits boolean
)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_now bigint := {schema}.gnl_now();
    v_left record;
    v_parks boolean := translate(p_kinds, 'a', '') <> '';
begin
    -- One statement for each table would lock acked rows before others: all are locked first.
    if v_parks and p_kinds <> translate(p_kinds, 'a', '') then
        perform from {schema}.gnl_deliveries as d
        join unnest(p_consumers, p_positions, p_tokens) as u(consumer, "position", token)
            on d.consumer = u.consumer and d."position" = u."position" and d.token = u.token
        order by d.consumer, d."position"
        for update of d;
    end if;
    with asked as materialized (
        select * from unnest(
            p_consumers, p_positions, p_tokens, string_to_array(p_kinds, null), p_texts, p_delays,
            p_places
        ) as u(consumer, "position", token, kind, text, delay, place)
    ), acked as (
        delete from {schema}.gnl_deliveries as d using asked as u
        where u.kind = 'a' and d.consumer = u.consumer and d."position" = u."position"
            and d.token = u.token
        returning u.place, u.kind, d.consumer, d.org, d.key
    ), kept as (
        update {schema}.gnl_deliveries as d
        set state = case
                when u.kind = 'q' then 'quarantined'
                when u.kind = 'b' and u.delay = 0 then 'back'
                else 'retry'
            end,
            blocked = d.blocked and u.kind <> 'q',
            token = 0,
            at = case when u.kind = 'q' or u.kind = 'b' and u.delay = 0 then 0 else v_now + u.delay end,
            due_at = case when u.kind = 'q' then d.due_at else v_now + u.delay end,
            attempts = case when u.kind = 'b' then d.attempts - 1 else d.attempts end,
            error = case when u.kind = 'b' then d.error else u.text end,
            quarantined_at = case when u.kind = 'q' then v_now end
        from asked as u
        where v_parks and u.kind <> 'a' and d.consumer = u.consumer
            and d."position" = u."position" and d.token = u.token
        returning u.place, u.kind, d.consumer, d.org, d.key
    ), ended as materialized (
        select * from acked union all select * from kept
    ), noted as (
        insert into {schema}.gnl_left_lines (consumer, org, key)
        select e.consumer, e.org, e.key from ended as e
        where e.kind in ('a', 'q') and e.key is not null
    )
    select array_agg(e.place) as places, coalesce(bool_or(e.kind in ('r', 'b')), false) as waits,
        array_agg(e.consumer) filter (where e.key is not null) as consumers,
        array_agg(e.org) filter (where e.key is not null) as orgs,
        array_agg(e.key) filter (where e.key is not null) as keys
    into v_left
    from ended as e;
    places := v_left.places;
    waits := v_left.waits or v_left.keys is not null and exists (
        select from unnest(v_left.consumers, v_left.orgs, v_left.keys) as l(consumer, org, key)
        join {schema}.gnl_deliveries as d
            on d.consumer = l.consumer and d.org = l.org and d.key = l.key
        where d.state <> 'quarantined' and d.blocked
    );
end $$;
