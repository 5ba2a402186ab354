"""The contract of a database, which runs functions with connections. `engine` implements it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection

from app.models.event import NewEvent

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class WriteResult(Generic[_Result]):
    """The outcome of a function that writes: its result, and events to write before the commit."""

    result: _Result
    project_id: str
    events: Sequence[NewEvent]


Work: TypeAlias = Callable[[Connection], WriteResult[_Result]]
"""A function that writes over a connection. It may run again, so it must have no other effect."""


class PoolUse(NamedTuple):
    """The used and idle connections of a pool, and the callers that wait for one."""

    name: str
    size: int
    used: int
    idle: int
    waiting: int


class Database(Protocol):
    """Runs functions over connections, each in a thread or in the event loop."""

    async def read(
        self,
        work: Callable[[Connection], _Result],
        *,
        is_snapshot: bool = False,
        tries_event_loop: bool = False,
    ) -> _Result:
        """Run a function that only reads.

        Args:
            work: The function.
            is_snapshot: True if all its statements see the same committed state.
            tries_event_loop: True to run the function in the event loop first, and again in a
                thread if a statement would block the loop; see `Lookup`.

        Raises:
            StoreUnavailableError: The database does not respond, or no connection became free.
        """

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """Run a function in a transaction, and commit it before this returns.

        If the function raises, its changes are rolled back. If the caller is cancelled, a function
        that has begun is completed and committed.

        Args:
            work: The function.
            is_alone: True to commit the changes without those of other callers.
            is_durable: True to return only when the changes survive a power loss; otherwise they
                survive one after the next durable commit.

        Returns:
            The result of the function. If the function has added events, also the number of the
            project's newest event; otherwise `None`.

        Raises:
            StoreUnavailableError: The database does not respond, or the transaction failed.
        """

    def pools(self) -> Sequence[PoolUse]:
        """Return the current use of each pool of connections."""

    async def close(self) -> None:
        """Wait for running functions, and close all connections."""
