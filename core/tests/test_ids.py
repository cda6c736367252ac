from __future__ import annotations

import enum

import pytest

from gnl_core.errors import InvalidInput
from gnl_core.ids import check_name, new_id, new_ids


class JobType(enum.StrEnum):
    IMPORT = "import"


class OldStyle(str, enum.Enum):  # noqa: UP042 - users still write these
    IMPORT = "import"


@pytest.mark.parametrize(
    "name", ["a", " ", "a ", "%", ":/~", "\n", "\U0001f378" * 255, "x" * 255, "a\u0301", "\u00e1"]
)
def test_any_text_up_to_255_characters_is_a_name(name: str) -> None:
    assert check_name(name, "id") == name


@pytest.mark.parametrize("member", [JobType.IMPORT, OldStyle.IMPORT])
def test_a_str_enum_member_counts_as_its_value(member: str) -> None:
    assert type(check_name(member, "type")) is str
    assert check_name(member, "type") == "import"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "org_id is empty; give it at least one character"),
        ("x" * 256, "org_id has 256 characters, the limit is 255: 'xxxx"),
        ("\U0001f378" * 256, "org_id has 256 characters, the limit is 255"),
        ("a\0", r"org_id contains NUL at character 1: 'a\x00'"),
        ("\ud800", r"org_id contains a lone surrogate, which is no Unicode text: '\ud800'"),
        (None, "org_id must be a str, not NoneType: None"),
        (7, "org_id must be a str, not int: 7"),
        (10**5000, "org_id must be a str, not int: <int>"),
        (b"a", "org_id must be a str, not bytes: b'a'"),
    ],
    ids=range(9),
)
def test_what_is_no_name_is_refused_by_name(name: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_name(name, "org_id")
    assert str(caught.value).startswith(message)
    str(caught.value).encode()


def test_new_ids_are_distinct_names_of_one_length() -> None:
    made = [new_id(), *new_ids(5_000), new_id()]
    assert len(set(made)) == len(made)
    assert {len(check_name(new, "id")) for new in made} == {32}
    assert new_ids(0) == []


def test_ids_begin_with_their_time() -> None:
    early, late = new_id(), new_ids(1)[0]
    assert early[:12] <= late[:12]
