"""Names what went wrong at an S3-compatible store, from what obstore says of it.

obstore's exceptions are one text: the store's answer, and behind `Debug source:` what the
connection did. The answer of a store that refuses a signature repeats the access key id and the
text that was signed, so nothing of it leaves this module but the error's code, the status and a
region's name.

What a failure is to a caller:

    StoreFullError            507  there is no room left, or a quota of the store is used up
    StoreMisconfiguredError   503  it fails until the operator acts
    StoreUnavailableError     503  anything else, above all a store that is not there or hangs

Sources: AWS, "Amazon S3 API Reference", Error responses; Ceph, `rgw_common.cc` (`QuotaExceeded` and
`UserSuspended` are a 403); MinIO, `api-errors.go` (`XMinioStorageFull` is a 507,
`XMinioAdminBucketQuotaExceeded` a 400).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import structlog

from app.errors import StoreFullError, StoreMisconfiguredError, StoreUnavailableError

STORE = "blob store"
_LIFECYCLE = "docs/deployment.md"
_DEBUG = "Debug source:"
_STATUS = re.compile(r"status code: ([0-9]{3})\b")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,64})</Code>|\(code: ([A-Za-z0-9.]{1,64})\)")
_REGION = re.compile(r"<Region>([a-z0-9-]{1,40})</Region>")
_REQUEST = re.compile(r"performing ([A-Z]+) ")

_log = structlog.get_logger(__name__)

FailureKind = Literal["full", "misconfigured", "unavailable"]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a store fails, by a short name for logs, and what the operator is to do."""

    name: str
    kind: FailureKind
    advice: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What can be told of a failed request; no part of it is a secret or was sent by a caller."""

    cause: Cause
    operation: str
    code: str | None = None
    status: int | None = None

    @property
    def sentence(self) -> str:
        """Cause and remedy for the operator."""
        answered = self.code or (f"status {self.status}" if self.status else "")
        return f"the blob store {self.cause.advice}" + (f" ({answered})" if answered else "")


_KEY_ID = "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID"
_SECRET = "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY"  # noqa: S105 - a variable's name
_ENDPOINT = "PAGEFAULT_BLOBS__S3_ENDPOINT"
_REGION_SETTING = "PAGEFAULT_BLOBS__S3_REGION"

_WRONG_SECRET = Cause(
    "wrong-secret",
    "misconfigured",
    f"refuses the signature: {_SECRET} is not the secret of {_KEY_ID}",
)
_UNKNOWN_KEY = Cause(
    "unknown-key", "misconfigured", f"does not know the access key: correct {_KEY_ID}"
)
_SUSPENDED = Cause(
    "suspended-user", "misconfigured", "has suspended the user of the access key: enable the user"
)
_EXPIRED_TOKEN = Cause(
    "expired-token",
    "misconfigured",
    "refuses the temporary credentials: renew them, or set a key that lasts",
)
_NO_BUCKET = Cause(
    "missing-bucket",
    "misconfigured",
    "has no bucket of this name: create it, or correct PAGEFAULT_BLOBS__URL",
)
_BUCKET_NAME = Cause(
    "bucket-name",
    "misconfigured",
    "does not take the bucket's name as one: correct PAGEFAULT_BLOBS__URL",
)
_CLOCK_SKEW = Cause(
    "clock-skew",
    "misconfigured",
    "has another time than this machine: set the clocks, by NTP for instance",
)
_WRONG_REGION = Cause(
    "wrong-region",
    "misconfigured",
    f"keeps the bucket in another region: correct {_REGION_SETTING}",
)
_REFUSED_KEY = Cause(
    "refused",
    "misconfigured",
    f"refuses the request without a reason: check {_KEY_ID}, {_SECRET} and the key's permissions "
    f"({_LIFECYCLE} lists them)",
)
_NOT_S3 = Cause(
    "not-s3",
    "misconfigured",
    f"answers unlike S3: {_ENDPOINT} leads to something else, such as a console or a proxy",
)
_NEEDS_TLS = Cause(
    "needs-https",
    "misconfigured",
    f"does not speak plain HTTP at this port: begin {_ENDPOINT} with https://",
)
_NO_TLS = Cause(
    "needs-http",
    "misconfigured",
    f"speaks no TLS at this port: correct the port in {_ENDPOINT}, or begin it with http://",
)
_CERTIFICATE = Cause(
    "certificate",
    "misconfigured",
    "shows a certificate that is not trusted: name its authority in SSL_CERT_FILE, or give it one "
    f"for the host in {_ENDPOINT}",
)
_NO_CREDENTIALS = Cause(
    "no-credentials",
    "misconfigured",
    f"needs a key and none is set: set {_KEY_ID} and {_SECRET}, the AWS_* variables, or give this "
    "machine a role",
)
_HALF_KEY = Cause(
    "half-key",
    "misconfigured",
    f"needs both halves of a key and one is missing: set {_KEY_ID} and {_SECRET}",
)
_FULL = Cause(
    "full",
    "full",
    "has no room left, or has reached its quota: make room or raise the quota; reading goes on",
)
_UNRESOLVED = Cause(
    "unresolved-name",
    "unavailable",
    f"cannot be found, since its host's name does not resolve: look at DNS, or correct {_ENDPOINT} "
    "(without it, Amazon's store is asked)",
)
_REFUSED = Cause(
    "connection-refused",
    "unavailable",
    f"refuses connections: start it, or correct host and port in {_ENDPOINT}",
)
_UNREACHABLE = Cause(
    "unreachable",
    "unavailable",
    f"cannot be reached from this machine: look at the network, or correct {_ENDPOINT}",
)
_TIMED_OUT = Cause(
    "timed-out", "unavailable", "did not answer in time: look whether it runs and can be reached"
)
_BROKEN_OFF = Cause(
    "connection-lost",
    "unavailable",
    f"broke the connection off: if it always does, it may want https:// in {_ENDPOINT}",
)
_ANSWERED = Cause("failed", "unavailable", "could not do what it was asked: look at its own log")
_UNKNOWN = Cause("failed", "unavailable", "did not answer as it should: look at its own log")

_BY_CODE: Mapping[str, Cause] = MappingProxyType(
    {
        "SignatureDoesNotMatch": _WRONG_SECRET,
        "InvalidAccessKeyId": _UNKNOWN_KEY,
        "InvalidClientTokenId": _UNKNOWN_KEY,
        "UserSuspended": _SUSPENDED,
        "AccountProblem": _SUSPENDED,
        "ExpiredToken": _EXPIRED_TOKEN,
        "InvalidToken": _EXPIRED_TOKEN,
        "NoSuchBucket": _NO_BUCKET,
        "InvalidBucketName": _BUCKET_NAME,
        "RequestTimeTooSkewed": _CLOCK_SKEW,
        "RequestExpired": _CLOCK_SKEW,
        "AuthorizationHeaderMalformed": _WRONG_REGION,
        "IllegalLocationConstraintException": _WRONG_REGION,
        "PermanentRedirect": _WRONG_REGION,
        "TemporaryRedirect": _WRONG_REGION,
        "QuotaExceeded": _FULL,
        "InsufficientStorage": _FULL,
        "XMinioStorageFull": _FULL,
        "XMinioAdminBucketQuotaExceeded": _FULL,
        "XRustfsQuotaExceeded": _FULL,
    }
)
_BY_STATUS: Mapping[int, Cause] = MappingProxyType(
    {
        301: _WRONG_REGION,
        # HEAD is answered without a body, so without a code; Amazon has a 400 for a wrong region.
        400: _REFUSED_KEY,
        401: _REFUSED_KEY,
        403: _REFUSED_KEY,
        404: _NOT_S3,
        405: _NOT_S3,
        507: _FULL,
    }
)
# In this order: what is named first says more.
_BY_CONNECTION: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern), cause)
    for pattern, cause in (
        (r"Missing(AccessKeyId|SecretAccessKey)", _HALF_KEY),
        # Where Amazon's machines and containers get the credentials of their role.
        (r"http://169\.254\.", _NO_CREDENTIALS),
        (r"BareRedirect|TooManyRedirects", _WRONG_REGION),
        (r"InvalidCertificate|UnknownIssuer", _CERTIFICATE),
        (r"InvalidMessage|InvalidContentType", _NO_TLS),
        (r"TimedOut|kind: Timeout", _TIMED_OUT),
        (r"dns error", _UNRESOLVED),
        (r"ConnectionRefused", _REFUSED),
        (r"(Network|Host)Unreachable", _UNREACHABLE),
        (r"ConnectionReset|IncompleteMessage|BrokenPipe|UnexpectedEof", _BROKEN_OFF),
        (
            r"NotPartial|InvalidListResponse|InvalidDeleteObjectsResponse|hyper::Error\(\s*Parse",
            _NOT_S3,
        ),
    )
)
_TLS_ANSWERS = re.compile(r"HTTP request (to an|was sent to) HTTPS", re.IGNORECASE)
# What the key has to be allowed for a request that was denied, by its method.
_PERMISSIONS: Mapping[str, str] = MappingProxyType(
    {
        "LIST": "s3:ListBucket",
        "GET": "s3:GetObject, and s3:ListBucket without which a missing object looks denied",
        "HEAD": "s3:GetObject, and s3:ListBucket without which a missing object looks denied",
        "PUT": "s3:PutObject",
        "POST": "s3:PutObject",
        "DELETE": "s3:DeleteObject",
        "ABORT": "s3:AbortMultipartUpload",
    }
)


def failure_of(error: Exception) -> Failure:
    """Name what an exception of obstore, or an `OSError` of its, tells of."""
    answer, _, connection = str(error).partition(_DEBUG)
    operation = _operation(answer)
    status = _number(_STATUS.search(answer))
    code = _code(answer)
    if code is None and status is None:
        return Failure(_by_connection(connection), operation)
    return Failure(
        _by_answer(answer, code, status=status, operation=operation), operation, code, status
    )


def is_missing_object(error: FileNotFoundError) -> bool:
    """Whether it is the object that is missing, and not the bucket; HEAD tells neither."""
    return _code(str(error)) != "NoSuchBucket"


def is_unsatisfiable_range(error: Exception) -> bool:
    """Whether the store has the object and no byte of the asked range, or knows no ranges."""
    answer, _, connection = str(error).partition(_DEBUG)
    return _number(_STATUS.search(answer)) == 416 or "NotPartial" in connection


def store_error(error: Exception) -> StoreUnavailableError:
    """Log a failed request, and return the error that a caller is answered with."""
    failure = failure_of(error)
    level = _log.error if failure.cause.kind == "misconfigured" else _log.warning
    level(
        "blob store failed",
        cause=failure.cause.name,
        operation=failure.operation,
        code=failure.code,
        status=failure.status,
        advice=failure.sentence,
    )
    return _ERRORS[failure.cause.kind](failure)


def _misconfigured(failure: Failure) -> StoreUnavailableError:
    return StoreMisconfiguredError(STORE, cause=failure.sentence)


def _full(failure: Failure) -> StoreUnavailableError:
    return StoreFullError(cause=failure.sentence)


def _unavailable(failure: Failure) -> StoreUnavailableError:
    return StoreUnavailableError(STORE, cause=failure.sentence)


_ERRORS = {"full": _full, "misconfigured": _misconfigured, "unavailable": _unavailable}


def _by_answer(answer: str, code: str | None, *, status: int | None, operation: str) -> Cause:
    if _TLS_ANSWERS.search(answer):
        return _NEEDS_TLS
    if code == "AccessDenied":
        return _denied(operation)
    cause = _BY_CODE.get(code or "") or (_BY_STATUS.get(status or 0) if code is None else None)
    if status == 507:
        cause = _FULL
    region = _REGION.search(answer)
    if cause is _WRONG_REGION and region:
        return Cause(cause.name, cause.kind, f"{cause.advice}, to {region[1]} it says")
    return cause or _ANSWERED


def _denied(operation: str) -> Cause:
    needed = _PERMISSIONS.get(operation, "what docs/deployment.md lists")
    return Cause(
        "access-denied",
        "misconfigured",
        f"does not allow the access key to do this: allow it {needed}",
    )


def _by_connection(text: str) -> Cause:
    return next((cause for pattern, cause in _BY_CONNECTION if pattern.search(text)), _UNKNOWN)


def _operation(answer: str) -> str:
    """The method of the request, and for some that hide behind another what they do instead."""
    if "list request" in answer:
        return "LIST"
    if "?delete " in answer or "DeleteObjects" in answer:
        return "DELETE"
    request = _REQUEST.search(answer)
    if request is None:
        return "-"
    return "ABORT" if request[1] == "DELETE" else request[1]


def _code(answer: str) -> str | None:
    found = _CODE.search(answer)
    return (found[1] or found[2]) if found else None


def _number(found: re.Match[str] | None) -> int | None:
    return int(found[1]) if found else None
