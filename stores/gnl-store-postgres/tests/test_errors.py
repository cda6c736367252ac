"""Every error of the driver arrives as one of the store's own."""

from __future__ import annotations

import inspect

import asyncpg
import pytest
from asyncpg import exceptions

from gnl_core.spi import StoreRejected, StoreUnavailable
from gnl_store_postgres._errors import Fate, fate_of, store_error

UNAVAILABLE = {
    "AdminShutdownError",
    "CannotConnectNowError",
    "ClientCannotConnectError",
    "ConfigurationLimitExceededError",
    "ConnectionDoesNotExistError",
    "ConnectionFailureError",
    "ConnectionRejectionError",
    "CrashShutdownError",
    "DatabaseDroppedError",
    "DataCorruptedError",
    "DiskFullError",
    "DuplicateFileError",
    "FileNameTooLongError",
    "IdleInTransactionSessionTimeoutError",
    "IdleSessionTimeoutError",
    "IndexCorruptedError",
    "InsufficientResourcesError",
    "InterfaceError",
    "InternalClientError",
    "InternalServerError",
    "LockNotAvailableError",
    "OperatorInterventionError",
    "OutOfMemoryError",
    "OutdatedSchemaCacheError",
    "PostgresConnectionError",
    "PostgresIOError",
    "PostgresSystemError",
    "ProtocolError",
    "ProtocolViolationError",
    "QueryCanceledError",
    "ReadOnlySQLTransactionError",
    "StatementCompletionUnknownError",
    "TargetServerAttributeNotMatched",
    "TooManyConnectionsError",
    "TransactionResolutionUnknownError",
    "TransactionTimeoutError",
    "UndefinedFileError",
    "UnsupportedServerFeatureError",
}
RETRIED = {"DeadlockDetectedError", "SerializationError"}

CLASSES = sorted(
    (
        value
        for value in vars(exceptions).values()
        if inspect.isclass(value)
        and issubclass(value, Exception)
        and not issubclass(value, Warning)
    ),
    key=lambda cls: cls.__name__,
)


def made(cls: type[Exception]) -> Exception:
    error = cls.__new__(cls)
    Exception.__init__(error, "said")
    return error


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_error_of_the_driver_has_its_fate(cls: type[Exception]) -> None:
    fate = fate_of(made(cls))
    if cls.__name__ in RETRIED:
        assert fate is Fate.RETRY
    elif cls.__name__ in UNAVAILABLE:
        assert fate is Fate.UNAVAILABLE
    else:
        assert fate is Fate.REJECTED


def test_the_table_names_only_errors_that_exist() -> None:
    assert {cls.__name__ for cls in CLASSES} >= UNAVAILABLE | RETRIED


@pytest.mark.parametrize(
    "error", [OSError("gone"), TimeoutError(), ConnectionResetError(), EOFError()]
)
def test_a_broken_network_is_unavailable(error: Exception) -> None:
    assert isinstance(store_error(error), StoreUnavailable)


def test_a_bug_is_not_dressed_up_as_the_database() -> None:
    assert store_error(KeyError("x")) is None
    assert store_error(TypeError("x")) is None


def test_missing_tables_name_the_command() -> None:
    error = store_error(made(asyncpg.UndefinedFunctionError))
    assert isinstance(error, StoreRejected)
    assert "gnl upgrade" in str(error)
