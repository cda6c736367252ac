"""Statements compiled once to a driver's own string, and operations as steps.

Running a statement through SQLAlchemy costs two to four times what the driver alone costs. So
it only writes the string; the driver runs it.

An operation is a generator of `Step`: it yields a statement with its values, is sent the rows,
and returns its answer. It knows no driver, so that one text serves a store's own connection, a
caller's connection and a caller's SQLAlchemy connection.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

Row: TypeAlias = Sequence[Any]
"""One row of an answer, by position."""

Rows: TypeAlias = Sequence[Row]

Values: TypeAlias = tuple[Any, ...]
"""Bound values, in the order of the statement's placeholders."""

_T = TypeVar("_T")


class Step(NamedTuple):
    """One statement to run. With `many` it runs once for each of `values` and has no rows."""

    sql: str
    values: Values | Sequence[Values]
    many: bool = False


Steps: TypeAlias = Generator[Step, Rows, _T]
"""An operation: yields steps, is sent their rows, returns a `_T`."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A compiled statement. `names` are its parameters, in the order of its placeholders."""

    sql: str
    names: tuple[str, ...]
    constants: dict[str, Any]

    def __call__(self, **values: Any) -> Step:
        """One run, with its parameters by name."""
        if self.constants:
            values = self.constants | values
        return Step(self.sql, tuple([values[name] for name in self.names]))

    def many(self, names: Sequence[str], rows: Iterable[Values]) -> Step:
        """One run for each row of values that stand in the order of `names`."""
        if tuple(names) == self.names:
            return Step(self.sql, list(rows), many=True)
        order = [names.index(name) for name in self.names]
        return Step(self.sql, [tuple([row[at] for at in order]) for row in rows], many=True)


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """How one database is spoken to.

    `engine` is SQLAlchemy's dialect of the very driver, for its placeholders. A list travels as
    one parameter, so that a statement's text never depends on its length: `one_of` is the
    condition that a column is among the values of the list parameter of that name, and `pack`
    makes that parameter.
    """

    engine: Dialect
    one_of: Callable[[ColumnElement[Any], str], ColumnElement[bool]]
    pack: Callable[[Collection[Any]], object]

    def compile(self, clause: ClauseElement) -> Statement:
        """The driver's string of `clause` and the order of its parameters."""
        compiled = clause.compile(dialect=self.engine)
        assert isinstance(compiled, SQLCompiler), "only statements have parameters"
        constants = {k: v for k, v in compiled.params.items() if v is not None}
        return Statement(str(compiled), tuple(compiled.positiontup or ()), constants)
