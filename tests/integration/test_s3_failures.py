"""Refusals of an S3 store are logged with their cause, and answered with their status."""

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from obstore.exceptions import GenericError
from structlog.testing import capture_logs

from app.errors import StoreFullError, StoreMisconfiguredError, StoreUnavailableError
from app.stores.blobs.s3 import S3BlobStore
from app.stores.blobs.s3_errors import read_failure
from app.stores.blobs.store import BlobMissingError, blob_path
from tests.contract.blob_stores import s3_store
from tests.kit.scripted_object_store import Answer, Rule, ScriptedObjectStore, refusal

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
DIGEST = hashlib.sha256(b"x").hexdigest()
# Ceph and Amazon repeat in their answer what was signed, and with which key.
SIGNED = (
    "<AWSAccessKeyId>AKIDLEAKED</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256 LEAKED"
    "</StringToSign><CanonicalRequest>GET LEAKED</CanonicalRequest><RequestId>tx0</RequestId>"
)
TO_ANOTHER_REGION = refusal(
    400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region><RequestId>r</RequestId>"
)
PLAIN_HTTP = Answer(400, "Client sent an HTTP request to an HTTPS server.\n")


def always(answer: Answer) -> Rule:
    return lambda method, target: answer


MISCONFIGURED = [
    (refusal(403, "SignatureDoesNotMatch", SIGNED), "wrong-secret", "S3_SECRET_ACCESS_KEY"),
    (refusal(403, "InvalidAccessKeyId", SIGNED), "unknown-key", "S3_ACCESS_KEY_ID"),
    (refusal(403, "UserSuspended"), "suspended-user", "enable the user"),
    (refusal(400, "ExpiredToken"), "expired-token", "renew them"),
    (refusal(404, "NoSuchBucket"), "missing-bucket", "PAGEFAULT_BLOBS__URL"),
    (refusal(400, "InvalidBucketName"), "bucket-name", "PAGEFAULT_BLOBS__URL"),
    (refusal(403, "RequestTimeTooSkewed"), "clock-skew", "set the clocks"),
    (TO_ANOTHER_REGION, "wrong-region", "S3_REGION, to eu-west-1 it says"),
    (refusal(301, "PermanentRedirect"), "wrong-region", "S3_REGION"),
    (refusal(403, "AccessDenied"), "access-denied", "s3:GetObject, and s3:ListBucket"),
    (Answer(403), "refused", "without a reason"),
    (Answer(401), "refused", "without a reason"),
    (PLAIN_HTTP, "needs-https", "begin PAGEFAULT_BLOBS__S3_ENDPOINT with https://"),
    (Answer(200, "<html>Sign in</html>"), "not-s3", "answers unlike S3"),
]


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "A refusal that repeating cannot change (wrong keys, region, clock or endpoint, a "
        "missing bucket or permission) is not repeated, and its cause is named"
    ),
    kept_by="app/stores/blobs/s3_errors.py",
    tried="14 answers, 1 request each",
)
@pytest.mark.parametrize(("answer", "cause", "advice"), MISCONFIGURED)
async def test_refusal_is_named_by_its_cause_and_sent_once(
    tmp_path: Path, answer: Answer, cause: str, advice: str
) -> None:
    with ScriptedObjectStore(always(answer)) as server, capture_logs() as logs:
        store = s3_store(server.endpoint_url, "b", tmp_path)
        with pytest.raises(StoreMisconfiguredError) as caught:
            await store.check()
        assert len(server.requests) == 1
    assert advice in str(caught.value.cause)
    assert [(line["cause"], line["log_level"]) for line in logs] == [(cause, "error")]
    text = f"{logs}{caught.value.cause}{caught.value.detail}"
    assert "LEAKED" not in text
    assert "testing-secret" not in text
    assert caught.value.__suppress_context__


CALLS: dict[str, Callable[[S3BlobStore], Awaitable[Any]]] = {
    "HEAD": lambda store: store.size("p", DIGEST),
    "find": lambda store: store.find("p", DIGEST),
    "GET": lambda store: store.open("p", DIGEST),
    "LIST": lambda store: anext(store.list_blobs("p")),
    "DELETE": lambda store: store.delete("p", DIGEST),
    "copy": lambda store: store.quarantine("p", DIGEST),
    "sweep": lambda store: store.sweep_temporary(0),
    "PUT": lambda store: write(store, b"x"),
    "POST": lambda store: write(store, bytes(9 * MIB)),
    "draft": lambda store: write_draft(store, b"x"),
}
NEEDED = {"find": "HEAD", "copy": "PUT", "sweep": "LIST", "draft": "PUT"}
PERMISSIONS = {
    "HEAD": None,
    "GET": "s3:GetObject",
    "LIST": "s3:ListBucket",
    "DELETE": "s3:DeleteObject",
    "PUT": "s3:PutObject",
    "POST": "s3:PutObject",
}


async def write(store: S3BlobStore, data: bytes) -> None:
    async with store.writer("p", limit_bytes=64 * MIB) as writer:
        await writer.write(data)
        await writer.commit()


