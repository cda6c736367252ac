from __future__ import annotations

import dataclasses
import enum
import json
import math
import pathlib
import sys
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnl_core._shown import shown
from gnl_core.codec import MAX_BYTES, decode, encode, same_content
from gnl_core.errors import InvalidInput, UndecodableText

text = st.text(st.characters(exclude_categories=("Cs",)))
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
    | st.datetimes(timezones=st.timezones())
    | st.dates()
    | st.timedeltas()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.uuids()
    | st.binary()
)
keys = text | st.just("$gnl")
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=20
)


def exact(value: object) -> object:
    """`value` in a form whose equality is that of type, sign, order and digits as well."""
    match value:
        case dict():
            return ("dict", [(key, exact(item)) for key, item in value.items()])
        case list():
            return ("list", [exact(item) for item in value])
        case float():
            return ("float", value.hex())
        case Decimal():
            return ("decimal", value.as_tuple())
        case datetime():
            return ("datetime", value.isoformat())
    return (type(value), value)


@given(values)
def test_every_value_comes_back_exactly(value: object) -> None:
    written = encode(value)
    assert exact(decode(written)) == exact(value)
    assert "\0" not in written
    assert "\n" not in written
    json.loads(written)


@given(values)
def test_a_value_has_the_same_content_as_itself_and_as_its_copy(value: object) -> None:
    written = encode(value)
    assert same_content(written, encode(decode(written)))


@pytest.mark.parametrize(
    "value",
    [
        {"a": "x\0y"},
        {"k\0": 1},
        [["\0"]],
        "\U0001f378",
        json.loads('"\\ud83c\\udf78"'),
        {"bb": 1, "a": 2},
        2**53 + 1,
        2**63 - 1,
        2**63,
        -(2**63) - 1,
        2**64,
        10**4300 - 1,
        1 - 10**4300,
        -0.0,
        0.0,
        1e16,
        5e-324,
        1.7976931348623157e308,
        True,
        1,
        1.0,
        "",
        "  ",
        {"$gnl": ["datetime", "2026-01-01T00:00:00+00:00"]},
        {"$gnl": {"$gnl": {"$gnl": 1}}},
        {"$gnl": 1, "other": datetime(2026, 1, 1, tzinfo=UTC)},
        {"x": "$gnl"},
        datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=timezone(-timedelta(hours=3, seconds=7))),
        datetime.max.replace(tzinfo=UTC),
        date(1, 1, 1),
        timedelta.max,
        timedelta.min,
        timedelta(microseconds=-1),
        Decimal("1.10"),
        Decimal("-0.00"),
        Decimal("1E+9999"),
        UUID(int=2**128 - 1),
        b"",
        bytes(range(256)),
    ],
    ids=shown,
)
def test_a_hard_value_comes_back_exactly(value: object) -> None:
    for wrapped in (value, [value], {"key": value}, {"a": [{"b": value}]}):
        written = encode(wrapped)
        assert "\0" not in written
        assert exact(decode(written)) == exact(wrapped)


