"""The errors of the service, each with the status and title of its response.

`InvalidJsonError`, `InvalidPayloadError` and `PayloadTooLargeError` are in
`pagefault_dialects.errors`, because the library raises them.

Each class has a stable `code`, and a docstring that is its section in `docs/errors.md`. `sentence`
is the default for the `detail` of its responses. A detail never repeats input: a response with a
lone surrogate cannot be encoded, and would be a 500 instead of a 422.
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from pagefault_dialects.errors import InvalidPayloadError, PagefaultError


class ServiceError(PagefaultError):
    """Base of the errors of the service: each has the status, title and headers of its response."""

    status: ClassVar[int]
    title: ClassVar[str]
    headers: ClassVar[Mapping[str, str]] = {}


class MalformedRequestError(ServiceError, code="malformed-request"):
    """The request cannot be read."""

    status = 400
    title = "The request cannot be read"


class InvalidCursorError(MalformedRequestError, code="invalid-cursor"):
    """The cursor is not from this list."""

    title = "The cursor is not valid"
    sentence = (
        "The cursor is not one this list handed out. Take it from `nextCursor`, unchanged, "
        "or leave it out to start from the beginning."
    )


class DigestMismatchError(MalformedRequestError, code="digest-mismatch"):
    """The body does not match the announced digest. Nothing was stored."""

    title = "The digest does not match"
    sentence = (
        "The body does not have the announced sha-256 digest, so it was damaged on the way "
        "or announced wrongly. Nothing was stored: send it again."
    )


class UnauthorizedError(ServiceError, code="unauthorized"):
    """The request has no API key, or the key is unknown, malformed or revoked."""

    status = 401
    title = "An API key is needed"
    headers: ClassVar = {"WWW-Authenticate": "Bearer"}
    sentence = (
        "This service wants an API key: send `Authorization: Bearer pf_…`. "
        "`pagefault keys create --project NAME` makes one."
    )


class ForbiddenLinkError(ServiceError, code="invalid-link"):
    """The signed link has expired, was altered, or is for another file."""

    status = 403
    title = "The link is not valid"
    sentence = "This link has expired or was altered. Ask for a new signed URL."


class ForbiddenOriginError(ServiceError, code="forbidden-origin"):
    """A web page of another origin sent a write or a WebSocket handshake.

    Allow its origin with `PAGEFAULT_CORS_ORIGINS`. If the viewer gets this behind a proxy, set
    `PAGEFAULT_PUBLIC_URL` to the address in the browser and let the proxy pass `Host` on.
    """

    status = 403
    title = "The origin may not write or listen"
    headers: ClassVar = {"Vary": "Origin"}
    sentence = (
        "A web page of another origin sent a write or a WebSocket handshake. Allow its origin "
        "with PAGEFAULT_CORS_ORIGINS. If it is the viewer, behind a proxy, set "
        "PAGEFAULT_PUBLIC_URL to the address in the browser."
    )


class MisdirectedRequestError(ServiceError, code="misdirected-request"):
    """The `Host` of the request is not a name that the service answers to.

    Add the name to `PAGEFAULT_ALLOWED_HOSTS`; without a port it matches any port. In the log, the
    line `request` of the refusal has `"status": 421`. See `docs/deployment.md` (One machine).
    """

    status = 421
    title = "The host name is not one of the service"
    sentence = (
        "The service does not answer to this `Host`. Ask it by localhost, 127.0.0.1 or [::1], "
        "or by the host of PAGEFAULT_PUBLIC_URL or PAGEFAULT_CONTENT_URL. The operator can add "
        "names with PAGEFAULT_ALLOWED_HOSTS."
    )


class NotFoundError(ServiceError, code="not-found"):
    """The project of the caller has no such record."""

    status = 404
    title = "Not found"

    def __init__(
        self,
        noun: str,
        *,
        detail: str | None = None,
        code: str | None = None,
        members: Mapping[str, object] | None = None,
    ) -> None:
        detail = detail or f"There is no such {noun} in this project."
        super().__init__(detail, code=code, members=members)


class GoneError(ServiceError, code="gone"):
    """The upload has expired. Begin a new one."""

    status = 410
    title = "It is no longer kept"


class ConflictError(ServiceError, code="conflict"):
    """The request contradicts the stored records. The narrower code says how."""

    status = 409
    title = "The request contradicts what is stored"


class PreconditionFailedError(ServiceError, code="precondition-failed"):
    """If-Match, If-Unmodified-Since or If-None-Match does not hold."""

    status = 412
    title = "A condition of the request does not hold"
    sentence = "The stored version is not the one the request's condition names."


class TusVersionError(PreconditionFailedError, code="tus-version"):
    """The request does not have version 1.0.0 of the protocol for resumable uploads (tus)."""

    title = "The upload speaks another protocol"
    sentence = "Uploads in pieces speak tus 1.0.0: send `Tus-Resumable: 1.0.0` with the request."


class SlowBodyError(ServiceError, code="slow-body"):
    """The body arrived too slowly."""

    status = 408
    title = "The body came too slowly"
    sentence = "The body arrived too slowly and was given up."


class HeadersTooLargeError(ServiceError, code="headers-too-large"):
    """The headers of the request are larger than the limit."""

    status = 431
    title = "The headers are too large"


class UnsupportedMediaError(ServiceError, code="unsupported-media-type"):
    """The route does not accept bodies of this type."""

    status = 415
    title = "The route does not take this type"


class RangeNotSatisfiableError(ServiceError, code="range-not-satisfiable"):
    """No requested range lies inside the content.

    Args:
        size_bytes: The content's size, for `Content-Range: bytes */N`.
    """

    status = 416
    title = "The range lies outside the content"

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"No asked range lies inside the content of {size_bytes} bytes.")
        self.size_bytes = size_bytes


class MissingAttachmentError(ServiceError, InvalidPayloadError, code="missing-attachment"):
    """Attached files are not resources of this project. `errors` lists all of them."""

    status = 422
    title = "An attached file is missing"
    tells_every_fault = True


class InvalidBundleError(ServiceError, InvalidPayloadError, code="invalid-bundle"):
    """The bundle is damaged, or was not made by this service. Nothing was stored."""

    status = 422
    title = "The bundle is damaged"


class ChecksumMismatchError(ServiceError, code="checksum-mismatch"):
    """The bytes of a piece do not have the checksum that was sent. The piece was not stored."""

    status = 460
    title = "The checksum does not match"
    sentence = (
        "The bytes do not have the checksum in `Upload-Checksum`, so they were damaged on the "
        "way. None of them was kept: send them again from the same offset."
    )


class FetchBlockedError(ServiceError, code="fetch-blocked"):
    """The service does not fetch this URL, because of its scheme, address, port or size."""

    status = 422
    title = "The URL is not fetched"


class UpstreamError(ServiceError, code="upstream-error"):
    """The server of a URL did not answer with a whole file. Nothing was stored."""

    status = 502
    title = "The URL's server did not answer with a file"


class UpstreamTimeoutError(UpstreamError, code="upstream-timeout"):
    """The server of a URL took too long. Nothing was stored. Try again later."""

    status = 504
    title = "The URL's server took too long"
    sentence = "The server the URL leads to took too long. Nothing was kept."


class QuotaExceededError(ServiceError, code="quota-exceeded"):
    """The key has used up the quota in `violated-policies`. Retry after `Retry-After` seconds."""

    status = 429
    title = "A quota is used up"

    def __init__(self, quota: str, *, retry_after_seconds: int) -> None:
        super().__init__(
            f"This key has used up its quota of {quota}; there is more of it in "
            f"{retry_after_seconds} seconds.",
            members={"violated-policies": [quota]},
        )
        self.retry_after_seconds = retry_after_seconds


class StreamLimitError(ServiceError, code="too-many-streams"):
    """The key has the maximal number of open streams. Close one, or retry when one has ended."""

    status = 429
    title = "Too many streams of events"
    headers: ClassVar = {"Retry-After": "2"}

    def __init__(self, streams: int) -> None:
        super().__init__(
            f"This key listens with {streams} streams of events, which is as many as it may. End "
            "one of them, or listen to several sessions with one stream at `/api/events`."
        )


class OverloadedError(ServiceError, code="overloaded"):
    """The service is processing the maximal number of requests. Send the request again later."""

    status = 503
    title = "Too many requests at once"
    headers: ClassVar = {"Retry-After": "1"}
    sentence = (
        "The service is working on as many requests as it can. Nothing was done: send the "
        "same request again in a moment."
    )


class MemoryExhaustedError(OverloadedError, code="memory-exhausted"):
    """The memory that the request or its response needs is in use. Send the request again later.

    Nothing was stored, because responses to writes are sent even without free memory.
    `PAGEFAULT_LIMITS__MEMORY_BYTES` is the limit; `docs/operations.md` (Memory) explains how to
    choose it.
    """

    title = "The memory is in use"
    sentence = (
        "The memory that this request or its answer needs is not free now. Nothing was stored: "
        "send the same request again in a moment."
    )


class FetchesBusyError(OverloadedError, code="fetches-busy"):
    """No slot for fetching a URL or resolving its host was free in time. Nothing was stored."""

    title = "Too many fetches at once"
    headers: ClassVar = {"Retry-After": "5"}
    sentence = (
        "As many URLs are being fetched, or host names looked up, as may be at once. Nothing "
        "was kept: ask again in a few seconds."
    )


class StoreCause(NamedTuple):
    """The cause of a store's failure: a `name` for programs, and a `sentence` for the operator."""

    name: str
    sentence: str


