"""Adding jobs: one call of gnl_add, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gnl_core.spi import Added, DepthRefused, Known, NewJob, StoreRejected
from gnl_store_sql import Rows, org_name, org_text

ADD: Final = (
    "select * from {schema}.gnl_add($1::text, $2::text, $3::text[], $4::text[], $5::text[], "
    "$6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[], "
    "$12::bigint[], $13::bigint, $14::boolean, $15::boolean, $16::text, $17::text)"
)
ADD_ONE: Final = (
    "select * from {schema}.gnl_add_one($1::text, $2::text, $3::text, $4::text, $5::bigint, "
    "$6::bigint, $7::bigint, $8::text)"
)
OPEN_LANES: Final = (
    "select {schema}.gnl_open_lanes($1::text[], $2::text[], array_fill(1, array[cardinality($1)]))"
)


class Batch(NamedTuple):
    """The jobs of one call as gnl_add takes them: None for a column that says nothing."""

    org: str | None
    type: str | None
    orgs: list[str] | None
    types: list[str] | None
    ids: list[str]
    payloads: list[str]
    budgets: list[int | None] | None
    delays: list[int] | None
    run_ats: list[int | None] | None
    pair_orgs: list[str] | None
    pair_types: list[str] | None
    pair_places: list[int] | None


def batch_of(jobs: Sequence[NewJob]) -> Batch:
    """The columns of `jobs`."""
    orgs = [org_text(job.org_id) for job in jobs]
    types = [job.type for job in jobs]
    budgets = [job.max_attempts for job in jobs]
    delays = [job.delay for job in jobs]
    run_ats = [job.run_at for job in jobs]
    one_org, one_type = len(set(orgs)) == 1, len(set(types)) == 1
    waits = any(delays) or any(run_at is not None for run_at in run_ats)
    pairs = None if waits else _first_places(orgs, types)
    return Batch(
        orgs[0] if one_org else None,
        types[0] if one_type else None,
        None if one_org else orgs,
        None if one_type else types,
        [job.id for job in jobs],
        [job.payload for job in jobs],
        None if set(budgets) == {None} else budgets,
        delays if waits else None,
        run_ats if waits else None,
        None if pairs is None else [org for org, _ in pairs],
        None if pairs is None else [type_ for _, type_ in pairs],
        None if pairs is None else list(pairs.values()),
    )


def _first_places(orgs: Sequence[str], types: Sequence[str]) -> dict[tuple[str, str], int]:
    """The pairs of lane and type, by first appearance, with the place of each one's first job."""
    places = range(len(orgs), 0, -1)
    first = dict(zip(zip(reversed(orgs), reversed(types), strict=True), places, strict=True))
    return dict(sorted(first.items(), key=lambda pair: pair[1]))


def values_of(job: NewJob) -> tuple[object, ...]:
    """One job as gnl_add_one takes it."""
    return (
        org_text(job.org_id),
        job.id,
        job.type,
        job.payload,
        job.max_attempts,
        job.delay,
        job.run_at,
    )


def lanes_to_open(rows: Rows) -> tuple[list[str], list[str]] | None:
    """The pairs that need a row in gnl_lanes before the jobs can be added."""
    pairs = sorted((row[1], row[2], row[3]) for row in rows if row[0] == "lane")
    return ([org for _, org, _ in pairs], [type_ for *_, type_ in pairs]) if pairs else None


def answer_of(rows: Rows, count: int, max_depth: int | None) -> Added | DepthRefused:
    """The answer for a call of `count` jobs."""
    if not rows:
        return Added((None,) * count)
    what, place, a, b, depth, new = min(rows, key=lambda row: row[1])
    if what == "deep":
        assert max_depth is not None, "only a limit refuses"
        return DepthRefused(org_name(a), depth, new, max_depth)
    if what == "away":
        raise StoreRejected(
            f"the connection is on another database ({a!r}) than this store: its workers would "
            "never see these jobs"
        )
    known: list[Known | None] = [None] * count
    for _, place, a, b, _, _ in rows:
        known[place - 1] = Known(a, b)
    return Added(tuple(known))
