"""The table of problems: each error class of the domain with its status, code and title.

It feeds the answers, the OpenAPI document and the page of errors. A class without a row of its own
answers as its nearest parent.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app import errors
from app.wire.problem import PROBLEM_MEDIA_TYPE, PROBLEM_REFERENCE
from pagefault_dialects.errors import (
    InvalidJsonError,
    InvalidPayloadError,
    PagefaultError,
    PayloadTooLargeError,
)

PROBLEMS_PATH = "/docs/errors"

PROBLEM_SUBCODES: Mapping[str, Mapping[str, str]] = {
    "malformed-request": {
        "malformed-digest": "A `Content-Digest` or `Repr-Digest` header that is none.",
    },
    "not-found": {
        "level-missing": "The page has no such level: nobody supplied it, and nothing gives it.",
        "no-content": "The page holds nothing at this level, so there is no file to download.",
        "no-such-value": "The JSON has nothing where the pointer leads.",
    },
    "conflict": {
        "request-in-flight": "The same request is being worked on; send it again in a moment.",
        "request-superseded": "Another request with the same key took over; send it again.",
        "interaction-answered": "The interaction has another answer already, which is set once.",
        "tool-call-answered": "The tool call has another result already; no other is open.",
        "history-diverged": "The session has something else from a `seq` on; fork it, or read it.",
        "session-moved-on": "Others have written to the session meanwhile; read that first.",
        "frontier-contended": "Others move the frontier all the time; send it again.",
        "page-exists": "A page with this id is there already; PUT replaces it.",
        "session-exists": "A session of the bundle is there already; delete it first.",
        "tool-result-exists": "The same for a tool result of the bundle.",
        "message-exists": "The same for a message of the bundle.",
        "interaction-exists": "The same for an interaction of the bundle.",
        "alias-exists": "An alias of the bundle names another resource here.",
        "alias-taken": "The alias names another resource; `If-Match` moves it, DELETE frees it.",
        "too-many-aliases": "The resource has 1,000 aliases already; delete one first.",
        "page-changed": "The page was changed meanwhile; ask again.",
        "page-contended": "Others change the page all the time; send it again.",
        "resource-in-use": "Something refers to the resource; delete that first.",
        "upload-offset": "The upload goes on at another offset, which HEAD tells.",
        "upload-superseded": "Somebody asked where to go on with the upload; do so as well.",
    },
    "payload-too-large": {
        "json-too-deep": "JSON that is nested deeper than `PAGEFAULT_LIMITS__JSON_DEPTH`.",
        "json-too-large": "JSON with more values than are taken, or too long to be taken apart.",
        "text-too-large": "A body with more text than `PAGEFAULT_LIMITS__TEXT_BYTES`.",
        "too-many-media": "More media than `PAGEFAULT_LIMITS__MEDIA_PER_RESULT` in one result.",
        "too-many-parts": "More parts than `PAGEFAULT_LIMITS__PARTS_PER_RESULT` in one result.",
        "too-many-references": "More references than are replaced in one request.",
        "medium-too-large": "More bytes of media than are put into one answer.",
    },
    "unsupported-media-type": {
        "not-text": "The resource is no text; its bytes are at `/content`.",
    },
    "invalid-payload": {
        "budget-too-small": "What is never left out of a history has more tokens than `maxTokens`.",
        "invalid-alias": "An alias of other characters, or of the form of a resource's id or URI.",
        "idempotency-key-reused": "The key was used for another request; take a new one.",
        "invalid-base64": "What announces base64 is none.",
        "level-is-content": "FULL is the page's content; PUT the page to change it.",
        "level-too-long": "A supplied level does not fit the page any more; supply it anew first.",
        "unknown-parameter": "A name in the query that the route does not take, or one twice.",
        "not-json": "The text of the resource is no JSON; read it by lines.",
    },
    "fetch-blocked": {
        "fetch-too-large": "The file is larger than `PAGEFAULT_FETCH__MAX_BYTES`.",
    },
    "store-unavailable": {
        "blob-missing": "The record is there and its bytes are not; the operator restores them.",
    },
}
"""By the code of a kind, the codes that say more than it does, with a sentence on each.

They stand in `code` of an answer whose `type` leads to the kind. Where they come up is where the
errors are raised; a test sees to it that each of them is here.
"""


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A row of the table: what all problems of one kind have in common.

    `meaning` is what the documentation says of it; a kind without one is explained nowhere.
    """

    status: int
    code: str
    title: str
    meaning: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """Return the reference to the kind's explanation (RFC 9457 §3.1.1)."""
        return f"{PROBLEMS_PATH}#{self.code}" if self.meaning else "about:blank"

    @property
    def narrower(self) -> Mapping[str, str]:
        """Return the codes of the same type that say more, with a sentence on each."""
        return PROBLEM_SUBCODES.get(self.code, {})


def _row(
    status: int,
    error_class: type[PagefaultError],
    title: str,
    headers: Mapping[str, str] = MappingProxyType({}),
    *,
    retry_after: int | None = None,
) -> tuple[type[PagefaultError], ProblemType]:
    described = (inspect.getdoc(error_class) or "").partition("\n\nArgs:")[0]
    meaning = " ".join(described.split())
    if retry_after is not None:
        headers = {"Retry-After": str(retry_after)}
    return error_class, ProblemType(status, error_class.code, title, meaning, headers)


