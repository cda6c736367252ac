-- Move the expiry of holds to now + ttl, each fenced by its token. Answers the places of those
-- that are the job's current ones, whether each was canceled, and their common expiry.
create or replace function {schema}.gnl_extend(
    p_seqs bigint[], p_tokens bigint[], p_ttl bigint,
    out places bigint[], out canceled boolean[], out expires_at bigint
)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_expires_at bigint := {schema}.gnl_now() + p_ttl;
begin
    -- The look for expired leases must not come later than the earliest of them.
    if v_expires_at < (select c.reclaim_at from {schema}.gnl_clock as c) then
        update {schema}.gnl_clock as c set reclaim_at = least(c.reclaim_at, v_expires_at);
    end if;
    with kept as (
        update {schema}.gnl_held as h set expires_at = v_expires_at
        from unnest(p_seqs, p_tokens) with ordinality as u(seq, token, place)
        where h.seq = u.seq and h.token = u.token
        returning u.place, h.canceled
    )
    select array_agg(k.place), array_agg(k.canceled) into places, canceled from kept as k;
    expires_at := v_expires_at;
end $$;
