from __future__ import annotations

import inspect
import pickle

import pytest

from gnl_core import errors


def test_every_error_has_one_root_and_stands_in_the_tree() -> None:
    for name in errors.__all__:
        member = getattr(errors, name)
        if issubclass(member, Exception):
            assert issubclass(member, errors.GnlError)
            assert name in (inspect.getdoc(errors) or "")


def test_the_list_is_sorted_and_complete() -> None:
    assert sorted(errors.__all__) == errors.__all__
    defined = {
        name
        for name, member in vars(errors).items()
        if inspect.isclass(member) and issubclass(member, errors.GnlError)
    }
    assert defined <= set(errors.__all__)


@pytest.mark.parametrize("why", errors.RevokedWhy)
def test_a_revocation_says_why(why: errors.RevokedWhy) -> None:
    error = errors.ExecutionRevokedError(why)
    assert why.value in str(error)
    assert pickle.loads(pickle.dumps(error)).why is why


def test_the_causes_of_revocation_are_the_promised_words() -> None:
    words = {why.value for why in errors.RevokedWhy}
    assert words == {"canceled", "lease-lost", "timeout", "shutdown"}


def test_an_invalid_job_names_its_index() -> None:
    assert str(errors.InvalidJob("id is empty", index=57)) == "jobs[57]: id is empty"
    assert errors.InvalidJob("id is empty").index is None
