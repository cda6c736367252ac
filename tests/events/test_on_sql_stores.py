"""The core's tests of `emit` and `Consumer`, on the stores that keep events in a database.

Left out are those that move the store's clock, and those that ask no store.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

CORE = Path(__file__).parents[2] / "core" / "tests" / "events"
FILES = ("test_emit", "test_consumer")


def of_core(file: str) -> Iterator[Callable[..., object]]:
    spec = importlib.util.spec_from_file_location(f"core_{file}", CORE / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, test in vars(module).items():
        if name.startswith("test_") and inspect.iscoroutinefunction(test):
            asks = inspect.signature(test).parameters
            if "storage" in asks and "clock" not in asks:
                yield test


TESTS = {test.__name__: test for file in FILES for test in of_core(file)}
assert len(TESTS) > 15, "the core's tests are found"
globals().update(TESTS)
