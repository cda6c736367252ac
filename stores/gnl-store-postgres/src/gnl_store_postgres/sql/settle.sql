-- End holds with their verdicts, each fenced by its token.
--
-- Letters of `p_kinds`: d done (the text is the result), r retry and x dead (the text is the
-- error), b given back. A hold that is no longer the job's current one changes nothing. A job
-- canceled meanwhile becomes canceled (c). Rows are given by number, so that all calls lock them
-- in one order; `p_places` is call order. `p_delays` is null if nothing is delayed.
-- Answers, by place, the holds that were the job's and what became of them; null for both if
-- that is all of them, each as it was given. The last value says whether something waits again.
create or replace function {schema}.gnl_settle(
    p_seqs bigint[], p_tokens bigint[], p_kinds text, p_texts text[], p_delays bigint[],
    p_places bigint[], out places bigint[], out kinds text, out waits boolean
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
        using unnest(p_seqs, p_tokens, string_to_array(p_kinds, null), p_texts, p_delays, p_places)
            as u(seq, token, kind, text, delay, place)
        where h.seq = u.seq and h.token = u.token
        returning u.place, u.text, u.delay, h.seq, h.org, h.type, h.attempts, h.error, h.canceled,
            case when h.canceled then 'c' else u.kind end as kind
    ), finished as (
        insert into {schema}.gnl_finished (seq, org, state, result, error, attempts, finished_at)
        select g.seq, g.org,
            case g.kind when 'd' then 'done' when 'x' then 'dead' else 'canceled' end,
            case when g.kind = 'd' then g.text end,
            case when g.kind = 'x' then g.text else g.error end, g.attempts, v_now
        from gone as g where g.kind in ('d', 'x', 'c')
    ), failed as (
        insert into {schema}.gnl_failures (seq, n, attempt, error, failed_at)
        select g.seq, {schema}.gnl_next_failure(g.seq), g.attempts, g.text, v_now
        from gone as g where g.kind in ('r', 'x')
    ), waiting as materialized (
        select g.place, g.org, g.type, g.seq, v_now + coalesce(g.delay, 0) as due_at,
            case when g.kind = 'b' then g.attempts - 1 else g.attempts end as attempts,
            case when g.kind = 'r' then g.text else g.error end as error
        from gone as g where g.kind in ('r', 'b')
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
    into places, kinds, v_orgs, v_types, v_seqs, waits
    from (
        select
            case when count(*) < cardinality(p_seqs) or bool_or(canceled)
                then array_agg(place) end as places,
            case when count(*) < cardinality(p_seqs) or bool_or(canceled)
                then coalesce(string_agg(kind, ''), '') end as kinds,
            coalesce(bool_or(kind in ('r', 'b')), false) as waits
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
