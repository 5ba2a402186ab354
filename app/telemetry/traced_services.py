"""Wrappers of stores and metrics that record spans.

A span of the database lasts from the call until its result, with the wait for a connection or for
the commit of a group. Statements have no spans, because those of a group belong to several
requests.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from opentelemetry.trace import SpanKind
from sqlalchemy import Connection

from app.stores.blobs.store import BlobStore
from app.stores.records.database import Database, Work
from app.telemetry.metrics import Metrics
from app.telemetry.spans import request_span

_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


class TracedMetrics(Metrics):
    """Metrics that also record each stage as a span."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """See `Metrics.stage`."""
        with request_span(name), super().stage(name):
            yield


class TracedDatabase:
    """A database that records its calls as spans. See `Database`.

    Args:
        database: The database.
        system: Its name in the conventions of OpenTelemetry.
    """

    def __init__(self, database: Database, system: str) -> None:
        self._database = database
        self._system = system
        self.pools, self.close = database.pools, database.close

    async def read(
        self,
        work: Callable[[Connection], _Result],
        *,
        is_snapshot: bool = False,
        tries_event_loop: bool = False,
    ) -> _Result:
        """See `Database.read`."""
        with self._span("records.read"):
            return await self._database.read(
                work, is_snapshot=is_snapshot, tries_event_loop=tries_event_loop
            )

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        """See `Database.write`."""
        with self._span("records.write"):
            return await self._database.write(work, is_alone=is_alone, is_durable=is_durable)

    def _span(self, name: str) -> AbstractContextManager[None]:
        return request_span(name, {"db.system.name": self._system}, kind=SpanKind.CLIENT)


class TracedBlobStore:
    """A blob store that records its calls as spans. See `BlobStore`.

    Writers and drafts have no spans: their bytes arrive with the body of the request.

    Args:
        blobs: The store.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self.writer, self.draft, self.list_blobs = blobs.writer, blobs.draft, blobs.list_blobs
        self.check, self.sweep_temporary = blobs.check, blobs.sweep_temporary
        self.put, self.put_all = _traced(blobs.put), _traced(blobs.put_all)
        self.open, self.find = _traced(blobs.open), _traced(blobs.find)
        self.size, self.sizes = _traced(blobs.size), _traced(blobs.sizes)
        self.delete, self.quarantine = _traced(blobs.delete), _traced(blobs.quarantine)


def _traced(
    call: Callable[_Arguments, Coroutine[Any, Any, _Result]],
) -> Callable[_Arguments, Coroutine[Any, Any, _Result]]:
    name = f"blobs.{call.__name__}"

    @wraps(call)
    async def traced(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with request_span(name, kind=SpanKind.CLIENT):
            return await call(*args, **kwargs)

    return traced
