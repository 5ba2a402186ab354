"""The interface by which the proxy traces calls; `app.telemetry` implements it."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class CallTraces(Protocol):
    """Traces each call from the message of the host until its response is stored.

    Requests that are sent in the context of a call belong to its trace.
    """

    def message(self) -> AbstractContextManager[object]:
        """Restore the current trace context at the end of the block.

        In the block, a message of the host is processed. Calls that begin in it change the context.
        """

    def begin(self, call_id: str, tool: str, traceparent: str | None) -> None:
        """Begin a call, and make it the current trace context.

        Args:
            call_id: The id of the call.
            tool: The name of the tool.
            traceparent: The W3C trace context of the host; `None` to begin a new trace.
        """

    def end(self, call_id: str) -> AbstractContextManager[object]:
        """Make a call the current trace context in the block, and end the call with the block."""


class NoCallTraces:
    """An implementation of `CallTraces` that traces nothing."""

    def message(self) -> AbstractContextManager[object]:
        """See `CallTraces.message`."""
        return nullcontext()

    def begin(self, call_id: str, tool: str, traceparent: str | None) -> None:
        """See `CallTraces.begin`."""

    def end(self, _: str) -> AbstractContextManager[object]:
        """See `CallTraces.end`."""
        return nullcontext()