class Color(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


NAIVE = datetime(2026, 1, 1)
REFUSED = [
    (math.nan, "nan"),
    (math.inf, "inf"),
    (-math.inf, "-inf"),
    (json.loads("1e400"), "inf"),
    (Decimal("NaN"), "NaN"),
    (Decimal("-Infinity"), "Infinity"),
    ("\ud800", "lone surrogate '\\ud800' at character 0"),
    ("ab\udc00", "at character 2"),
    (10**4300, "4,300 digits"),
    (-(10**5000), "4,300 digits"),
    ({1, 2}, "builtins.set"),
    ((1, 2), "a tuple would come back as a list"),
    (pathlib.PurePosixPath("x"), "PurePosixPath"),
    (Point(1), "Point"),
    (Color.RED, "Color: only a plain str"),
    (Level.LOW, "Level: only a plain int"),
    (OrderedDict(a=1), "OrderedDict: only a plain dict"),
    (bytearray(b"x"), "bytearray"),
    (object(), "builtins.object"),
    (Unspeakable(), "Unspeakable"),
    (NAIVE, "is naive; give it a time zone"),
    ({1: "a"}, "key 1 is a int"),
    ({True: "b"}, "key True is a bool"),
    ({None: "c"}, "key None is a NoneType"),
    ({1.5: "d"}, "key 1.5 is a float"),
    ({(1, 2): "e"}, "key (1, 2) is a tuple"),
    ({1: "a", "1": "b"}, "key 1 is a int"),
    ({Color.RED: 1}, "is a Color"),
]


@pytest.mark.parametrize(("value", "why"), REFUSED, ids=shown)
def test_what_cannot_be_kept_is_refused_with_its_path(value: object, why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        encode({"items": [0, 1, 2, {"when": value}]})
    assert str(caught.value).startswith("payload.items[3].when: ")
    assert why in str(caught.value)
    with pytest.raises(InvalidInput, match=r"^result: "):
        encode(value, what="result")


def test_a_bad_key_is_named_in_a_path_that_can_be_printed() -> None:
    with pytest.raises(InvalidInput) as caught:
        encode({"a b": {"\udc00": 1}})
    assert str(caught.value).startswith('payload["a b"]["\\udc00"]: lone surrogate')
    str(caught.value).encode()


def nested(levels: int, leaf: object = 1) -> object:
    value = leaf
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("leaf", [1, date(2026, 1, 1)])
def test_nesting_is_limited_to_100_levels(leaf: object) -> None:
    assert decode(encode(nested(100, leaf))) == nested(100, leaf)
    for levels in (101, 2_000):
        with pytest.raises(InvalidInput, match="deeper than 100 levels"):
            encode(nested(levels, leaf))


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="deeper than 100 levels"):
        encode(loop)


@pytest.mark.parametrize("character", ["x", "\xe9", "\u20ac", "\U0001f378"])
def test_the_limit_counts_bytes(character: str) -> None:
    size = len(character.encode())
    room = (MAX_BYTES - 2) // size
    assert decode(encode(character * room)) == character * room
    with pytest.raises(InvalidInput, match=r"bytes encoded, the limit is 1,048,576"):
        encode(character * (room + 1))
    with pytest.raises(InvalidInput, match="limit is 10;"):
        encode("x" * 9, limit=10)
    assert encode("x" * 8, limit=10) == '"xxxxxxxx"'


@pytest.mark.parametrize("size", [7_900, 8_000, 65_535, 65_536, MAX_BYTES - 8])
def test_large_payloads_come_back_whole(size: int) -> None:
    assert decode(encode({"a": "x" * size})) == {"a": "x" * size}


@pytest.mark.parametrize("size", [MAX_BYTES, 17_000_000])
def test_too_large_payloads_are_refused(size: int) -> None:
    with pytest.raises(InvalidInput, match="the limit is 1,048,576"):
        encode({"a": "x" * size})


@pytest.fixture
def digits_limit():
    before = sys.get_int_max_str_digits()
    yield sys.set_int_max_str_digits
    sys.set_int_max_str_digits(before)


def test_the_digits_limit_is_ours_whatever_the_interpreter_allows(digits_limit) -> None:
    digits_limit(0)
    with pytest.raises(InvalidInput, match=r"payload\.n: .*4,300 digits"):
        encode({"n": 10**4300})
    digits_limit(1_000)
    with pytest.raises(InvalidInput, match=r"payload\.n: this interpreter .* 1000 digits"):
        encode({"n": 10**2000})


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ({"bb": 1, "a": 2}, {"a": 2, "bb": 1}, True),
        (
            {"x": {"bb": [1], "a": date(2026, 1, 1)}},
            {"x": {"a": date(2026, 1, 1), "bb": [1]}},
            True,
        ),
        ([1, 2], [2, 1], False),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, False),
        (None, {}, False),
        ("1", 1, False),
        (Decimal("1.0"), Decimal("1.00"), False),
        ("2026-01-01", date(2026, 1, 1), False),
    ],
)
def test_content_is_compared_by_value_and_type_but_not_by_key_order(a, b, same) -> None:
    assert same_content(encode(a), encode(b)) is same


def test_damaged_text_has_no_content_in_common() -> None:
    assert not same_content("{", "1")
    assert same_content("{", "{")


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        "1 2",
        "NaN",
        '{"$gnl":1}',
        '{"$gnl":["soon","x"]}',
        '{"$gnl":["datetime","x"]}',
        '{"$gnl":["datetime",5]}',
        '{"$gnl":["decimal","x"]}',
        '{"$gnl":["timedelta",1e99]}',
        '{"$gnl":["bytes","\u00e9"]}',
        "[" * 100_000,
    ],
)
def test_damaged_text_is_refused_as_such(damaged: str) -> None:
    with pytest.raises(UndecodableText, match="cannot be decoded"):
        decode(damaged)
