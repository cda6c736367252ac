-- Append events, all or none.
--
-- Arrays hold one entry an event, in call order. `p_own` says that the store's own transaction
-- runs this, else it is the caller's. Nothing is written that others need: emitters wait for
-- each other only if they bring the same new id.
--
-- Answers rows (what, place, a, b, n1, n2):
--   known  the event at `place` was there before, with payload a and key b
--   deep   refused: of topic a and organization b n1 events wait, the call would add n2
--   away   this database is a, not `p_home`: nothing was written
create or replace function {schema}.gnl_append(
    p_topics text[], p_orgs text[], p_ids text[], p_keys text[], p_payloads text[],
    p_max_depth bigint, p_own boolean, p_home text, p_channel text
) returns table (what text, place bigint, a text, b text, n1 bigint, n2 bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set work_mem = '64MB' set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_now bigint := {schema}.gnl_now();
    v_count bigint := cardinality(p_ids);
    v_seqs bigint[];
    v_made bigint := 0;
    v_more bigint;
begin
    if p_home <> {schema}.gnl_home() then
        return query select 'away', 0::bigint, {schema}.gnl_home(), null::text, 0::bigint, 0::bigint;
        return;
    end if;
    v_seqs := array(select nextval('{schema}.gnl_events_seq_seq') from generate_series(1, v_count));
    -- Rows in key order: calls with common ids wait for each other in one order.
    insert into {schema}.gnl_events (seq, topic, org, id, key, payload, emitted_at)
    select u.seq, u.topic, u.org, u.id, u.key, u.payload, v_now
    from unnest(v_seqs, p_topics, p_orgs, p_ids, p_keys, p_payloads)
        as u(seq, topic, org, id, key, payload)
    order by u.topic, u.org, u.id
    on conflict (topic, org, id) do nothing;
    get diagnostics v_made = row_count;
    -- One that stood in the way may have been pruned since.
    while v_made < v_count loop
        insert into {schema}.gnl_events (seq, topic, org, id, key, payload, emitted_at)
        select u.seq, u.topic, u.org, u.id, u.key, u.payload, v_now
        from unnest(v_seqs, p_topics, p_orgs, p_ids, p_keys, p_payloads)
            as u(seq, topic, org, id, key, payload)
        where not exists (
            select from {schema}.gnl_events as e
            where e.topic = u.topic and e.org = u.org and e.id = u.id
        )
        order by u.topic, u.org, u.id
        on conflict (topic, org, id) do nothing;
        get diagnostics v_more = row_count;
        v_made := v_made + v_more;
        return query
        select 'known', u.place, e.payload, e.key, null::bigint, null::bigint
        from unnest(v_seqs, p_topics, p_orgs, p_ids)
            with ordinality as u(seq, topic, org, id, place)
        join {schema}.gnl_events as e on e.topic = u.topic and e.org = u.org and e.id = u.id
        where e.seq <> u.seq;
        get diagnostics v_more = row_count;
        exit when v_made + v_more = v_count;
    end loop;
    if v_made = 0 then
        return;
    end if;
    if p_max_depth is not null then
        return query
        select * from {schema}.gnl_topic_too_deep(p_topics, p_orgs, v_seqs, p_max_depth, p_own);
        if found then
            delete from {schema}.gnl_events where seq = any (v_seqs);
            return;
        end if;
    end if;
    insert into {schema}.gnl_arrivals (topic, seq, org)
    select e.topic, e.seq, e.org
    from unnest(v_seqs) as u(seq)
    join {schema}.gnl_events as e on e.seq = u.seq;
    if p_channel is not null then
        perform pg_notify(p_channel, '');
    end if;
end $$;

-- The first topic and organization that the events just made take beyond the limit. Calls of the
-- store's own check one after the other; a caller's transaction counts what it can see.
create or replace function {schema}.gnl_topic_too_deep(
    p_topics text[], p_orgs text[], p_seqs bigint[], p_max_depth bigint, p_own boolean
) returns table (what text, place bigint, a text, b text, n1 bigint, n2 bigint)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_pair record;
    v_lock integer;
begin
    if p_own then
        -- In the order of the locks: two names may share one.
        for v_lock in
            select distinct hashtext(u.topic || '/' || u.org) as lock
            from unnest(p_topics, p_orgs) as u(topic, org)
            order by lock
        loop
            perform pg_advisory_xact_lock(1735289906, v_lock);
        end loop;
    end if;
    for v_pair in
        select min(u.place) as place, u.topic, u.org, count(*) as made
        from unnest(p_topics, p_orgs, p_seqs) with ordinality as u(topic, org, seq, place)
        where exists (select from {schema}.gnl_events as e where e.seq = u.seq)
        group by u.topic, u.org
        order by 1
    loop
        if v_pair.made + {schema}.gnl_topic_depth(
            v_pair.topic, v_pair.org, p_max_depth - v_pair.made + 1
        ) > p_max_depth then
            return query select 'deep', v_pair.place, v_pair.topic, v_pair.org,
                {schema}.gnl_topic_depth(v_pair.topic, v_pair.org, null), v_pair.made;
            return;
        end if;
    end loop;
end $$;

-- Events of one topic and organization that the slowest consumer was not handed yet, counting
-- no further than `p_enough` (null: all).
create or replace function {schema}.gnl_topic_depth(p_topic text, p_org text, p_enough bigint)
returns bigint
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
    v_floor bigint := coalesce(
        (select min(c.reach) from {schema}.gnl_consumers as c where c.topic = p_topic), 0
    );
    v_ahead bigint := v_floor - coalesce(
        (select t.last from {schema}.gnl_topics as t where t.topic = p_topic), 0
    );
begin
    return (
        select count(*) from (
            select from {schema}.gnl_log as l
            where l.topic = p_topic and l.org = p_org and l.position > v_floor
            union all
            select from {schema}.gnl_arrivals as a
            where a.topic = p_topic and a.org = p_org
                -- Consumers may have been set to a position that is still to come.
                and (v_ahead <= 0 or v_ahead < (
                    select count(*) from {schema}.gnl_arrivals as b
                    where b.topic = p_topic and b.seq <= a.seq
                ))
            limit case when p_enough < 0 then 0 else p_enough end
        ) as waiting
    );
end $$;
