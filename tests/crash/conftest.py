"""Backends for the crash tests: a SQLite file, and a private PostgreSQL that may be killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from backends import Backend


@pytest.fixture(params=["sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each database in turn, empty."""
    return Backend(f"sqlite:///{tmp_path}/work.db")
