-- Give positions to events that have committed.
--
-- The row of gnl_topics is locked meanwhile: whoever holds it numbers alone. It is taken in the
-- store's own short transactions only, topics in order of name, and before any consumer's row.

-- Number up to `p_limit` arrivals of a topic; answers how many. If another one is numbering it,
-- waits for that with `p_wait`, else answers `p_limit`: there is more to be had.
create or replace function {schema}.gnl_number(p_topic text, p_limit integer, p_wait boolean)
returns integer
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    v_last bigint;
    v_count integer;
begin
    if not exists (select from {schema}.gnl_arrivals as a where a.topic = p_topic) then
        return 0;
    end if;
    if not exists (select from {schema}.gnl_topics as t where t.topic = p_topic) then
        insert into {schema}.gnl_topics (topic, last) values (p_topic, 0)
        on conflict (topic) do nothing;
    end if;
    if p_wait then
        select t.last into v_last from {schema}.gnl_topics as t
        where t.topic = p_topic for update;
    else
        select t.last into v_last from {schema}.gnl_topics as t
        where t.topic = p_topic for update skip locked;
        if not found then
            return p_limit;
        end if;
    end if;
    with come as materialized (
        select a.seq from {schema}.gnl_arrivals as a
        where a.topic = p_topic
        order by a.topic, a.seq
        limit p_limit
    ), gone as (
        delete from {schema}.gnl_arrivals as a using come as c
        where a.topic = p_topic and a.seq = c.seq
        returning a.seq
    )
    insert into {schema}.gnl_log (topic, position, seq, org, key)
    select p_topic, v_last + row_number() over (order by g.seq), g.seq, e.org, e.key
    from gone as g
    join {schema}.gnl_events as e on e.seq = g.seq;
    get diagnostics v_count = row_count;
    if v_count > 0 then
        update {schema}.gnl_topics as t set last = v_last + v_count where t.topic = p_topic;
    end if;
    return v_count;
end $$;

-- Number all that has committed in a topic, and let nobody else do so until the end.
create or replace function {schema}.gnl_own_topic(p_topic text) returns void
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
    loop
        exit when {schema}.gnl_number(p_topic, 10000, true) < 10000;
    end loop;
    perform from {schema}.gnl_topics as t where t.topic = p_topic for update;
end $$;

-- Number some of what has committed in one topic, or in all; answers whether there is more.
create or replace function {schema}.gnl_number_all(p_topic text) returns boolean
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
    v_topic text;
    v_more boolean := false;
begin
    for v_topic in
        select distinct a.topic from {schema}.gnl_arrivals as a
        where p_topic is null or a.topic = p_topic
        order by a.topic
    loop
        v_more := {schema}.gnl_number(v_topic, 10000, true) = 10000 or v_more;
    end loop;
    return v_more;
end $$;
