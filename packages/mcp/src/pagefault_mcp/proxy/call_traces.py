"""The interface by which the proxy traces calls; `app.telemetry` implements it."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class CallTraces(Protocol):
    """Traces each call from the message of the host until its response is stored.

    Requests that are sent in the context of a call belong to its trace.
    """

    def message(self) -> AbstractContextManager[object]:
        """Restore the trace context at the end of the block, whatever calls begin inside."""

    def begin(self, call_id: str, tool: str, traceparent: str | None) -> None:
        """Begin a call, and enter its context.

        Args:
            call_id: The id of the call.
            tool: The name of the tool.
            traceparent: The trace of the host, as W3C writes it; `None` for a trace of its own.
        """

    def end(self, call_id: str) -> AbstractContextManager[object]:
        """Enter the context of a call, and end the call with the block."""


class NoCallTraces:
    """Traces no calls. See `CallTraces`."""

    def message(self) -> AbstractContextManager[object]:
        """See `CallTraces.message`."""
        return nullcontext()

    def begin(self, call_id: str, tool: str, traceparent: str | None) -> None:
        """See `CallTraces.begin`."""

    def end(self, _: str) -> AbstractContextManager[object]:
        """See `CallTraces.end`."""
        return nullcontext()
