"""The transport of calls, with retries."""

import logging
import uuid
from collections.abc import Mapping

import httpx

from pagefault_client import aio
from pagefault_client.calls import Call, T_co, nothing_of
from pagefault_client.errors import (
    APIConnectionError,
    NotFoundError,
    PagefaultError,
    connection_error,
    problem_of,
)
from pagefault_client.options import Options
from pagefault_client.responses import APIResponse
from pagefault_client.retries import Attempts

logger = logging.getLogger("pagefault_client")


class AsyncTransport:
    """A connection pool with the options of its requests."""

    def __init__(self, http: httpx.AsyncClient, options: Options) -> None:
        self.http = http
        self.options = options

    def with_options(
        self,
        *,
        timeout: float | httpx.Timeout | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> "AsyncTransport":
        """Return a transport with other options over the same connections."""
        options = self.options.replace(
            timeout=timeout, max_retries=max_retries, default_headers=default_headers
        )
        return AsyncTransport(self.http, options)

    async def send(self, call: Call[T_co]) -> T_co:
        """Send a call, and return its decoded answer.

        Raises:
            APIStatusError: The service refused the request.
            APIConnectionError: The service did not answer.
        """
        return (await self.request(call)).parse()

    async def request(self, call: Call[T_co]) -> APIResponse[T_co]:
        """Send a call, and return the response; see `send`."""
        prepared = call.prepare()
        attempts = Attempts(prepared, self.options.max_retries)
        while True:
            try:
                response = await self.send_once(prepared, stream=False)
                return APIResponse(response, attempts.made, call.decode)
            except NotFoundError:
                is_deletion = call.decode is nothing_of or call.may_be_gone
                if attempts.may_have_happened and is_deletion:
                    # An earlier attempt has deleted it, and its answer was lost.
                    response = httpx.Response(200, content=b"null")
                    return APIResponse(response, attempts.made, call.decode)
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
        attempts = Attempts(prepared, self.options.max_retries)
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
            APIStatusError: The service refused the request.
            APIConnectionError: The service did not answer.
        """
        headers = self.options.headers()
        headers.update({name: value for name, value in call.headers.items() if value is not None})
        headers.setdefault("X-Request-ID", uuid.uuid4().hex)
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
        request_id = response.headers.get("X-Request-ID")
        logger.debug("%s %s %d (%s)", call.method, call.path, response.status_code, request_id)
        if response.status_code >= 400:
            raise problem_of(response)
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self.http.aclose()


def stream_error(error: httpx.RequestError, call: Call[T_co]) -> APIConnectionError:
    """Return the error of a connection that was lost within a body."""
    return connection_error(error, f"{call.method} {call.path}")
