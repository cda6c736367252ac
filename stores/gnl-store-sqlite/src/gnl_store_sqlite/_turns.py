"""The total claim order, in batches.

Granting one job after the other, a claim goes round: it serves every lane once, in the order
of turns, then those that have more once again, until the limit is reached. So with a place for
each lane (the order of turns) and a round for each of its jobs (the order of sequence numbers),
the order is that of (round, place). Whole rounds are read at a time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from gnl_store_sql import Row, Step, Steps

_FIRST_LANES: Final = (
    "SELECT l.org, l.turn FROM json_each(?) t CROSS JOIN gnl_lanes l "
    "ON l.type = t.value AND l.turn IN (SELECT x.turn FROM gnl_lanes x "
    "WHERE x.type = t.value ORDER BY x.turn LIMIT ?)"
)
# A lane stands in the list as [lane, sequence number of the last job read].
_NEXT_JOBS: Final = (
    "SELECT r.org, r.type, r.seq, r.attempts, r.due_at, r.reclaimed, r.error, "
    "j.id, j.payload, j.max_attempts, j.enqueued_at "
    "FROM json_each(?) k CROSS JOIN gnl_lanes l ON l.org = json_extract(k.value, '$[0]') "
    "AND l.type IN (SELECT value FROM json_each(?)) "
    "CROSS JOIN gnl_ready r ON r.org = l.org AND r.type = l.type AND r.seq IN "
    "(SELECT x.seq FROM gnl_ready x WHERE x.org = l.org AND x.type = l.type "
    "AND x.seq > json_extract(k.value, '$[1]') ORDER BY x.seq LIMIT ?) "
    "CROSS JOIN gnl_jobs j ON j.seq = r.seq"
)
_ORG: Final = 0
_SEQ: Final = 2


def next_in_turn(types: str, limit: int) -> Steps[list[Row]]:
    """The ready jobs that a claim of `types` (a JSON list) grants next, in its order."""
    lanes = yield from _lanes_by_turn(types, limit)
    last_read = dict.fromkeys(lanes, 0)
    chosen: list[Row] = []
    while last_read and len(chosen) < limit:
        missing = limit - len(chosen)
        rounds = -(-missing // len(last_read))
        packed = json.dumps(list(last_read.items()), ensure_ascii=False)
        rows = yield Step(_NEXT_JOBS, (packed, types, rounds))
        jobs = _jobs_of_lanes(rows, rounds)
        chosen += _by_round([jobs.get(org, []) for org in last_read])[:missing]
        # A lane that filled all rounds may have more; the others are exhausted.
        last_read = {
            org: jobs[org][-1][_SEQ] for org in last_read if len(jobs.get(org, ())) == rounds
        }
    return chosen


def _lanes_by_turn(types: str, limit: int) -> Steps[list[str]]:
    """The first lanes by turn: a lane's is the smallest of its pairs of these types."""
    rows = yield Step(_FIRST_LANES, (types, limit))
    by_turn = sorted(rows, key=lambda row: row[1])
    return list(dict.fromkeys(org for org, _ in by_turn))[:limit]


def _jobs_of_lanes(rows: Sequence[Row], rounds: int) -> dict[str, list[Row]]:
    jobs: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row[_SEQ]):
        lane = jobs.setdefault(row[_ORG], [])
        # A lane with several types gives that many of each; the first of all are its next.
        if len(lane) < rounds:
            lane.append(row)
    return jobs


def _by_round(lanes: Sequence[Sequence[Row]]) -> list[Row]:
    rounds = max(map(len, lanes), default=0)
    return [lane[at] for at in range(rounds) for lane in lanes if at < len(lane)]