class StoreUnavailableError(ServiceError, code="store-unavailable"):
    """A store did not answer. The outcome of a write may be unknown: send the request again.

    With the same `Idempotency-Key`, tool call or id, a write is not stored twice. If nothing was
    stored, the detail says so.

    Args:
        store: The name of the store, for the `{store}` in the `sentence` of the class.
        detail: The message, if something was stored or may have been; by default the `sentence`.
        cause: The cause, if it is known.
    """

    status = 503
    title = "A store did not answer"
    headers: ClassVar = {"Retry-After": "1"}
    sentence = "The {store} did not answer, so nothing was stored. Send the same request again."

    def __init__(
        self, store: str = "store", *, detail: str | None = None, cause: StoreCause | None = None
    ) -> None:
        members = {"cause": cause.name} if cause else None
        super().__init__(detail or self.sentence.format(store=store), members=members)
        self.cause = cause


class StoreMisconfiguredError(StoreUnavailableError, code="store-misconfigured"):
    """A store refuses the service, as with a wrong password, key or bucket. The operator must act.

    Nothing was stored. The reason is in `cause`, and in the lines `database failed` and `blob store
    failed` of the log. `docs/deployment.md` (The database, The bucket) has the remedies.
    """

    title = "A store refuses the service"
    headers: ClassVar = {"Retry-After": "60"}
    sentence = (
        "The {store} refuses this service, so nothing was stored, until the operator mends the "
        "setup; `cause` and the log say what is wrong. Send the same request again then."
    )


