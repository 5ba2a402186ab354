"""The content of the stores of a service, read without the service."""

import hashlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import obstore
import psycopg
from obstore.store import S3Store

from app.stores.blobs.store import blob_path
from tests.kit.object_store import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from tests.kit.servers import SIGNING_KEY, Backends

_CHUNK_BYTES = 1024 * 1024
_ROWS = "SELECT resource_id, project_id, digest, size_bytes FROM resources"


class ResourceRow(NamedTuple):
    """A row of `resources`."""

    resource_id: str
    project_id: str
    digest: str
    size_bytes: int


class StoredState(ABC):
    """The stores of one service, and the settings that lead to them."""

    env: dict[str, str]

    @abstractmethod
    def rows(self) -> list[ResourceRow]:
        """All rows of `resources`."""

    @abstractmethod
    def size(self, row: ResourceRow) -> int | None:
        """The size of the blob of a row, `None` if there is no blob."""

    @abstractmethod
    def chunks(self, row: ResourceRow) -> Iterator[bytes]:
        """The bytes of the blob of a row."""

    @abstractmethod
    def bytes_on_their_way(self) -> int:
        """Return the visible bytes of a write in progress, which grow while it goes on."""

    def digest(self, row: ResourceRow) -> str:
        """The SHA-256 of the blob's bytes as they are now."""
        hasher = hashlib.sha256()
        for chunk in self.chunks(row):
            hasher.update(chunk)
        return hasher.hexdigest()


class EmbeddedState(StoredState):
    """SQLite and a directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.env = {}

    def rows(self) -> list[ResourceRow]:
        """See `StoredState.rows`."""
        database = f"file:{self._data_dir / 'pagefault.db'}?mode=ro"
        with closing(sqlite3.connect(database, uri=True)) as connection:
            return [ResourceRow(*row) for row in connection.execute(_ROWS)]

    def size(self, row: ResourceRow) -> int | None:
        """See `StoredState.size`."""
        path = self._data_dir / _path(row)
        return path.stat().st_size if path.exists() else None

    def chunks(self, row: ResourceRow) -> Iterator[bytes]:
        """See `StoredState.chunks`."""
        with (self._data_dir / _path(row)).open("rb") as blob:
            while chunk := blob.read(_CHUNK_BYTES):
                yield chunk

    def bytes_on_their_way(self) -> int:
        """See `StoredState.bytes_on_their_way`."""
        sizes = 0
        for path in (self._data_dir / "tmp").glob("*"):
            try:
                sizes += path.stat().st_size
            except FileNotFoundError:  # It has just become a blob.
                continue
        return sizes


class ServerState(StoredState):
    """PostgreSQL and S3, empty at first; `store` is the bucket."""

    def __init__(self, backends: Backends, *, is_migrated: bool = True) -> None:
        self._bucket = backends.object_store.new_bucket()
        self._object_store = backends.object_store
        database = backends.postgres.new_database(migrated=is_migrated)
        self._database_url = backends.postgres.url(database)
        self.store = S3Store(
            self._bucket,
            endpoint=self._object_store.endpoint_url,
            region=REGION,
            access_key_id=ACCESS_KEY_ID,
            secret_access_key=SECRET_ACCESS_KEY,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
        )
        self.env = {
            "PAGEFAULT_DB__URL": self._database_url,
            "PAGEFAULT_BLOBS__URL": f"s3://{self._bucket}",
            "PAGEFAULT_BLOBS__S3_ENDPOINT": self._object_store.endpoint_url,
            "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID": ACCESS_KEY_ID,
            "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
            "PAGEFAULT_SIGNING_KEYS": SIGNING_KEY.get_secret_value(),
        }

    def rows(self) -> list[ResourceRow]:
        """See `StoredState.rows`."""
        with psycopg.connect(self._database_url) as connection:
            return [ResourceRow(*row) for row in connection.execute(_ROWS)]

    def objects(self) -> dict[str, bytes]:
        """All objects of the bucket."""
        return {
            found["path"]: bytes(obstore.get(self.store, found["path"]).bytes())
            for batch in obstore.list(self.store)
            for found in batch
        }

    def size(self, row: ResourceRow) -> int | None:
        """See `StoredState.size`."""
        try:
            return obstore.head(self.store, _path(row))["size"]
        except FileNotFoundError:
            return None

    def chunks(self, row: ResourceRow) -> Iterator[bytes]:
        """See `StoredState.chunks`."""
        for chunk in obstore.get(self.store, _path(row)).stream(_CHUNK_BYTES):
            yield bytes(chunk)

    def bytes_on_their_way(self) -> int:
        """See `StoredState.bytes_on_their_way`; S3 tells only how many uploads have begun."""
        return self._object_store.unfinished_uploads(self._bucket)


def _path(row: ResourceRow) -> str:
    return blob_path(row.project_id, row.digest)
