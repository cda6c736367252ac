"""What is no break of a rule but no answer either is told in a line, without a traceback."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, cast

import pytest

from gnl_conformance import StoreConformance, grade
from gnl_conformance._answers import OF_EVENTS, OF_JOBS
from gnl_conformance._case import Case, chosen
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_conformance.report import weigh
from gnl_core.memory import MemoryStore
from gnl_core.spi import Claimed, Outcome


class Spoiled(StoreConformance):
    """A memory store of which one method is replaced."""

    method: ClassVar[str] = ""
    other: ClassVar[Callable[..., object]] = print

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        store = MemoryStore()
        setattr(store.jobs, self.method, self.other)
        yield store


def with_method(method: str, other: Callable[..., object]) -> StoreConformance:
    made: StoreConformance = type(
        "Mine", (Spoiled,), {"method": method, "other": staticmethod(other)}
    )()
    return made


async def settles_nothing(outcomes: Sequence[Outcome]) -> object:
    return [None for _ in outcomes]


async def claims_a_list(*_: object, **__: object) -> object:
    return Claimed(cast("tuple[()]", []), None)


def counts_at_once(org_id: str | None) -> object:
    return 0


def of_tier(tier: str, rule: str) -> Case:
    return next(one for one in chosen([tier], [rule]))


@pytest.mark.parametrize(
    ("method", "other", "rule", "said"),
    [
        (
            "settle",
            settles_nothing,
            "attempt.dead",
            "settle answered [None]: expected a tuple of Settlement, one an outcome",
        ),
        (
            "claim",
            claims_a_list,
            "attempt.dead",
            "claim answered Claimed(grants=[], next_due_in=None): "
            "expected Claimed, with `grants` a tuple of Grant",
        ),
        (
            "depth",
            counts_at_once,
            "store.depth",
            "depth answered 0 at once: it has to be `async def` in the store",
        ),
    ],
)
@pytest.mark.parametrize("tier", ["cases", "model"])
def test_an_answer_of_another_kind_is_named(
    tier: str, method: str, other: Callable[..., object], rule: str, said: str
) -> None:
    found = grade(with_method(method, other), of_tier(tier, rule), again="again")
    assert found.outcome == "error"
    if (tier, method) != ("model", "settle"):
        assert found.why == said
    assert found.why.startswith(f"{method} answered ")
    assert "Traceback" not in found.why


def test_every_method_of_a_store_has_a_shape() -> None:
    store = MemoryStore()
    for part, shapes in ((store.jobs, OF_JOBS), (store.events, OF_EVENTS)):
        assert {name for name in dir(part) if not name.startswith("_")} == {*shapes}


def test_spaces_that_are_one_are_told_before_any_rule_breaks() -> None:
    class OneForAll(StoreConformance):
        """Takes no notice of `space`."""

        store = MemoryStore()

        @asynccontextmanager
        async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
            yield self.store

    grades = [grade(OneForAll(), one) for one in chosen(["cases"], ["lease", "lane"])]
    assert {one.outcome for one in grades} == {"error", "not-applicable"}
    (why,) = {one.why for one in grades if one.outcome == "error"}
    assert why.startswith("two spaces show the same data")
    assert "`connect`" in why
    report = weigh(OneForAll, grades)
    assert (report.verdict, report.why) == ("FAIL", why)


def test_spaces_that_are_apart_are_not_mistaken() -> None:
    found = grade(ReferenceConformance(), of_tier("cases", "lane.order"))
    assert found.outcome == "passed"
