"""The blob stores under test, each with a look behind it that does not go through the store."""

from abc import ABC, abstractmethod
from pathlib import Path

import obstore
from obstore.store import S3Store

from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.s3 import S3BlobStore
from app.stores.blobs.store import BlobStore
from tests.kit.object_store import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY, ObjectStoreServer

_PREFIX = "pagefault/data"


class StoreUnderTest(ABC):
    """A store, and what really lies in it."""

    store: BlobStore

    @abstractmethod
    def objects(self) -> list[str]:
        """The paths of all objects, temporary ones and unfinished uploads included."""

    @abstractmethod
    def leave_object(self, path: str, data: bytes) -> None:
        """Put something there behind the store's back."""

    def leave_temporary_object(self, name: str) -> None:
        """Leave what a killed process would."""
        self.leave_object(f"tmp/{name}", b"half a blo")


class FilesystemUnderTest(StoreUnderTest):
    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = FilesystemBlobStore(root)

    def objects(self) -> list[str]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.root)) for path in found)

    def leave_object(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)


class S3UnderTest(StoreUnderTest):
    def __init__(self, server: ObjectStoreServer, spool: Path) -> None:
        self._server = server
        self._spool = spool
        self._bucket = server.new_bucket()
        self.store = s3_store(server.endpoint_url, self._bucket, spool)
        self._objects = S3Store(
            self._bucket,
            prefix=_PREFIX,
            endpoint=server.endpoint_url,
            region=REGION,
            access_key_id=ACCESS_KEY_ID,
            secret_access_key=SECRET_ACCESS_KEY,
            client_options={"allow_http": True},
        )

    def objects(self) -> list[str]:
        found = [item["path"] for batch in obstore.list(self._objects) for item in batch]
        unfinished = self._server.unfinished_uploads(self._bucket)
        spooled = [f"spool/{path.name}" for path in self._spool.rglob("*")]
        return sorted(found) + ["unfinished upload"] * unfinished + spooled

    def leave_object(self, path: str, data: bytes) -> None:
        obstore.put(self._objects, path, data)


def s3_store(endpoint_url: str, bucket: str, spool: Path) -> S3BlobStore:
    """A store over a bucket of a test server, below a prefix as in production."""
    return S3BlobStore(
        bucket=bucket,
        spool=spool,
        prefix=_PREFIX,
        endpoint=endpoint_url,
        region=REGION,
        access_key_id=ACCESS_KEY_ID,
        secret_access_key=SECRET_ACCESS_KEY,
    )