KINDS: dict[type[PagefaultError], ProblemType] = dict(
    [
        _row(400, errors.MalformedRequestError, "The request cannot be read"),
        _row(400, InvalidJsonError, "The body is not JSON"),
        _row(400, errors.InvalidCursorError, "The cursor is not valid"),
        _row(400, errors.DigestMismatchError, "The digest does not match"),
        _row(401, errors.UnauthorizedError, "An API key is needed", {"WWW-Authenticate": "Bearer"}),
        _row(403, errors.ForbiddenLinkError, "The link is not valid"),
        _row(
            403,
            errors.ForbiddenOriginError,
            "The origin may not write or listen",
            {"Vary": "Origin"},
        ),
        _row(404, errors.NotFoundError, "Not found"),
        _row(408, errors.SlowBodyError, "The body came too slowly"),
        _row(409, errors.ConflictError, "The request contradicts what is stored"),
        _row(410, errors.GoneError, "It is no longer kept"),
        _row(412, errors.PreconditionFailedError, "A condition of the request does not hold"),
        _row(412, errors.TusVersionError, "The upload speaks another protocol"),
        _row(413, PayloadTooLargeError, "Too large"),
        _row(415, errors.UnsupportedMediaError, "The route does not take this type"),
        _row(416, errors.RangeNotSatisfiableError, "The range lies outside the content"),
        _row(421, errors.MisdirectedRequestError, "The host name is not one of the service"),
        _row(422, InvalidPayloadError, "The request is not what the route takes"),
        _row(422, errors.MissingAttachmentError, "An attached file is missing"),
        _row(422, errors.InvalidBundleError, "The bundle is damaged"),
        _row(422, errors.FetchBlockedError, "The URL is not fetched"),
        _row(429, errors.QuotaExceededError, "A quota is used up"),
        _row(431, errors.HeadersTooLargeError, "The headers are too large"),
        _row(460, errors.ChecksumMismatchError, "The checksum does not match"),
        _row(502, errors.UpstreamError, "The URL's server did not answer with a file"),
        _row(429, errors.StreamLimitError, "Too many streams of events", retry_after=2),
        _row(503, errors.OverloadedError, "Too many requests at once", retry_after=1),
        _row(503, errors.MemoryExhaustedError, "The memory is in use", retry_after=1),
        _row(503, errors.FetchesBusyError, "Too many fetches at once", retry_after=5),
        _row(503, errors.StoreUnavailableError, "A store did not answer", retry_after=1),
        _row(503, errors.StoreMisconfiguredError, "A store refuses the service", retry_after=60),
        _row(503, errors.BlobSweptError, "The bytes were swept away", retry_after=1),
        _row(504, errors.UpstreamTimeoutError, "The URL's server took too long"),
        _row(507, errors.StoreFullError, "There is no room left"),
        _row(507, errors.StoredBytesQuotaError, "The project keeps as much as it may"),
    ]
)

INTERNAL = ProblemType(
    500,
    "internal-error",
    "Something went wrong inside the service",
    "A fault of the service, not of the request. The log has it under the request id.",
)

# What the framework itself answers, by status. Its own sentences are not used: some quote input.
FRAMEWORK_KINDS = {
    400: KINDS[errors.MalformedRequestError],
    404: ProblemType(
        404, "no-such-route", "There is nothing at this address", "No route has this path."
    ),
    405: ProblemType(
        405,
        "method-not-allowed",
        "The route does not take this method",
        "The path exists, but not for this method; `Allow` lists those it takes.",
    ),
    413: KINDS[PayloadTooLargeError],
    415: KINDS[errors.UnsupportedMediaError],
    422: KINDS[InvalidPayloadError],
    431: KINDS[errors.HeadersTooLargeError],
    500: INTERNAL,
}


def problem_type(error_class: type[PagefaultError]) -> ProblemType:
    """Return the row of a class or of its nearest parent; the internal error's if there is none."""
    for ancestor in error_class.__mro__:
        if ancestor in KINDS:
            return KINDS[ancestor]
    return INTERNAL


_PASSING = (429, 503)
_RETRY_AFTER = {
    "Retry-After": {
        "description": "In how many seconds to ask again.",
        "schema": {"type": "integer"},
    }
}


def problem_responses(
    *error_classes: type[PagefaultError],
) -> dict[int | str, dict[str, Any]]:
    """Return what `responses=` of a route needs to say that it may answer with these errors.

    Classes that share a status share an entry, and its description names all of them. The schema
    is a reference; `problem_components` has what it refers to.
    """
    titles: dict[int, list[str]] = {}
    for error_class in error_classes:
        kind = problem_type(error_class)
        described = titles.setdefault(kind.status, [])
        if kind.title not in described:
            described.append(kind.title)
    return {
        status: {
            "description": "; or: ".join(titles[status]),
            **({"headers": _RETRY_AFTER} if status in _PASSING else {}),
            "content": {PROBLEM_MEDIA_TYPE: {"schema": dict(PROBLEM_REFERENCE)}},
        }
        for status in sorted(titles)
    }


def read_responses(*error_classes: type[PagefaultError]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a read of records besides 200: 304, 412, and these errors."""
    return {
        304: {"description": "The caller's copy is the stored one."},
        **problem_responses(errors.PreconditionFailedError, *error_classes),
    }
