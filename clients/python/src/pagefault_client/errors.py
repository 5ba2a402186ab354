"""What may go wrong, as classes.

    PagefaultError
    ├── ConnectionFailedError     no answer: refused, reset, no such host
    │   └── TimedOutError         no answer in time
    ├── DigestMismatchError       bytes that are not those that were stored
    └── ProblemError              the service refused: its problem document
        ├── InvalidRequestError   400, 413, 415, 416, 422 and other 4xx
        ├── UnauthorizedError     401
        ├── ForbiddenError        403
        ├── NotFoundError         404
        ├── ConflictError         409
        │   └── HistoryDiverged   the session has another conversation than was sent
        ├── GoneError             410
        ├── PreconditionFailedError  412
        ├── TooManyRequestsError  429
        └── ServerError           5xx
            └── StoreFullError    507

`ProblemError.code` tells more than a class; `docs/errors.md` of the service lists all codes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from pagefault_client.models import ProblemFault


class PagefaultError(Exception):
    """Any error of this package."""


class ConnectionFailedError(PagefaultError):
    """The service did not answer, or the answer broke off."""


class TimedOutError(ConnectionFailedError):
    """The service did not answer in time."""


class DigestMismatchError(PagefaultError):
    """The bytes that came or went are not those that the digest was made of."""


class ProblemError(PagefaultError):
    """The service refused a request, and said why.

    Attributes:
        problem: The problem document (RFC 9457), as it came.
        status: The HTTP status.
        code: What went wrong, as a stable word, such as `page-exists`.
        detail: What went wrong, and what to do instead, as a sentence.
        errors: For each wrong member of the request, a JSON pointer and a sentence.
        request_id: What the log of the service calls the request.
        retry_after: After how many seconds the service asks to come again.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], headers: httpx.Headers) -> None:
        self.problem = dict(problem)
        self.status = status
        self.code = str(problem.get("code") or f"http-{status}")
        self.detail = str(problem.get("detail") or problem.get("title") or "")
        self.errors: list[ProblemFault] = list(problem.get("errors") or ())
        self.request_id: str | None = problem.get("requestId") or headers.get("X-Request-ID")
        self.retry_after = _seconds(headers)
        super().__init__(self._told())

    def _told(self) -> str:
        said = f"{self.status} {self.code}: {self.detail}"
        said += "".join(f"\n  {each.get('pointer')}: {each.get('detail')}" for each in self.errors)
        return f"{said} (request {self.request_id})" if self.request_id else said

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the error again, for processes that send it to one another."""
        named = {"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}
        named |= {"X-Request-ID": self.request_id} if self.request_id else {}
        return type(self), (self.status, self.problem, httpx.Headers(named))


class InvalidRequestError(ProblemError):
    """The request is not one that the service takes."""


class UnauthorizedError(ProblemError):
    """The key is missing, unknown or revoked."""

    def _told(self) -> str:
        return f"{super()._told()} Pass `key`, or set PAGEFAULT_API_KEY."


class ForbiddenError(ProblemError):
    """The caller may not do this."""


class NotFoundError(ProblemError):
    """There is no such thing in the project.

    Attributes:
        tool_message: What to tell a model whose page fault failed, if that is what failed.
    """

    @property
    def tool_message(self) -> dict[str, Any] | None:
        """Return the message for the model, of a page fault."""
        names = ("role", "tool_call_id", "content")
        return {each: self.problem.get(each) for each in names} if "role" in self.problem else None


class ConflictError(ProblemError):
    """The request contradicts what is stored."""


class HistoryDiverged(ConflictError):  # noqa: N818 - a state to act on, as StopIteration is
    """The session has another conversation than was sent; nothing was appended.

    Attributes:
        seq: The number of the first stored entry that differs.
        pointer: Where what was sent differs from it, as a JSON pointer.
    """

    @property
    def seq(self) -> int:
        """Return the number of the first stored entry that differs."""
        return int(self.problem.get("seq") or 0)

    @property
    def pointer(self) -> str:
        """Return where what was sent differs."""
        return str(self.errors[0].get("pointer", "")) if self.errors else ""


class GoneError(ProblemError):
    """It was there, and is no longer kept."""


class PreconditionFailedError(ProblemError):
    """A condition (`if_match`, `if_none_match`) does not hold."""


class TooManyRequestsError(ProblemError):
    """A quota is used up; `retry_after` says for how long."""


class ServerError(ProblemError):
    """The service, or something behind it, failed."""


class StoreFullError(ServerError):
    """There is no room left."""


_BY_STATUS: dict[int, type[ProblemError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    412: PreconditionFailedError,
    429: TooManyRequestsError,
    507: StoreFullError,
}


def problem_of(response: httpx.Response) -> ProblemError:
    """Return the error that an answer with an error status is. Its body has been read."""
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        # A proxy between here and the service has answered.
        document = {"title": response.reason_phrase, "detail": response.text[:500]}
    status = response.status_code
    if document.get("code") == "history-diverged":
        return HistoryDiverged(status, document, response.headers)
    otherwise = ServerError if status >= 500 else InvalidRequestError
    return _BY_STATUS.get(status, otherwise)(status, document, response.headers)


def connection_error(error: httpx.RequestError, what: str) -> ConnectionFailedError:
    """Return what a failed connection is called here."""
    told = str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return TimedOutError(f"{what}: no answer in time ({told})")
    if isinstance(error, httpx.ConnectError):
        url = error.request.url
        # Without what a URL may have before its host: a password.
        origin = f"{url.scheme}://{url.netloc.decode()}"
        return ConnectionFailedError(
            f"{what}: no connection to {origin} ({told}). Start the service there, or name the URL "
            "of a running one: PAGEFAULT_URL"
        )
    return ConnectionFailedError(f"{what}: {told}")


def _seconds(headers: httpx.Headers) -> float | None:
    """Return how long `Retry-After` asks to wait; None if it is missing or says nothing."""
    asked = headers.get("Retry-After")
    if asked is None:
        return None
    try:
        return max(0.0, float(asked))
    except ValueError:
        until = _moment(asked)
    # A proxy's clock is not ours: what counts is how long after its own answer.
    since = _moment(headers.get("Date", "")) or datetime.now(UTC)
    return None if until is None else max(0.0, (until - since).total_seconds())


def _moment(date: str) -> datetime | None:
    """Return an HTTP date in any of its three forms (RFC 9110, 5.6.7), or None if it is none."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