class StoreFullError(StoreUnavailableError, code="store-full"):
    """A store is full. Reads still work."""

    status = 507
    title = "There is no room left"
    headers: ClassVar = {}
    sentence = "There is no room left to store this. Nothing was stored; reading still works."


class StoredBytesQuotaError(StoreFullError, code="stored-bytes-quota"):
    """The project has reached its limit of stored bytes. Reads still work; the sweep frees space.

    Args:
        quota_bytes: The limit.
        stored_bytes: The bytes that are stored.
        reserved_bytes: The bytes of writes in progress.
        needed_bytes: The bytes that the request needs, or fewer if its size is unknown.
    """

    title = "The project keeps as much as it may"

    def __init__(
        self, *, quota_bytes: int, stored_bytes: int, reserved_bytes: int, needed_bytes: int
    ) -> None:
        super().__init__(
            detail=f"This project may keep {quota_bytes} bytes. It keeps {stored_bytes}, "
            f"{reserved_bytes} more are on their way, and there is no room for another "
            f"{needed_bytes}. Nothing was stored; reading still works. Delete sessions, pages or "
            "resources that are no longer needed: their bytes make room when the sweep removes "
            "them. Or ask the operator for a larger quota."
        )


class BlobSweptError(StoreUnavailableError, code="blob-swept"):
    """The request took so long that the sweep removed its bytes before their record was written.

    Nothing was stored. Send the same request again.
    """

    title = "The bytes were swept away"
    sentence = (
        "The bytes of this request were removed by the sweep before their record was written, "
        "so nothing was stored. Send the same request again."
    )
