"""Translate the errors of an S3-compatible store, from the exceptions of obstore.

The text of an exception of obstore has the store's response, and after `Debug source:` the state of
the connection. If a store rejects a signature, its response repeats the access key id and the
signed text. So only the error's code, the status and the name of a region leave this module.

A caller gets one of these:

    StoreFullError            507  the store or a quota is full
    StoreMisconfiguredError   503  requests fail until the operator acts
    StoreUnavailableError     503  any other failure, mostly no response

Sources: AWS, "Amazon S3 API Reference", Error responses; Ceph, `rgw_common.cc` (`QuotaExceeded` and
`UserSuspended` are a 403); MinIO, `api-errors.go` (`XMinioStorageFull` is a 507,
`XMinioAdminBucketQuotaExceeded` a 400).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import structlog

from app.errors import StoreCause, StoreFullError, StoreMisconfiguredError, StoreUnavailableError

STORE = "blob store"
_DOCUMENT = "docs/deployment.md"
_DEBUG_HEADING = "Debug source:"
_STATUS = re.compile(r"status code: ([0-9]{3})\b")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,64})</Code>|\(code: ([A-Za-z0-9.]{1,64})\)")
_REGION = re.compile(r"<Region>([a-z0-9-]{1,40})</Region>")
_REQUEST = re.compile(r"performing ([A-Z]+) ")

_log = structlog.get_logger(__name__)

_ErrorClass: TypeAlias = type[StoreUnavailableError]


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a failure: a short name for logs, the advice to the operator, and the error."""

    name: str
    advice: str
    error: _ErrorClass = StoreMisconfiguredError


@dataclass(frozen=True, slots=True)
class Failure:
    """The facts about a failed request that may be logged, without secrets and data of clients."""

    cause: Cause
    operation: str
    code: str | None = None
    status: int | None = None

    @property
    def sentence(self) -> str:
        """Cause and remedy for the operator."""
        reply = self.code or (f"status {self.status}" if self.status else "")
        return f"the blob store {self.cause.advice}" + (f" ({reply})" if reply else "")


_KEY_ID = "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID"
_SECRET = "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY"  # noqa: S105 - a variable's name
_ENDPOINT = "PAGEFAULT_BLOBS__S3_ENDPOINT"
_URL = "PAGEFAULT_BLOBS__URL"

_ADVICE: Mapping[_ErrorClass, Mapping[str, str]] = {
    StoreMisconfiguredError: {
        "wrong-secret": f"refuses the signature: {_SECRET} is not the secret of {_KEY_ID}",
        "unknown-key": f"does not know the access key: correct {_KEY_ID}",
        "suspended-user": "has suspended the user of the access key: enable the user",
        "expired-token": "refuses the temporary credentials: renew them, or set a key that lasts",
        "missing-bucket": f"has no bucket of this name: create it, or correct {_URL}",
        "bucket-name": f"does not take the bucket's name as one: correct {_URL}",
        "clock-skew": "has another time than this machine: set the clocks, by NTP for instance",
        "wrong-region": "keeps the bucket in another region: correct PAGEFAULT_BLOBS__S3_REGION",
        "refused": f"refuses the request without a reason: check {_KEY_ID}, {_SECRET} and the "
        f"key's permissions ({_DOCUMENT} lists them)",
        "not-s3": f"answers unlike S3: {_ENDPOINT} leads to something else, such as a console or a "
        "proxy",
        "needs-https": f"does not speak plain HTTP at this port: begin {_ENDPOINT} with https://",
        "needs-http": f"speaks no TLS at this port: correct the port in {_ENDPOINT}, or begin it "
        "with http://",
        "certificate": "shows a certificate that is not trusted: name its authority in "
        f"SSL_CERT_FILE, or give it one for the host in {_ENDPOINT}",
        "no-credentials": f"needs a key and none is set: set {_KEY_ID} and {_SECRET}, the AWS_* "
        "variables, or give this machine a role",
        "half-key": f"needs both halves of a key and one is missing: set {_KEY_ID} and {_SECRET}",
    },
    StoreFullError: {
        "full": "has no room left, or has reached its quota: make room or raise the quota; reading "
        "goes on",
    },
    StoreUnavailableError: {
        "unresolved-name": "cannot be found, since its host's name does not resolve: look at DNS, "
        f"or correct {_ENDPOINT} (without it, Amazon's store is asked)",
        "connection-refused": f"refuses connections: start it, or correct host and port in "
        f"{_ENDPOINT}",
        "unreachable": f"cannot be reached from this machine: look at the network, or correct "
        f"{_ENDPOINT}",
        "timed-out": "did not answer in time: look whether it runs and can be reached",
        "connection-lost": "broke the connection off: if it always does, it may want https:// in "
        f"{_ENDPOINT}",
    },
}
_CAUSES = {
    name: Cause(name, advice, error)
    for error, advices in _ADVICE.items()
    for name, advice in advices.items()
}
_UNKNOWN_RESPONSE = Cause(
    "failed", "could not do what it was asked: look at its own log", StoreUnavailableError
)
_NO_RESPONSE = Cause(
    "failed", "did not answer as it should: look at its own log", StoreUnavailableError
)

