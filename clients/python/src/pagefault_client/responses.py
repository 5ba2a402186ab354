"""Responses with their status and headers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic

import httpx

from pagefault_client.calls import T_co
from pagefault_client.errors import PagefaultError


@dataclass(frozen=True, slots=True)
class APIResponse(Generic[T_co]):
    """The response to an operation, with the names of the OpenAI and Anthropic SDKs.

    Attributes:
        http_response: The response of httpx, with its body.
        retries_taken: The number of requests before this one that failed.
    """

    http_response: httpx.Response
    retries_taken: int
    _decode: Callable[[httpx.Response], T_co] = field(repr=False)

    @property
    def status_code(self) -> int:
        """Return the HTTP status: 304 if the condition of a read says that nothing changed."""
        return self.http_response.status_code

    @property
    def headers(self) -> httpx.Headers:
        """Return the headers."""
        return self.http_response.headers

    @property
    def etag(self) -> str | None:
        """Return the ETag, for `if_match` and `if_none_match`."""
        etag: str | None = self.headers.get("ETag")
        return etag

    @property
    def request_id(self) -> str | None:
        """Return the id of the request in the log of the service."""
        request_id: str | None = self.headers.get("X-Request-ID")
        return request_id

    def parse(self) -> T_co:
        """Return the decoded body.

        Raises:
            PagefaultError: There is no body (304), or it is not of Pagefault.
        """
        if self.status_code == httpx.codes.NOT_MODIFIED:
            raise PagefaultError(
                "304 Not Modified has no body: the object has the ETag of the call"
            )
        return self._decode(self.http_response)
