from __future__ import annotations

import pytest

from gnl_core.errortext import MAX_CHARACTERS, clean, describe


def caught(raised: BaseException) -> BaseException:
    try:
        raise raised
    except BaseException as error:
        return error


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Hostile(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("no name")


def test_type_message_and_traceback_are_kept() -> None:
    text = describe(caught(ValueError("boom")))
    assert text.startswith("ValueError: boom\n\nTraceback")
    assert "test_errortext.py" in text


@pytest.mark.parametrize("message", ["boom\0tail", "boom\ud800", "\0", "\udfff" * 5])
def test_what_stores_refuse_is_replaced(message: str) -> None:
    text = describe(caught(ValueError(message)))
    readable = message.translate({0: "\ufffd", 0xD800: "\ufffd", 0xDFFF: "\ufffd"})
    assert text.startswith(f"ValueError: {readable}\n")
    assert "\0" not in text
    text.encode()


def test_a_huge_message_is_cut_in_the_middle() -> None:
    text = describe(caught(ValueError("<" + "x" * 2_000_000 + ">")))
    assert len(text) <= MAX_CHARACTERS
    assert text.startswith("ValueError: <xxx")
    assert "characters left out" in text
    assert text.endswith("xxx>")


def test_the_bound_holds_at_its_edge() -> None:
    assert clean("x" * 100, 100) == "x" * 100
    assert len(clean("x" * 101, 100)) == 100


def test_an_exception_without_words_is_described_all_the_same() -> None:
    for error in (Mute(), caught(Mute())):
        summary = describe(error).splitlines()[0]
        assert summary.endswith("Mute: (its text cannot be had: str() raised RuntimeError)")
    assert describe(ExceptionGroup("many", [Mute()])).startswith("ExceptionGroup: many (1 sub")


def test_an_exception_whose_class_misbehaves_is_described_all_the_same() -> None:
    class Odd(Exception, metaclass=Hostile):
        pass

    assert describe(Odd("x"))


def test_an_exception_without_message_is_its_name() -> None:
    assert describe(KeyError()).splitlines()[0] == "KeyError"
