"""The contract of a database: it runs functions over connections, in transactions.

`engine` opens one, with its threads, and commits short changes together.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from sqlalchemy import CursorResult, Executable, Row

from app.models.event import NewEvent
from app.stores.records.prepared_statements import Lookup, Values

_Result = TypeVar("_Result")


class StatementConnection(Protocol):
    """Runs the statements of a `ProjectScope`."""

    @property
    def is_postgresql(self) -> bool:
        """True for PostgreSQL, false for SQLite."""

    def execute(self, statement: Executable) -> CursorResult[Any]:
        """Run a statement."""

    def rows(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """Run a statement that is kept, with its values, and return its rows."""

    def run_many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a statement that is kept and answers nothing with each of some sets of values."""

    def look_up(self, lookup: Lookup, values: Values, *, is_short: bool) -> Sequence[Row[Any]]:
        """Return the rows of a lookup; the caller says if it is known to take longer."""

    def begin_nested(self) -> AbstractContextManager[object]:
        """Hold what fails in a block, so that the transaction goes on. PostgreSQL only."""


@dataclass(frozen=True, slots=True)
class Written(Generic[_Result]):
    """The result of some work, and the events it noted."""

    result: _Result
    project_id: str
    events: Sequence[NewEvent]


Work: TypeAlias = Callable[[StatementConnection], Written[_Result]]
"""Writes over a connection. It may run again, and has no other effect."""


class Database(Protocol):
    """Runs functions over connections, each in a thread or in the event loop."""

    async def read(
        self, work: Callable[[StatementConnection], _Result], *, is_snapshot: bool = False
    ) -> _Result:
        """Do some work that only reads.

        Args:
            work: What to do; it is begun in the event loop, and again in a thread if it comes upon
                something that would keep the loop.
            is_snapshot: All of it sees what was committed at one moment.

        Raises:
            StoreUnavailableError: The database does not answer, or no connection came free.
        """

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """Do some work in a transaction; it is committed when this returns.

        Args:
            work: What to do.
            is_alone: It takes so long that nobody else's changes are to wait for its commit.
            is_durable: It survives a power loss when this returns.

        Returns:
            What the work returned, and the number of the project's newest event, if it noted any.

        Raises:
            StoreUnavailableError: The database does not answer, or the transaction was lost.
        """

    async def close(self) -> None:
        """Close all connections."""