async def write_draft(store: S3BlobStore, data: bytes) -> None:
    draft = store.draft("p", limit_bytes=64 * MIB)
    try:
        draft.append(data)
        await draft.commit()
    finally:
        await draft.discard()


@pytest.mark.parametrize("call", CALLS)
async def test_denied_call_names_the_permission_it_needs(tmp_path: Path, call: str) -> None:
    with ScriptedObjectStore(always(refusal(403, "AccessDenied"))) as server:
        store = s3_store(server.endpoint_url, "b", tmp_path)
        with pytest.raises(StoreMisconfiguredError) as caught:
            await CALLS[call](store)
    # HEAD has no body and so no code.
    permission = PERMISSIONS[NEEDED.get(call, call)] or "permissions"
    assert permission in str(caught.value.cause)


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "A missing bucket is never taken for a missing object, except for `HEAD`, whose "
        "answer does not tell them apart"
    ),
    kept_by="app/stores/blobs/s3_objects.py",
    tried="7 calls",
)
@pytest.mark.parametrize("call", ["DELETE", "copy", "GET", "PUT", "POST", "LIST", "draft"])
async def test_missing_bucket_is_never_taken_for_a_missing_object(
    tmp_path: Path, call: str
) -> None:
    with ScriptedObjectStore(always(refusal(404, "NoSuchBucket"))) as server:
        store = s3_store(server.endpoint_url, "b", tmp_path)
        with pytest.raises(StoreMisconfiguredError, match="refuses this service"):
            await CALLS[call](store)


async def test_delete_that_is_denied_for_its_one_object_is_told(tmp_path: Path) -> None:
    key = f"pagefault/data/{blob_path('p', DIGEST)}"
    denied = (
        f"<DeleteResult><Error><Key>{key}</Key><Code>AccessDenied</Code>"
        "<Message>Access Denied</Message></Error></DeleteResult>"
    )
    with ScriptedObjectStore(always(Answer(200, denied))) as server:
        store = s3_store(server.endpoint_url, "b", tmp_path)
        with pytest.raises(StoreMisconfiguredError) as caught:
            await store.delete("p", DIGEST)
    assert "s3:DeleteObject" in str(caught.value.cause)


def upload_in_parts(parts: Answer, abort: Answer) -> Rule:
    """Have an upload begin, and its parts and its end answered so."""

    def rule(method: str, target: str) -> Answer | None:
        if method == "POST" and "uploads" in target:
            begun = "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
            place = "<Bucket>b</Bucket><Key>k</Key></InitiateMultipartUploadResult>"
            return Answer(200, begun + place)
        return {"PUT": parts, "DELETE": abort}.get(method)

    return rule


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A multipart upload that finds no room is aborted in the object store",
    kept_by="app/stores/blobs/s3.py",
    tried="both ways to write",
)
@pytest.mark.parametrize("call", [write, write_draft])
async def test_upload_whose_parts_have_no_room_is_aborted(
    tmp_path: Path, call: Callable[[S3BlobStore, bytes], Awaitable[None]]
) -> None:
    rule = upload_in_parts(refusal(403, "QuotaExceeded"), Answer(204))
    with ScriptedObjectStore(rule) as server:
        with pytest.raises(StoreFullError):
            await call(s3_store(server.endpoint_url, "b", tmp_path), bytes(9 * MIB))
        assert any(
            request.startswith("DELETE") and "uploadId=u" in request for request in server.requests
        )


async def test_upload_that_may_not_be_aborted_names_the_permission(tmp_path: Path) -> None:
    rule = upload_in_parts(refusal(403, "AccessDenied"), refusal(403, "AccessDenied"))
    with ScriptedObjectStore(rule) as server, pytest.raises(StoreMisconfiguredError) as caught:
        await write(s3_store(server.endpoint_url, "b", tmp_path), bytes(9 * MIB))
    assert "s3:AbortMultipartUpload" in str(caught.value.cause)


FULL = [
    refusal(403, "QuotaExceeded", "<BucketName>b</BucketName><HostId>ceph</HostId>"),
    refusal(400, "XMinioAdminBucketQuotaExceeded"),
    refusal(507, "XMinioStorageFull"),
    refusal(507, "InsufficientStorage"),
    Answer(507),
]


@pytest.mark.parametrize("answer", FULL)
@pytest.mark.parametrize("call", ["PUT", "POST", "draft"])
async def test_quota_and_full_store_have_no_room(tmp_path: Path, answer: Answer, call: str) -> None:
    with ScriptedObjectStore(always(answer)) as server:
        store = s3_store(server.endpoint_url, "b", tmp_path)
        with pytest.raises(StoreFullError):
            await CALLS[call](store)


