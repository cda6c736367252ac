-- End holds with their verdicts, each fenced by its token.
--
-- Kinds: done (text is the result), retry and dead (text is the error), release. A hold that is
-- no longer the job's current one changes nothing. A job canceled meanwhile becomes canceled.
-- Rows are given by number, so that all calls lock them in one order; `p_places` is call order.
-- Answers the places of the holds that were the job's and the states of their jobs now. The
-- last value says whether something became ready or delayed.
create or replace function {schema}.gnl_settle(
    p_seqs bigint[], p_tokens bigint[], p_kinds text[], p_texts text[], p_delays bigint[],
    p_places bigint[],
    out places bigint[], out states text[], out waits boolean
)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_now bigint := {schema}.gnl_now();
    v_orgs text[];
    v_types text[];
    v_seqs bigint[];
begin
    with gone as (
        delete from {schema}.gnl_held as h
        using unnest(p_seqs, p_tokens, p_kinds, p_texts, p_delays, p_places)
            as u(seq, token, kind, text, delay, place)
        where h.seq = u.seq and h.token = u.token
        returning u.place, u.text, u.delay, h.seq, h.org, h.type, h.attempts, h.error,
            case when h.canceled then 'canceled' else u.kind end as kind
    ), finished as (
        insert into {schema}.gnl_finished (seq, org, state, result, error, attempts, finished_at)
        select g.seq, g.org, g.kind, case when g.kind = 'done' then g.text end,
            case when g.kind = 'dead' then g.text else g.error end, g.attempts, v_now
        from gone as g where g.kind in ('done', 'dead', 'canceled')
    ), failed as (
        insert into {schema}.gnl_failures (seq, n, attempt, error, failed_at)
        select g.seq, {schema}.gnl_next_failure(g.seq), g.attempts, g.text, v_now
        from gone as g where g.kind in ('retry', 'dead')
    ), waiting as materialized (
        select g.place, g.org, g.type, g.seq, v_now + g.delay as due_at,
            case when g.kind = 'release' then g.attempts - 1 else g.attempts end as attempts,
            case when g.kind = 'retry' then g.text else g.error end as error
        from gone as g where g.kind in ('retry', 'release')
    ), ready as (
        insert into {schema}.gnl_ready (org, type, seq, attempts, due_at, reclaimed, error)
        select w.org, w.type, w.seq, w.attempts, w.due_at, false, w.error
        from waiting as w where w.due_at <= v_now
    ), delayed as (
        insert into {schema}.gnl_delayed (seq, org, type, due_at, attempts, reclaimed, error)
        select w.seq, w.org, w.type, w.due_at, w.attempts, false, w.error
        from waiting as w where w.due_at > v_now
    )
    select g.places, g.kinds, w.orgs, w.types, w.seqs, g.waits
    into places, states, v_orgs, v_types, v_seqs, waits
    from (
        select array_agg(place) as places, array_agg(kind) as kinds,
            coalesce(bool_or(kind in ('retry', 'release')), false) as waits
        from gone
    ) as g
    cross join (
        select array_agg(org order by place) as orgs, array_agg(type order by place) as types,
            array_agg(seq order by place) as seqs
        from waiting where due_at <= v_now
    ) as w;
    if v_orgs is not null then
        perform {schema}.gnl_reopen_lanes(v_orgs, v_types, v_seqs);
    end if;
end $$;
