"""Events, for as long as they are iterated."""

# Written by generate.py from `_async/`; change that.

import json
from collections.abc import Callable, Iterator

import httpx

from pagefault_client import blocking
from pagefault_client._sync.transport import Transport
from pagefault_client.calls import Call
from pagefault_client.errors import ConnectionFailedError, ProblemError
from pagefault_client.events import SILENCE_SECONDS, Event, event_of, position_of
from pagefault_client.retrying import AGAIN, LONGEST_PAUSE_SECONDS
from pagefault_client.sse import Decoder


class Events:
    """A stream of events, which goes on where it was when its connection is lost.

    Attributes:
        position: The last position that came; None before the first one.
    """

    def __init__(
        self,
        transport: Transport,
        call: Callable[[int | None], Call[str]],
        after: int | None,
    ) -> None:
        self._transport = transport
        self._call = call
        self.position = after

    def __iter__(self) -> Iterator[Event]:
        """Yield events, and never end.

        Once the stream has begun, lost connections, restarts of the service and full services are
        waited for. Any other refusal ends the iteration.

        Raises:
            ProblemError: The stream is refused, for example because the key was revoked.
            ConnectionFailedError: The service cannot be reached at the beginning.
        """
        failures = 0
        has_begun = False
        while True:
            try:
                response = self._open()
                has_begun = True
                try:
                    for event in self._read(response):
                        failures = 0
                        yield event
                finally:
                    response.close()
            except (ConnectionFailedError, ProblemError) as error:
                is_refused = isinstance(error, ProblemError) and error.status not in AGAIN
                if is_refused or not has_begun:
                    raise
            except (httpx.RequestError, json.JSONDecodeError):
                # It broke off, perhaps within an event.
                pass
            blocking.sleep(min(LONGEST_PAUSE_SECONDS, 0.1 * 2 ** min(failures, 8)))
            failures += 1

    def _open(self) -> httpx.Response:
        usual = self._transport.options.timeout
        patient = httpx.Timeout(
            connect=usual.connect, write=usual.write, pool=usual.pool, read=SILENCE_SECONDS
        )
        return self._transport.open(self._call(self.position), patience=patient)

    def _read(self, response: httpx.Response) -> Iterator[Event]:
        decoder = Decoder()
        for piece in response.iter_bytes():
            for block in decoder.feed(piece):
                self.position = position_of(block, self.position)
                if block.data:
                    yield event_of(block, self.position or 0)
