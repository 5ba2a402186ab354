"""What can go wrong, in the words of the domain; nothing here knows HTTP.

What reading raises as well is in `pagefault_dialects.errors`: `InvalidJsonError`,
`InvalidPayloadError` and `PayloadTooLargeError`.

    PagefaultError
     ├─ MalformedRequestError      the request cannot be read at all
     │   ├─ InvalidCursorError     a list position we did not hand out
     │   └─ DigestMismatchError    the bytes are not the ones the caller announced
     ├─ UnauthorizedError          no key, or a key that is unknown or revoked
     ├─ ForbiddenLinkError         a signed link that is expired or was altered
     ├─ ForbiddenOriginError       a page of an origin that may neither write nor listen
     ├─ MisdirectedRequestError    a host name the service does not answer to
     ├─ NotFoundError              absent, or somebody else's: the two are never told apart
     ├─ GoneError                  it was here, and its time is over
     ├─ ConflictError              it exists already and is different, or is still in use
     ├─ PreconditionFailedError    the caller's If-Match or If-None-Match does not hold
     │   └─ TusVersionError        a resumable upload in a version of the protocol not spoken here
     ├─ SlowBodyError              the body came slower than the service waits for
     ├─ HeadersTooLargeError       the headers alone are larger than a limit
     ├─ UnsupportedMediaError      a body of a type the route does not take
     ├─ RangeNotSatisfiableError   no asked range lies inside the content
     ├─ InvalidPayloadError        readable, but not what is taken; of the library
     │   ├─ MissingAttachmentError an attached file that is no resource of the project
     │   └─ InvalidBundleError     a bundle that is damaged, or none of ours
     ├─ ChecksumMismatchError      a piece of an upload is not what its checksum says
     ├─ FetchBlockedError          a URL the service does not fetch
     ├─ UpstreamError              a URL's server gave something that is not a file
     │   └─ UpstreamTimeoutError   a URL's server took too long
     ├─ QuotaExceededError         a key has used up what it may in a minute or a day
     ├─ StreamLimitError           a key has as many streams of events as it may
     ├─ OverloadedError            more requests at once than the service works on
     │   ├─ MemoryExhaustedError   more memory than is free now
     │   └─ FetchesBusyError       more fetches at once than a project may have
     └─ StoreUnavailableError      a store did not answer, or did not confirm a commit
         ├─ StoreMisconfiguredError  a store refuses the service until the operator acts
         ├─ StoreFullError         there is no room left; nothing was kept
         │   └─ StoredBytesQuotaError  the project keeps as many bytes as it may
         └─ BlobSweptError         the bytes were removed before their record was written

Each class carries a stable `code` and a sentence for the caller; `http/problems.py` gives it a
status. Details never repeat the caller's input: an echoed lone surrogate turns a 422 into a 500.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pagefault_dialects.errors import InvalidPayloadError, PagefaultError


class MalformedRequestError(PagefaultError, code="malformed-request"):
    """The request cannot be read."""


class InvalidCursorError(MalformedRequestError, code="invalid-cursor"):
    """The cursor was not handed out by this list."""

    sentence = (
        "The cursor is not one this list handed out. Take it from `nextCursor`, unchanged, "
        "or leave it out to start from the beginning."
    )


class DigestMismatchError(MalformedRequestError, code="digest-mismatch"):
    """The body's digest is not the announced one; nothing was stored."""

    sentence = (
        "The body does not have the announced sha-256 digest, so it was damaged on the way "
        "or announced wrongly. Nothing was stored: send it again."
    )


class UnauthorizedError(PagefaultError, code="unauthorized"):
    """No key, or one that is unknown, malformed or revoked."""

    sentence = (
        "This service wants an API key: send `Authorization: Bearer pf_…`. "
        "`pagefault keys create --project NAME` makes one."
    )


class ForbiddenLinkError(PagefaultError, code="invalid-link"):
    """A signed link that is expired, altered, or for another file."""

    sentence = "This link has expired or was altered. Ask for a new signed URL."


