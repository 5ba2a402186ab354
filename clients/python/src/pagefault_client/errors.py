"""The exceptions of the client.

    PagefaultError
    ├── APIConnectionError                no answer: refused, reset, unknown host
    │   └── APITimeoutError               no answer in time
    ├── DigestMismatchError               the bytes do not match the digest
    └── APIStatusError                    the service answered with a problem document
        ├── BadRequestError               400, 413, 415, 416, 422 and other 4xx
        ├── AuthenticationError           401
        ├── PermissionDeniedError         403
        ├── NotFoundError                 404
        ├── ConflictError                 409
        │   └── HistoryDiverged           the session has other messages than the request
        ├── GoneError                     410
        ├── PreconditionFailedError       412
        ├── RateLimitError                429
        └── InternalServerError           5xx
            └── StoreFullError            507

`APIStatusError.code` is more specific than the class; `docs/errors.md` of the service lists all
codes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from pagefault_client.models import ProblemFault


class PagefaultError(Exception):
    """The base class of all exceptions of this package."""


class APIConnectionError(PagefaultError):
    """The service did not answer, or the connection was lost within the answer.

    Attributes:
        request_id: The id of the request, which the log of the service has if it arrived there.
    """

    request_id: str | None = None


class APITimeoutError(APIConnectionError):
    """The service did not answer in time."""


class DigestMismatchError(PagefaultError):
    """The received or stored bytes do not match the digest."""


class APIStatusError(PagefaultError):
    """The service answered a request with an error.

    Attributes:
        body: The problem document (RFC 9457).
        status_code: The HTTP status.
        code: The stable code of the error, such as `page-exists`.
        detail: The description of the error, and its remedy.
        errors: The JSON pointer and description of each invalid member of the request.
        request_id: The id of the request in the log of the service.
        retry_after: The number of seconds in `Retry-After`.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], headers: httpx.Headers) -> None:
        self.body = dict(problem)
        self.status_code = status
        self.code = str(problem.get("code") or f"http-{status}")
        self.detail = str(problem.get("detail") or problem.get("title") or "")
        self.errors: list[ProblemFault] = list(problem.get("errors") or ())
        self.request_id: str | None = problem.get("requestId") or headers.get("X-Request-ID")
        self.retry_after = _seconds(headers)
        super().__init__(self._describe())

    def _describe(self) -> str:
        text = f"{self.status_code} {self.code}: {self.detail}"
        text += "".join(
            f"\n  {error.get('pointer')}: {error.get('detail')}" for error in self.errors
        )
        return f"{text} (request {self.request_id})" if self.request_id else text

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, for example between processes."""
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}
        headers |= {"X-Request-ID": self.request_id} if self.request_id else {}
        return type(self), (self.status_code, self.body, httpx.Headers(headers))


class BadRequestError(APIStatusError):
    """The request is invalid."""


class AuthenticationError(APIStatusError):
    """The key is missing, unknown or revoked."""

    def _describe(self) -> str:
        return f"{super()._describe()} Pass `api_key`, or set PAGEFAULT_API_KEY."


class PermissionDeniedError(APIStatusError):
    """The key has no permission for the request."""


class NotFoundError(APIStatusError):
    """The object does not exist in the project.

    Attributes:
        tool_message: After a failed page fault, the tool message for the model.
    """

    @property
    def tool_message(self) -> dict[str, Any] | None:
        """Return the tool message for the model after a failed page fault, else None."""
        names = ("role", "tool_call_id", "content")
        return {name: self.body.get(name) for name in names} if "role" in self.body else None


class ConflictError(APIStatusError):
    """The request conflicts with the stored state."""


class HistoryDiverged(ConflictError):  # noqa: N818 - a state to handle, like StopIteration
    """The session has other messages than the request. No message was appended.

    Attributes:
        seq: The number of the first stored entry that differs.
        pointer: The JSON pointer of the difference in the request.
    """

    @property
    def seq(self) -> int:
        """Return the number of the first stored entry that differs."""
        return int(self.body.get("seq") or 0)

    @property
    def pointer(self) -> str:
        """Return the JSON pointer of the difference in the request."""
        return str(self.errors[0].get("pointer", "")) if self.errors else ""


class GoneError(APIStatusError):
    """The object existed and was deleted."""


class PreconditionFailedError(APIStatusError):
    """A condition (`if_match`, `if_none_match`) is false."""


class RateLimitError(APIStatusError):
    """A quota is exhausted until `retry_after` has passed."""


class InternalServerError(APIStatusError):
    """The service, or a store that it uses, failed."""


class StoreFullError(InternalServerError):
    """The store of the service is full."""


_BY_STATUS: dict[int, type[APIStatusError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    412: PreconditionFailedError,
    429: RateLimitError,
    507: StoreFullError,
}


def problem_of(response: httpx.Response) -> APIStatusError:
    """Return the exception for an answer with an error status, whose body was read."""
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        # The answer is from a proxy, not from the service.
        document = {"title": response.reason_phrase, "detail": response.text[:500]}
    status = response.status_code
    if document.get("code") == "history-diverged":
        return HistoryDiverged(status, document, response.headers)
    fallback = InternalServerError if status >= 500 else BadRequestError
    return _BY_STATUS.get(status, fallback)(status, document, response.headers)


def connection_error(error: httpx.RequestError, request: str) -> APIConnectionError:
    """Return the exception for a failed request of httpx."""
    failure = _connection_error(error, request)
    failure.request_id = error.request.headers.get("X-Request-ID")
    return failure


def _connection_error(error: httpx.RequestError, request: str) -> APIConnectionError:
    reason = str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return APITimeoutError(f"{request}: no answer in time ({reason})")
    if isinstance(error, httpx.ConnectError):
        url = error.request.url
        # `netloc` has no userinfo, which may be a password.
        origin = f"{url.scheme}://{url.netloc.decode()}"
        return APIConnectionError(
            f"{request}: no connection to {origin} ({reason}). Start the service, or set "
            "PAGEFAULT_URL to the URL of a running one"
        )
    return APIConnectionError(f"{request}: {reason}")


def _seconds(headers: httpx.Headers) -> float | None:
    """Return the number of seconds in `Retry-After`; None if it is missing or invalid."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        until = _parse_date(value)
    # The date is relative to the `Date` of the answer, because clocks differ.
    since = _parse_date(headers.get("Date", "")) or datetime.now(UTC)
    return None if until is None else max(0.0, (until - since).total_seconds())


def _parse_date(date: str) -> datetime | None:
    """Return an HTTP date in any of its three formats (RFC 9110, 5.6.7); None if it is invalid."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