async def test_missing_object_of_a_bucket_that_is_there_is_missing(tmp_path: Path) -> None:
    with ScriptedObjectStore() as server, capture_logs() as logs:
        store = s3_store(server.endpoint_url, "b", tmp_path)
        assert await store.size("p", DIGEST) is None
        with pytest.raises(BlobMissingError):
            await store.open("p", DIGEST)
        await store.delete("p", DIGEST)
        await store.check()
    assert logs == []


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "An object store that hangs costs each caller one time-out of 10 s",
    kept_by="app/stores/blobs/s3_objects.py",
    tried="5 calls, 1 request each",
)
async def test_store_that_hangs_is_asked_once_by_each_who_waits(tmp_path: Path) -> None:
    """All wait for the same ten seconds."""
    with ScriptedObjectStore() as server:
        server.rule = server.hang
        store = s3_store(server.endpoint_url, "b", tmp_path)
        told: list[str] = []

        async def ask(call: Awaitable[Any]) -> None:
            with pytest.raises(StoreUnavailableError) as caught:
                await call
            told.append(str(caught.value.cause))

        async with anyio.create_task_group() as tasks:
            for name in ("GET", "HEAD", "PUT", "POST"):
                tasks.start_soon(ask, CALLS[name](store))
            tasks.start_soon(ask, store.check())
        # The clean-up after the failed upload goes on by itself.
        asked = [request.split("/")[0] for request in server.requests]
    assert sorted(asked[:5]) == ["GET ", "GET ", "HEAD ", "POST ", "PUT "]
    assert asked[5:] in ([], ["POST "])
    assert all("did not answer in time" in cause for cause in told)


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "`/readyz` writes an object only if writing is in doubt",
    kept_by="app/stores/blobs/s3_objects.py",
    tried="20 checks, 20 `GET`",
)
async def test_checks_read_and_write_only_when_writing_is_not_proven(tmp_path: Path) -> None:
    with ScriptedObjectStore() as server:
        store = s3_store(server.endpoint_url, "b", tmp_path)
        await store.check()
        assert [request.split()[0] for request in server.requests] == ["GET", "PUT", "POST"]
        for _ in range(20):
            await store.check()
        assert len(server.requests) == 23
        assert len(server.writes()) == 2
        full = refusal(403, "QuotaExceeded")
        server.rule = lambda method, _: full if method == "PUT" else None
        await store.check()
        with pytest.raises(StoreFullError):
            await write(store, b"x")
        with pytest.raises(StoreFullError):
            await store.check()
        server.rule = None
        await store.check()
        writes = len(server.writes())
        await store.check()
        assert len(server.writes()) == writes


async def test_endpoint_that_is_not_there_or_speaks_no_tls_is_named(tmp_path: Path) -> None:
    causes = []
    with ScriptedObjectStore() as server:
        for endpoint in ("http://127.0.0.1:1", server.endpoint_url.replace("http:", "https:")):
            with capture_logs() as logs, pytest.raises(StoreUnavailableError):
                await s3_store(endpoint, "b", tmp_path).check()
            causes += [line["cause"] for line in logs]
    assert causes == ["connection-refused", "needs-http"]


SENT = r"""Generic S3 error: Error performing GET {url} in 4ms, after 3 retries - HTTP error: error
sending request

Debug source:
Generic {{ store: "S3", source: RetryError(RetryErrorImpl {{ uri: Some({url}), inner: Http(HttpError
{{ kind: Connect, source: reqwest::Error {{ kind: Request, source: {source} }} }}) }}) }}"""
# As obstore 0.12 tells of them; no test sends anything off this machine.
CONNECTIONS = {
    "unresolved-name": (
        "http://no-such-host.invalid:9/b/k",
        'ConnectError("dns error", Custom { kind: Uncategorized, error: "failed to lookup address '
        'information: Temporary failure in name resolution" })',
    ),
    "unreachable": (
        "http://10.0.0.1:9/b/k",
        'ConnectError("tcp connect error", 10.0.0.1:9, Os { code: 101, kind: NetworkUnreachable, '
        'message: "Network is unreachable" })',
    ),
    "no-credentials": (
        "http://169.254.169.254/latest/api/token",
        'ConnectError("tcp connect error", 169.254.169.254:80, Os { code: 101, '
        'kind: NetworkUnreachable, message: "Network is unreachable" })',
    ),
    "certificate": (
        "https://127.0.0.1:9/b/k",
        "Custom { kind: InvalidData, error: InvalidCertificate(Other(OtherError("
        "CaUsedAsEndEntity))) }",
    ),
    "connection-lost": (
        "http://127.0.0.1:9/b/k",
        "hyper::Error(Io, Os { code: 104, kind: ConnectionReset, message: "
        '"Connection reset by peer" })',
    ),
    "timed-out": ("http://127.0.0.1:9/b/k", "TimedOut"),
    "failed": ("http://127.0.0.1:9/b/k", "Surprise"),
}


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A failed connection to the object store has its cause named",
    kept_by="app/stores/blobs/s3_errors.py",
    tried="7 kinds",
)
@pytest.mark.parametrize("cause", CONNECTIONS)
def test_connection_that_fails_is_named_by_what_obstore_says(cause: str) -> None:
    url, source = CONNECTIONS[cause]
    failure = read_failure(GenericError(SENT.format(url=url, source=source)))
    assert (failure.cause.name, failure.operation) == (cause, "GET")
    assert url not in failure.sentence


async def test_half_a_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreMisconfiguredError) as caught:
        S3BlobStore(bucket="b", spool=tmp_path, access_key_id="AKID")
    assert "both halves of a key" in str(caught.value.cause)