class ForbiddenOriginError(PagefaultError, code="forbidden-origin"):
    """A web page of another origin sent a write or a WebSocket handshake.

    Allow its origin with `PAGEFAULT_CORS_ORIGINS`. If the viewer gets this behind a proxy, set
    `PAGEFAULT_PUBLIC_URL` to the address in the browser and let the proxy pass `Host` on.
    """

    sentence = (
        "A web page of another origin sent a write or a WebSocket handshake. Allow its origin "
        "with PAGEFAULT_CORS_ORIGINS. If it is the viewer, behind a proxy, set "
        "PAGEFAULT_PUBLIC_URL to the address in the browser."
    )


class MisdirectedRequestError(PagefaultError, code="misdirected-request"):
    """The `Host` of the request is not a name that the service answers to.

    Add the name to `PAGEFAULT_ALLOWED_HOSTS`; without a port it matches any port. In the log, the
    line `request` of the refusal has `"status": 421`. See `docs/deployment.md` (One machine).
    """

    sentence = (
        "The service does not answer to this `Host`. Ask it by localhost, 127.0.0.1 or [::1], "
        "or by the host of PAGEFAULT_PUBLIC_URL or PAGEFAULT_CONTENT_URL. The operator can add "
        "names with PAGEFAULT_ALLOWED_HOSTS."
    )


class NotFoundError(PagefaultError, code="not-found"):
    """There is no such thing in the caller's project."""

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


class GoneError(PagefaultError, code="gone"):
    """It was here, and its time is over. Start anew."""


class ConflictError(PagefaultError, code="conflict"):
    """The request contradicts what is stored."""


class PreconditionFailedError(PagefaultError, code="precondition-failed"):
    """If-Match, If-Unmodified-Since or If-None-Match does not hold."""

    sentence = "The stored version is not the one the request's condition names."


class TusVersionError(PreconditionFailedError, code="tus-version"):
    """The request speaks another version of the protocol for resumable uploads than 1.0.0."""

    sentence = "Uploads in pieces speak tus 1.0.0: send `Tus-Resumable: 1.0.0` with the request."


class SlowBodyError(PagefaultError, code="slow-body"):
    """The body came slower than the service waits for."""

    sentence = "The body arrived too slowly and was given up."


class HeadersTooLargeError(PagefaultError, code="headers-too-large"):
    """The headers of the request are larger than the service takes."""


class UnsupportedMediaError(PagefaultError, code="unsupported-media-type"):
    """The route does not take bodies of this type."""


class RangeNotSatisfiableError(PagefaultError, code="range-not-satisfiable"):
    """No asked range lies inside the content.

    Args:
        size_bytes: The content's size, for `Content-Range: bytes */N`.
    """

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"No asked range lies inside the content of {size_bytes} bytes.")
        self.size_bytes = size_bytes


class MissingAttachmentError(InvalidPayloadError, code="missing-attachment"):
    """Attached files that are no resources of this project. All of them are named."""

    tells_every_fault = True


class InvalidBundleError(InvalidPayloadError, code="invalid-bundle"):
    """The bundle is damaged, or was not made by this service. Nothing of it was stored."""


class ChecksumMismatchError(PagefaultError, code="checksum-mismatch"):
    """The bytes of a piece of an upload do not have the checksum sent with them; none was kept."""

    sentence = (
        "The bytes do not have the checksum in `Upload-Checksum`, so they were damaged on the "
        "way. None of them was kept: send them again from the same offset."
    )


class FetchBlockedError(PagefaultError, code="fetch-blocked"):
    """The service does not fetch this URL: its scheme, its address, its port or its size."""


class UpstreamError(PagefaultError, code="upstream-error"):
    """The server a URL leads to did not answer with a whole file. Nothing was kept."""


class UpstreamTimeoutError(UpstreamError, code="upstream-timeout"):
    """The server a URL leads to took too long. Nothing was kept; try again later."""

    sentence = "The server the URL leads to took too long. Nothing was kept."


