"""Event streams that reconnect."""

import json
import logging
from collections.abc import AsyncIterator, Callable

import httpx

from pagefault_client import aio
from pagefault_client._async.transport import AsyncTransport
from pagefault_client.calls import Call
from pagefault_client.errors import APIConnectionError, APIStatusError
from pagefault_client.events import SILENCE_SECONDS, Event, event_of, position_of
from pagefault_client.retries import LONGEST_PAUSE_SECONDS, RETRY_STATUSES
from pagefault_client.sse import Decoder

logger = logging.getLogger("pagefault_client")


class AsyncEvents:
    """A stream of events, which resumes after its last event when the connection is lost.

    Attributes:
        position: The position of the last event; None before the first one.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        call: Callable[[int | None], Call[str]],
        after: int | None,
    ) -> None:
        self._transport = transport
        self._call = call
        self.position = after

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Yield events without end.

        After the first connection, the stream reconnects when the connection is lost or the service
        restarts or is overloaded. Other errors are raised.

        Raises:
            APIStatusError: The service refused the stream, for example because the key was revoked.
            APIConnectionError: The first connection failed.
        """
        failures = 0
        has_begun = False
        while True:
            try:
                response = await self._open()
                has_begun = True
                try:
                    async for event in self._read(response):
                        failures = 0
                        yield event
                finally:
                    await response.aclose()
            except (APIConnectionError, APIStatusError) as error:
                is_refused = (
                    isinstance(error, APIStatusError) and error.status_code not in RETRY_STATUSES
                )
                if is_refused or not has_begun:
                    raise
                reason = str(error)
            except (httpx.RequestError, json.JSONDecodeError) as error:
                # The connection was lost, perhaps within an event.
                reason = repr(error)
            else:
                reason = "the stream ended"
            pause = min(LONGEST_PAUSE_SECONDS, 0.1 * 2 ** min(failures, 8))
            failures += 1
            path, position = self._call(self.position).path, self.position
            logger.info("Reopening %s after %s in %.1f seconds: %s", path, position, pause, reason)
            await aio.sleep(pause)

    async def _open(self) -> httpx.Response:
        base = self._transport.options.timeout
        timeouts = httpx.Timeout(
            connect=base.connect, write=base.write, pool=base.pool, read=SILENCE_SECONDS
        )
        return await self._transport.open(self._call(self.position), timeouts=timeouts)

    async def _read(self, response: httpx.Response) -> AsyncIterator[Event]:
        decoder = Decoder()
        async for piece in response.aiter_bytes():
            for block in decoder.feed(piece):
                self.position = position_of(block, self.position)
                if block.data:
                    yield event_of(block, self.position or 0)
