"""Permissions of a bucket's key, on a server that checks signatures and policies."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import boto3  # type: ignore[import-untyped]
import httpx
import pytest
from structlog.testing import capture_logs

from app.errors import StoreMisconfiguredError
from app.stores.blobs.s3 import S3BlobStore
from tests.contract.blob_stores import s3_store
from tests.kit.loaded_command import LoadedCommand
from tests.kit.object_store import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY, ObjectStoreServer
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.process import ROOT
from tests.kit.servers import Backends

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
BUCKET = "pagefault-media"
_JSON = re.compile(r"```json\n(.+?)```", re.DOTALL)


@dataclass(frozen=True)
class Key:
    """An access key and its secret."""

    key_id: str
    secret: str


def documented(member: str) -> dict[str, Any]:
    """The JSON of the page on deployment that has this member."""
    text = (ROOT / "docs" / "deployment.md").read_text()
    documents: list[dict[str, Any]] = [json.loads(found) for found in _JSON.findall(text)]
    (found,) = [document for document in documents if member in document]
    return found


POLICY = documented("Statement")
ACTIONS: list[str] = POLICY["Statement"][0]["Action"]
READ_ONLY = ["s3:GetObject", "s3:ListBucket"]


@dataclass(frozen=True)
class StrictStore:
    """A server that checks every request, and keys with policies, by name."""

    server: ObjectStoreServer
    keys: dict[str, Key]

    def store(
        self, key: str, spool: Path, *, bucket: str = BUCKET, secret: str | None = None
    ) -> S3BlobStore:
        """The bucket as the holder of a key has it."""
        chosen = self.keys[key]
        return S3BlobStore(
            bucket=bucket,
            spool=spool,
            endpoint=self.server.endpoint_url,
            region=REGION,
            access_key_id=chosen.key_id,
            secret_access_key=secret or chosen.secret,
        )


@pytest.fixture(scope="module")
def strict() -> Iterator[StrictStore]:
    with ObjectStoreServer(with_users=True) as server:
        connect = partial(
            boto3.client,
            endpoint_url=server.endpoint_url,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY_ID,
            aws_secret_access_key=SECRET_ACCESS_KEY,
        )
        connect("s3").create_bucket(Bucket=BUCKET)
        connect("s3").put_bucket_lifecycle_configuration(
            Bucket=BUCKET, LifecycleConfiguration=documented("Rules")
        )
        iam = connect("iam")
        allowed = {"all": ACTIONS, "read-only": READ_ONLY}
        for action in ACTIONS:
            allowed[f"without {action}"] = [item for item in ACTIONS if item != action]
        keys = {name: _new_key(iam, name, actions) for name, actions in allowed.items()}
        keys["any bucket"] = _new_key(iam, "any bucket", ["s3:*"], "*")
        # From here on the server lets nobody in who is not one of them.
        httpx.post(
            f"{server.endpoint_url}/moto-api/reset-auth", content="0", verify=TRUSTS_NOBODY
        ).raise_for_status()
        yield StrictStore(server, keys)


def _new_key(iam: Any, name: str, actions: list[str], *resources: str) -> Key:  # noqa: ANN401 - boto3 has no types
    user = re.sub("[^a-zA-Z]", "-", name)
    statement = {**POLICY["Statement"][0], "Action": actions}
    if resources:
        statement["Resource"] = resources
    iam.create_user(UserName=user)
    iam.put_user_policy(
        UserName=user,
        PolicyName="pagefault",
        PolicyDocument=json.dumps({**POLICY, "Statement": [statement]}),
    )
    made = iam.create_access_key(UserName=user)["AccessKey"]
    return Key(made["AccessKeyId"], made["SecretAccessKey"])


async def start(store: S3BlobStore) -> None:
    """Do what a service does with its bucket when it starts."""
    await store.check()
    await store.sweep_temporary(0)


async def work(store: S3BlobStore) -> None:
    """Do everything that a service does with its bucket."""
    await start(store)
    for data in (b"small", bytes(9 * MIB)):
        async with store.writer("p", limit_bytes=64 * MIB) as writer:
            await writer.write(data)
            await writer.commit()
        draft = store.draft("p", limit_bytes=64 * MIB)
        draft.append(data)
        await draft.commit()
        await draft.discard()
        digest = hashlib.sha256(data).hexdigest()
        async with aclosing(await store.open("p", digest)) as reader:
            assert b"".join([piece async for piece in reader]) == data
        assert [blob.digest async for blob in store.list_blobs("p")] == [digest]
        await store.quarantine("p", digest)
        assert await store.find("p", digest) is None
        await store.delete("p", digest)


async def test_documented_policy_is_enough_for_everything(
    strict: StrictStore, tmp_path: Path
) -> None:
    with capture_logs() as logs:
        await work(strict.store("all", tmp_path))
    assert logs == []


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "The documented bucket policy is enough for everything, and a missing permission is named",
    kept_by="docs/deployment.md",
    tried="4 permissions",
)
@pytest.mark.parametrize(
    "action", ["s3:PutObject", "s3:GetObject", "s3:DeleteObject", "s3:ListBucket"]
)
async def test_each_permission_is_needed_and_named_when_it_is_missing(
    strict: StrictStore, tmp_path: Path, action: str
) -> None:
    store = strict.store(f"without {action}", tmp_path)
    with capture_logs() as logs, pytest.raises(StoreMisconfiguredError) as caught:
        await start(store)
    assert action in str(caught.value.cause)
    assert [(line["cause"], line["code"]) for line in logs] == [("access-denied", "AccessDenied")]


@pytest.fixture(params=["wrong secret", "unknown key", "missing bucket", "no list", "read-only"])
def mistake(request: pytest.FixtureRequest, strict: StrictStore) -> tuple[dict[str, str], str]:
    """Settings with a mistake, and the beginning of what is told of it."""
    key, bucket = strict.keys["all"], BUCKET
    if request.param == "wrong secret":
        key = Key(key.key_id, "not-its-secret-at-all")
        text = "the blob store refuses the signature: PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY is not"
    elif request.param == "unknown key":
        key = Key("AKIDUNKNOWNUNKNOWN", key.secret)
        text = "the blob store does not know the access key: correct PAGEFAULT_BLOBS__S3_ACCESS_KEY"
    elif request.param == "missing bucket":
        key, bucket = strict.keys["any bucket"], "no-such-bucket"
        text = "the blob store has no bucket of this name: create it, or correct PAGEFAULT_BLOBS__"
    elif request.param == "no list":
        key = strict.keys["without s3:ListBucket"]
        text = "the blob store does not allow the access key to do this: allow it s3:ListBucket"
    else:
        key = strict.keys["read-only"]
        text = "the blob store does not allow the access key to do this: allow it s3:PutObject"
    settings = {
        "PAGEFAULT_BLOBS__URL": f"s3://{bucket}",
        "PAGEFAULT_BLOBS__S3_ENDPOINT": strict.server.endpoint_url,
        "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID": key.key_id,
        "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY": key.secret,
    }
    return settings, text


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A service whose bucket cannot be used does not start, and says why in one sentence",
    kept_by="app/wiring/stores.py",
    tried="5 mistakes, on a server that checks signatures and policies",
)
def test_service_does_not_start_and_says_why_in_a_sentence(
    pagefault: LoadedCommand, tmp_path: Path, mistake: tuple[dict[str, str], str]
) -> None:
    settings, told = mistake
    env = {**settings, "PAGEFAULT_LOG_FORMAT": "json"}
    done = pagefault.run("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), env=env)
    logged, said = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, done.stdout) == (1, "")
    assert said["event"].startswith(f"pagefault: {told}")
    assert logged["event"] == "blob store failed"
    for secret in ("PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID", "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY"):
        assert settings[secret] not in done.stderr


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A bucket that keeps deleted versions causes a warning",
    kept_by="app/stores/blobs/s3_objects.py",
    tried="1 warning",
)
async def test_bucket_that_keeps_versions_is_warned_of_once(
    backends: Backends, tmp_path: Path
) -> None:
    server = backends.object_store
    bucket = server.new_bucket()
    await anyio.to_thread.run_sync(server.keep_versions, bucket)
    with capture_logs() as logs:
        for _ in range(2):
            await s3_store(server.endpoint_url, bucket, tmp_path).check()
    assert [(line["event"], line["bucket"]) for line in logs] == [("bucket keeps versions", bucket)]
    assert "docs/deployment.md" in logs[0]["advice"]
