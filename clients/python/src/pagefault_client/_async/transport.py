"""The transport of calls, with retries."""

import httpx

from pagefault_client import aio
from pagefault_client.calls import Call, T_co, nothing_of
from pagefault_client.errors import (
    ConnectionFailedError,
    NotFoundError,
    PagefaultError,
    connection_error,
    problem_of,
)
from pagefault_client.options import Options
from pagefault_client.retries import Attempts


class AsyncTransport:
    """A connection pool with the options of its requests."""

    def __init__(self, http: httpx.AsyncClient, options: Options) -> None:
        self.http = http
        self.options = options

    async def send(self, call: Call[T_co]) -> T_co:
        """Send a call, and return its decoded answer.

        Raises:
            ProblemError: The service refused the request.
            ConnectionFailedError: The service did not answer.
        """
        return call.decode(await self.answer(call))

    async def answer(self, call: Call[T_co]) -> httpx.Response:
        """Send a call, and return the response with its body; see `send`."""
        prepared = call.prepare()
        attempts = Attempts(prepared, self.options.retries)
        while True:
            try:
                return await self.send_once(prepared, stream=False)
            except NotFoundError:
                is_deletion = call.decode is nothing_of or call.may_be_gone
                if attempts.may_have_happened and is_deletion:
                    # An earlier attempt has deleted it, and its answer was lost.
                    return httpx.Response(200, content=b"null")
                raise
            except PagefaultError as error:
                pause = attempts.pause_after(error)
                if pause is None:
                    raise
            await aio.sleep(pause)

    async def open(
        self, call: Call[T_co], *, timeouts: httpx.Timeout | None = None
    ) -> httpx.Response:
        """Send a call, and return the response before its body. The caller closes it."""
        prepared = call.prepare()
        attempts = Attempts(prepared, self.options.retries)
        while True:
            try:
                return await self.send_once(prepared, stream=True, timeouts=timeouts)
            except PagefaultError as error:
                pause = attempts.pause_after(error)
                if pause is None:
                    raise
            await aio.sleep(pause)

    async def send_once(
        self, call: Call[T_co], *, stream: bool, timeouts: httpx.Timeout | None = None
    ) -> httpx.Response:
        """Send a call without retries, and return the response.

        Raises:
            ProblemError: The service refused the request.
            ConnectionFailedError: The service did not answer.
        """
        headers = self.options.headers()
        headers.update({name: value for name, value in call.headers.items() if value is not None})
        if call.content_type:
            headers["Content-Type"] = call.content_type
        request = self.http.build_request(
            call.method,
            f"{self.options.base_url}{call.path}",
            params=call.parameters(),
            headers=headers,
            content=aio.body(call.content),
            timeout=timeouts or self.options.timeout,
        )
        try:
            response = await self.http.send(request, stream=stream, follow_redirects=True)
            if response.status_code >= 400 and stream:
                await response.aread()
        except httpx.RequestError as error:
            raise connection_error(error, f"{call.method} {request.url.path}") from error
        if response.status_code >= 400:
            raise problem_of(response)
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self.http.aclose()


def stream_error(error: httpx.RequestError, call: Call[T_co]) -> ConnectionFailedError:
    """Return the error of a connection that was lost within a body."""
    return connection_error(error, f"{call.method} {call.path}")
