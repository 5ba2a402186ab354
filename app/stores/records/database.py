"""The contract of a database: it runs functions over connections, in transactions.

`engine` opens one, with its threads, and commits short changes together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection

from app.models.event import NewEvent

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Written(Generic[_Result]):
    """The result of a function that writes, and the events to write at the end."""

    result: _Result
    project_id: str
    events: Sequence[NewEvent]


Work: TypeAlias = Callable[[Connection], Written[_Result]]
"""A function that writes over a connection. It may run again, and has no other effect."""


class PoolUse(NamedTuple):
    """The used and idle connections of a pool, and the callers that wait for one."""

    name: str
    most: int
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
            is_snapshot: All its statements see what was committed at one moment.
            tries_event_loop: It is run in the event loop first, and again in a thread if a
                statement would block the loop; see `refuse_in_event_loop`.

        Raises:
            StoreUnavailableError: The database does not answer, or no connection became free.
        """

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """Run a function in a transaction; it is committed when this returns.

        If the function raises, its changes are rolled back. If the caller is cancelled, a
        change that was begun is committed all the same.

        Args:
            work: The function.
            is_alone: It takes so long that no other change should wait for its commit.
            is_durable: It survives a power loss when this returns; else it does from the next
                durable commit on.

        Returns:
            The result of the function, and the number of the project's newest event, if it added
            any.

        Raises:
            StoreUnavailableError: The database does not answer, or the transaction failed.
        """

    def pools(self) -> Sequence[PoolUse]:
        """Return the current use of each pool of connections."""

    async def close(self) -> None:
        """Close all connections, after running functions."""
