from __future__ import annotations

import json

import pytest

from gnl_core.spi import StoreRejected
from gnl_store_sql import Horizon
from gnl_store_sql.listing import Position, read_position


@pytest.mark.parametrize("org", ["", "a", 'q"\\', "é😀", "a b", "1:2"])
def test_a_position_reads_back(org: str) -> None:
    position = Position(Horizon(2**63 - 1, "10:20:10,15"), org, 7)
    assert read_position(position.text()) == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "null",
        "{}",
        "[]",
        "[1, 2]",
        "[" * 10_000,
        *map(
            json.dumps,
            [
                ["1", "", "a", 2],
                [1.0, "", "a", 2],
                [True, "", "a", 2],
                [-1, "", "a", 2],
                [2**63, "", "a", 2],
                [1, "", "a", 2**63],
                [1, "", "a", -1],
                [1, None, "a", 2],
                [1, "", None, 2],
                [1, "", "a", None],
                [1, "", "a", 2, 3],
            ],
        ),
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(StoreRejected, match="not a position"):
        read_position(text)
