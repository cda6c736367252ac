-- Append one event in the store's own transaction, without a limit: gnl_append for the most usual
-- call, spared the work on arrays.
--
-- `p_channel`, if given, is told that there is something new.
-- Answers payload and key of the event that was there before; no row if this one is new.
create or replace function {schema}.gnl_append_one(
    p_topic text, p_org text, p_id text, p_key text, p_payload text, p_channel text
) returns table (known_payload text, known_key text)
language plpgsql set enable_seqscan = off as $$
declare
    v_seq bigint;
begin
    loop
        insert into {schema}.gnl_events (topic, org, id, key, payload, emitted_at)
        values (p_topic, p_org, p_id, p_key, p_payload, {schema}.gnl_now())
        on conflict (topic, org, id) do nothing
        returning seq into v_seq;
        exit when v_seq is not null;
        return query
        select e.payload, e.key from {schema}.gnl_events as e
        where e.topic = p_topic and e.org = p_org and e.id = p_id;
        if found then
            return;
        end if;
        -- What stood in the way was pruned meanwhile.
    end loop;
    insert into {schema}.gnl_arrivals (topic, seq, org) values (p_topic, v_seq, p_org);
    if p_channel is not null then
        perform pg_notify(p_channel, '');
    end if;
end $$;