class QuotaExceededError(PagefaultError, code="quota-exceeded"):
    """The key has used up a quota, which `violated-policies` names; `Retry-After` says how long."""

    def __init__(self, quota: str, *, retry_after_seconds: int) -> None:
        super().__init__(
            f"This key has used up its quota of {quota}; there is more of it in "
            f"{retry_after_seconds} seconds.",
            members={"violated-policies": [quota]},
        )
        self.retry_after_seconds = retry_after_seconds


class StreamLimitError(PagefaultError, code="too-many-streams"):
    """The key listens with as many streams as it may. End one, or come again when one has ended."""

    def __init__(self, streams: int) -> None:
        super().__init__(
            f"This key listens with {streams} streams of events, which is as many as it may. End "
            "one of them, or listen to several sessions with one stream at `/api/events`."
        )


class OverloadedError(PagefaultError, code="overloaded"):
    """The service works on as many requests as it can. Send it again in a moment."""

    sentence = (
        "The service is working on as many requests as it can. Nothing was done: send the "
        "same request again in a moment."
    )


class MemoryExhaustedError(OverloadedError, code="memory-exhausted"):
    """The memory that the request, or its answer, needs is in use. Send it again in a moment.

    Nothing was stored: the answer to a write is sent whether or not there is room for it.
    `PAGEFAULT_LIMITS__MEMORY_BYTES` says how much there is, and `docs/operations.md` (Memory) how
    much it should be.
    """

    sentence = (
        "The memory that this request or its answer needs is not free now. Nothing was stored: "
        "send the same request again in a moment."
    )


class FetchesBusyError(OverloadedError, code="fetches-busy"):
    """No slot to fetch a URL, or to look its host up, was free in time. Nothing was kept."""

    sentence = (
        "As many URLs are being fetched, or host names looked up, as may be at once. Nothing "
        "was kept: ask again in a few seconds."
    )


class StoreCause(NamedTuple):
    """Why a store fails: a `name` for logs and callers, a `sentence` for the operator alone."""

    name: str
    sentence: str


class StoreUnavailableError(PagefaultError, code="store-unavailable"):
    """A store did not answer. After a write, it is unknown whether it happened: send it again.

    With the same `Idempotency-Key`, tool call or id it is not stored twice. Where the detail says
    that nothing was stored, nothing was.

    Args:
        store: Which one; the `sentence` of a class may name it.
        detail: What to tell the caller if something was stored, or may have been.
        cause: Why, as far as it is known.
    """

    sentence = "The {store} did not answer, so nothing was stored. Send the same request again."

    def __init__(
        self, store: str = "store", *, detail: str | None = None, cause: StoreCause | None = None
    ) -> None:
        members = {"cause": cause.name} if cause else None
        super().__init__(detail or self.sentence.format(store=store), members=members)
        self.cause = cause


class StoreMisconfiguredError(StoreUnavailableError, code="store-misconfigured"):
    """A store refuses the service, as for a wrong password, key or bucket, until the operator acts.

    Nothing was kept. `cause` says why, as do the lines `database failed` and `blob store failed` of
    the log, and `docs/deployment.md` (The database, The bucket) what to do.
    """

    sentence = (
        "The {store} refuses this service, so nothing was stored, until the operator mends the "
        "setup; `cause` and the log say what is wrong. Send the same request again then."
    )


class StoreFullError(StoreUnavailableError, code="store-full"):
    """A store has no room left. Reads go on."""

    sentence = "There is no room left to store this. Nothing was stored; reading still works."


class StoredBytesQuotaError(StoreFullError, code="stored-bytes-quota"):
    """The project keeps as many bytes as it may. Reads go on; what is swept makes room.

    Args:
        quota_bytes: How many it may keep.
        stored_bytes: How many it keeps.
        reserved_bytes: How many more are on their way.
        needed_bytes: How many more were asked for, at the least.
    """

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
    """The bytes lay without a record for so long that they were removed just before it was written.

    Nothing was kept; the same request, sent again, stores them anew.
    """

    sentence = (
        "The bytes of this request were removed by the sweep before their record was written, "
        "so nothing was stored. Send the same request again."
    )
