"""Answers and logs while an object store refuses the requests of a running service."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.kit.media import png
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.process import PagefaultProcess
from tests.kit.scripted_object_store import Answer, ScriptedObjectStore, refusal
from tests.kit.servers import Backends, LiveService, serving

KEY_ID, SECRET = "AKIDLEAKEDLEAKED", "leaked-secret-of-the-key"
SIGNED = (
    f"<AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256 LEAKED</StringToSign>"
)


@pytest.fixture
def store() -> Iterator[ScriptedObjectStore]:
    with ScriptedObjectStore() as store:
        yield store


@pytest.fixture
def service(
    backends: Backends, tmp_path: Path, store: ScriptedObjectStore
) -> Iterator[LiveService]:
    settings: Settings = backends.settings("server", tmp_path / "data")
    blobs = settings.blobs.model_copy(update={"s3_endpoint": store.endpoint_url})
    with serving(settings.model_copy(update={"blobs": blobs})) as service:
        yield service


def asked(service: LiveService, path: str) -> httpx.Response:
    with httpx.Client(
        base_url=service.base_url, timeout=30, trust_env=False, verify=TRUSTS_NOBODY
    ) as client:
        return client.get(path)


def writes_answered(answer: Answer, store: ScriptedObjectStore) -> None:
    """Have all writes answered so, and everything else as before."""
    store.rule = lambda method, _: answer if method in ("PUT", "POST") else None


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A used-up quota or a full disk of the object store is a 507 until there is room",
    kept_by="app/stores/blobs/s3_errors.py",
    tried="Ceph's and MinIO's",
)
@pytest.mark.parametrize(
    "full",
    [refusal(403, "QuotaExceeded"), refusal(507, "XMinioStorageFull")],
    ids=["ceph", "minio"],
)
def test_used_up_quota_of_the_store_is_507_for_writers_and_probes_until_there_is_room(
    service: LiveService, store: ScriptedObjectStore, full: Answer
) -> None:
    with service.client() as client:
        writes_answered(full, store)
        for size in (64, 2000):
            refused = client.post("/api/resources", content=png(size, 64, noise=True))
            assert (refused.status_code, refused.json()["code"]) == (507, "store-full")
        ready = asked(service, "/readyz")
        assert (ready.status_code, ready.json()["code"]) == (507, "store-full")
        store.rule = None
        assert asked(service, "/readyz").status_code == 200


def test_revoked_key_is_told_to_callers_as_something_they_cannot_mend(
    service: LiveService, store: ScriptedObjectStore
) -> None:
    with service.client() as client:
        store.rule = lambda *_: refusal(403, "InvalidAccessKeyId", SIGNED)
        refused = client.post("/api/resources", content=png())
        ready = asked(service, "/readyz")
    for answer in (refused, ready):
        assert (answer.status_code, answer.json()["code"]) == (503, "store-misconfigured")
        assert answer.headers["retry-after"] == "60"
        assert KEY_ID not in answer.text
        assert "S3_ACCESS_KEY_ID" not in answer.text


def test_readiness_reads_once_each_time_and_writes_nothing(
    service: LiveService, store: ScriptedObjectStore
) -> None:
    before = len(store.requests)
    for _ in range(20):
        assert asked(service, "/readyz").status_code == 200
    assert [request.split()[0] for request in store.requests[before:]] == ["GET"] * 20


@pytest.mark.promise(
    "security.md#links-and-keys",
    (
        "The object store's answer to a refused signature (which has the key's id and the "
        "signed text) is in no log and no answer"
    ),
    kept_by="app/stores/blobs/s3_errors.py",
    tried="0 of 3 marks",
)
def test_log_names_the_cause_and_holds_no_secret(
    tmp_path: Path, store: ScriptedObjectStore
) -> None:
    env = {
        "PAGEFAULT_LOG_FORMAT": "json",
        "PAGEFAULT_BLOBS__URL": "s3://b",
        "PAGEFAULT_BLOBS__S3_ENDPOINT": store.endpoint_url,
        "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID": KEY_ID,
        "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY": SECRET,
    }
    with PagefaultProcess(tmp_path / "data", env=env) as process:
        store.rule = lambda *_: refusal(403, "SignatureDoesNotMatch", SIGNED)
        with process.client() as client:
            assert client.post("/api/resources", content=png()).status_code == 503
        process.stop()
        logs = process.logs
    lines = [json.loads(line) for line in logs.splitlines() if line.startswith("{")]
    (told,) = [line for line in lines if line["event"] == "blob store failed"]
    assert (told["cause"], told["code"], told["operation"]) == (
        "wrong-secret",
        "SignatureDoesNotMatch",
        "PUT",
    )
    for secret in (KEY_ID, SECRET, "LEAKED"):
        assert secret not in logs
