"""Sends calls, and sends them again when that is safe and may help."""

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
from pagefault_client.retrying import Attempts


class AsyncTransport:
    """One connection pool, and how to use it."""

    def __init__(self, http: httpx.AsyncClient, options: Options) -> None:
        self.http = http
        self.options = options

    async def send(self, call: Call[T_co]) -> T_co:
        """Return the answer to a call.

        Raises:
            ProblemError: The service refused.
            ConnectionFailedError: It did not answer.
        """
        return call.decode(await self.answer(call))

    async def answer(self, call: Call[T_co]) -> httpx.Response:
        """Return the whole answer to a call, read to its end; see `send`."""
        prepared = call.prepared()
        attempts = Attempts(prepared, self.options.retries)
        while True:
            try:
                return await self.once(prepared, stream=False)
            except NotFoundError:
                is_deletion = call.decode is nothing_of or call.may_be_gone
                if attempts.may_have_happened and is_deletion:
                    # An attempt before this one has deleted it, and its answer was lost.
                    return httpx.Response(200, content=b"null")
                raise
            except PagefaultError as error:
                pause = attempts.pause_after(error)
                if pause is None:
                    raise
            await aio.sleep(pause)

    async def open(
        self, call: Call[T_co], *, patience: httpx.Timeout | None = None
    ) -> httpx.Response:
        """Return the answer to a call before its body has come. The caller closes it."""
        prepared = call.prepared()
        attempts = Attempts(prepared, self.options.retries)
        while True:
            try:
                return await self.once(prepared, stream=True, patience=patience)
            except PagefaultError as error:
                pause = attempts.pause_after(error)
                if pause is None:
                    raise
            await aio.sleep(pause)

    async def once(
        self, call: Call[T_co], *, stream: bool, patience: httpx.Timeout | None = None
    ) -> httpx.Response:
        """Return the answer to one attempt.

        Raises:
            ProblemError: The service refused.
            ConnectionFailedError: It did not answer.
        """
        content, content_type = call.payload()
        headers = self.options.headers()
        headers.update({name: value for name, value in call.headers.items() if value is not None})
        if content_type:
            headers["Content-Type"] = content_type
        request = self.http.build_request(
            call.method,
            f"{self.options.base_url}{call.path}",
            params=call.parameters(),
            headers=headers,
            content=aio.body(content),
            timeout=patience or self.options.timeout,
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


def lost(error: httpx.RequestError, call: Call[T_co]) -> ConnectionFailedError:
    """Return the error of an answer that broke off while it was read."""
    return connection_error(error, f"{call.method} {call.path}")