_BY_CODE: Mapping[str, str] = {
    "SignatureDoesNotMatch": "wrong-secret",
    "InvalidAccessKeyId": "unknown-key",
    "InvalidClientTokenId": "unknown-key",
    "UserSuspended": "suspended-user",
    "AccountProblem": "suspended-user",
    "ExpiredToken": "expired-token",
    "InvalidToken": "expired-token",
    "NoSuchBucket": "missing-bucket",
    "InvalidBucketName": "bucket-name",
    "RequestTimeTooSkewed": "clock-skew",
    "RequestExpired": "clock-skew",
    "AuthorizationHeaderMalformed": "wrong-region",
    "IllegalLocationConstraintException": "wrong-region",
    "PermanentRedirect": "wrong-region",
    "TemporaryRedirect": "wrong-region",
    "QuotaExceeded": "full",
    "InsufficientStorage": "full",
    "XMinioStorageFull": "full",
    "XMinioAdminBucketQuotaExceeded": "full",
    "XRustfsQuotaExceeded": "full",
}
# A response to HEAD has no body, and so no code. Amazon sends a 400 for a wrong region.
_BY_STATUS: Mapping[int, str] = {
    301: "wrong-region",
    **dict.fromkeys((400, 401, 403), "refused"),
    **dict.fromkeys((404, 405), "not-s3"),
}
# By a pattern in the state of the connection, if there was no response. The first pattern that
# matches is used, so specific patterns come first.
_BY_CONNECTION: Mapping[str, str] = {
    r"Missing(AccessKeyId|SecretAccessKey)": "half-key",
    # The address where Amazon's machines and containers get the credentials of their role.
    r"http://169\.254\.": "no-credentials",
    r"BareRedirect|TooManyRedirects": "wrong-region",
    r"InvalidCertificate|UnknownIssuer": "certificate",
    r"InvalidMessage|InvalidContentType": "needs-http",
    r"TimedOut|kind: Timeout": "timed-out",
    r"dns error": "unresolved-name",
    r"ConnectionRefused": "connection-refused",
    r"(Network|Host)Unreachable": "unreachable",
    r"ConnectionReset|IncompleteMessage|BrokenPipe|UnexpectedEof": "connection-lost",
    r"NotPartial|InvalidListResponse|InvalidDeleteObjectsResponse|hyper::Error\(\s*Parse": "not-s3",
}
_HTTPS_REQUIRED = re.compile(r"HTTP request (to an|was sent to) HTTPS", re.IGNORECASE)
# The permissions that a denied request needs, by its method.
_PERMISSIONS: Mapping[str, str] = {
    "LIST": "s3:ListBucket",
    "GET": "s3:GetObject, and s3:ListBucket without which a missing object looks denied",
    "HEAD": "s3:GetObject, and s3:ListBucket without which a missing object looks denied",
    "PUT": "s3:PutObject",
    "POST": "s3:PutObject",
    "DELETE": "s3:DeleteObject",
    "ABORT": "s3:AbortMultipartUpload",
}


def read_failure(error: Exception) -> Failure:
    """Return the facts about the failure in an exception of obstore, which may be an `OSError`."""
    response, _, connection = str(error).partition(_DEBUG_HEADING)
    operation = _operation(response)
    status = _read_status(response)
    code = _error_code(response)
    if code is None and status is None:
        return Failure(_connection_cause(connection), operation)
    return Failure(_response_cause(response, code, status, operation), operation, code, status)


def is_missing_object(error: FileNotFoundError) -> bool:
    """Return whether the object is missing, and not the bucket. True for HEAD, without a code."""
    return _error_code(str(error)) != "NoSuchBucket"


def is_unsatisfiable_range(error: Exception) -> bool:
    """Return whether the store has the object but no byte of the range, or ignores ranges."""
    response, _, connection = str(error).partition(_DEBUG_HEADING)
    return _read_status(response) == 416 or "NotPartial" in connection


def store_error(error: Exception) -> StoreUnavailableError:
    """Log a failed request, and return the error for the caller."""
    failure = read_failure(error)
    cause, sentence = failure.cause, failure.sentence
    level = _log.error if cause.error is StoreMisconfiguredError else _log.warning
    level(
        "blob store failed",
        cause=cause.name,
        operation=failure.operation,
        code=failure.code,
        status=failure.status,
        advice=sentence,
    )
    return cause.error(STORE, cause=StoreCause(cause.name, sentence))


def _response_cause(response: str, code: str | None, status: int | None, operation: str) -> Cause:
    if _HTTPS_REQUIRED.search(response):
        return _CAUSES["needs-https"]
    if code == "AccessDenied":
        needed = _PERMISSIONS.get(operation, f"what {_DOCUMENT} lists")
        return Cause(
            "access-denied", f"does not allow the access key to do this: allow it {needed}"
        )
    if status == 507:
        return _CAUSES["full"]
    name = _BY_STATUS.get(status or 0) if code is None else _BY_CODE.get(code)
    if name == "wrong-region" and (region := _REGION.search(response)):
        return Cause(name, f"{_CAUSES[name].advice}, to {region[1]} it says")
    return _CAUSES[name] if name else _UNKNOWN_RESPONSE


def _connection_cause(text: str) -> Cause:
    found = (_CAUSES[name] for pattern, name in _BY_CONNECTION.items() if re.search(pattern, text))
    return next(found, _NO_RESPONSE)


def _operation(response: str) -> str:
    """Return the method of the request, or LIST, DELETE or ABORT; `-` if the text has none."""
    if "list request" in response:
        return "LIST"
    if "?delete " in response or "DeleteObjects" in response:
        return "DELETE"
    request = _REQUEST.search(response)
    if request is None:
        return "-"
    return "ABORT" if request[1] == "DELETE" else request[1]


def _error_code(response: str) -> str | None:
    found = _CODE.search(response)
    return (found[1] or found[2]) if found else None


def _read_status(response: str) -> int | None:
    found = _STATUS.search(response)
    return int(found[1]) if found else None
