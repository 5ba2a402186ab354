"""Connections that ended while they were idle: no request fails if its work can be repeated."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import anyio
import httpx
import psycopg
import pytest
from pydantic import SecretStr
from sqlalchemy import Connection

from app.config.settings import DatabaseSettings, Settings
from app.stores.records.database import WriteResult
from app.stores.records.engine import Engines
from app.wiring.stores import open_database
from tests.kit.expiring_proxy import ExpiringProxy
from tests.kit.pgbouncer import PgBouncer
from tests.kit.servers import Backends, LiveService, Postgres, serving

SESSION = "s"
LARGE = "word " * 100_000
_OTHERS = "pid <> pg_backend_pid() AND datname = '{database}'"


@pytest.fixture
def database(backends: Backends) -> str:
    return backends.postgres.new_database(migrated=True)


@pytest.fixture
def proxy(backends: Backends) -> Iterator[ExpiringProxy]:
    with ExpiringProxy(backends.postgres.folder / "cluster" / ".s.PGSQL.5432") as proxy:
        yield proxy


def settings_at(url: str, backends: Backends, folder: Path) -> Settings:
    db = DatabaseSettings(url=SecretStr(url), pool_size=2)
    return backends.settings("server", folder / "data").model_copy(update={"db": db})


def post_result(client: httpx.Client, text: str) -> httpx.Response:
    call = {"toolName": "t", "toolCallId": str(uuid4()), "sessionId": SESSION, "result": text}
    return client.post("/api/tool-results", json=call)


def become_read_only(server: Postgres) -> None:
    """Refuse writes as a replica does; returns when connections that were open do so."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
        while connection.execute("SHOW default_transaction_read_only").fetchone() != ("on",):
            pass


REQUESTS: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "lookup": lambda client: client.get(f"/api/sessions/{SESSION}"),
    "list": lambda client: client.get(f"/api/sessions/{SESSION}/messages"),
    "snapshot": lambda client: client.get(f"/api/sessions/{SESSION}/bundle"),
    "group of writes": lambda client: post_result(client, "short"),
    "write alone": lambda client: post_result(client, LARGE),
    "readiness": lambda client: client.get("/readyz"),
}


def statuses_after(end_connections: Callable[[], object], service: LiveService) -> dict[str, int]:
    """Send each request after all connections have ended; return the statuses."""
    statuses = {}
    with service.client() as client:
        post_result(client, "first").raise_for_status()
        for name, send in REQUESTS.items():
            # All connections of the pool are open, and used.
            for other in REQUESTS.values():
                other(client).raise_for_status()
            end_connections()
            statuses[name] = send(client).status_code
    return statuses


EXPECTED = {
    "lookup": 200,
    "list": 200,
    "snapshot": 200,
    "group of writes": 201,
    "write alone": 201,
    "readiness": 200,
}


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "No request fails because a connection to PostgreSQL was forgotten by a proxy while it was "
        "idle: reads and transactions before their commit are repeated"
    ),
    kept_by="app/stores/records/database_errors.py",
    tried="reads, a snapshot, a group of writes, a write alone and `/readyz`, each after it",
)
def test_connections_that_a_proxy_has_forgotten_are_replaced(
    backends: Backends, proxy: ExpiringProxy, database: str, tmp_path: Path
) -> None:
    url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}"
    with serving(settings_at(url, backends, tmp_path)) as service:
        assert statuses_after(proxy.expire, service) == EXPECTED
    assert proxy.resets >= len(REQUESTS)


@pytest.mark.slow
def test_connections_that_the_server_has_ended_are_replaced(
    backends: Backends, database: str, tmp_path: Path
) -> None:
    def end_connections() -> None:
        connections = _OTHERS.format(database=database)
        backends.postgres.execute(
            f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {connections}"  # noqa: S608
        )

    settings = settings_at(backends.postgres.url(database), backends, tmp_path)
    with serving(settings) as service:
        assert statuses_after(end_connections, service) == EXPECTED


@pytest.mark.slow
def test_connections_are_replaced_after_a_restart_of_the_pooler(
    backends: Backends, database: str, tmp_path: Path
) -> None:
    with PgBouncer(backends.postgres) as pooler:

        def restart() -> None:
            pooler.kill()
            pooler.start()

        with serving(settings_at(pooler.url(database), backends, tmp_path)) as service:
            assert statuses_after(restart, service) == EXPECTED


@pytest.mark.slow
def test_connections_of_the_pooler_that_the_server_has_ended_are_replaced(
    backends: Backends, database: str, tmp_path: Path
) -> None:
    def end_connections() -> None:
        connections = _OTHERS.format(database=database)
        backends.postgres.execute(
            f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {connections}"  # noqa: S608
        )

    with (
        PgBouncer(backends.postgres) as pooler,
        serving(settings_at(pooler.url(database), backends, tmp_path)) as service,
    ):
        assert statuses_after(end_connections, service) == EXPECTED


@pytest.mark.slow
def test_connections_are_replaced_after_a_restart_of_the_server(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    with Postgres(tmp_path_factory.mktemp("postgres"), is_durable=True) as server:

        def restart() -> None:
            server.crash()
            server.start_again()

        url = server.url(server.new_database(migrated=True))
        with serving(settings_at(url, backends, tmp_path)) as service:
            assert statuses_after(restart, service) == EXPECTED


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "If the server of a connection becomes a replica, the write is made at the server among "
        "those of the address that takes writes"
    ),
    kept_by="app/stores/records/database_errors.py",
    tried="a write over a connection to a server that has become read-only",
)
def test_server_that_has_become_a_replica_is_left_for_the_one_that_takes_writes(
    backends: Backends, database: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    with Postgres(tmp_path_factory.mktemp("postgres")) as first:
        first.execute(f"ALTER DATABASE {first.new_database(migrated=True)} RENAME TO {database}")
        servers = [first, backends.postgres]
        hosts = ",".join(str(server.folder / "cluster") for server in servers)
        urls = backends.postgres.url(database), f"postgresql://postgres@/{database}?host={hosts}"
        to_second, to_both = (
            settings_at(url, backends, tmp_path).model_copy(update={"auth": "none"}) for url in urls
        )
        # The project is there on both, as on a replica.
        with serving(to_second):
            pass
        with serving(to_both) as service, service.client("") as client:
            post_result(client, "to the first").raise_for_status()
            become_read_only(first)
            assert post_result(client, "to the second").status_code == 201
        with serving(to_second) as service, service.client("") as client:
            results = client.get("/api/tool-results", params={"sessionId": SESSION}).json()["items"]
    assert [result["sanitized"]["parts"][0]["text"] for result in results] == ["to the second"]


class Ending:
    """A function that ends the server's side of its connection when it first runs."""

    def __init__(self) -> None:
        self.attempts = 0

    def read(self, connection: Connection) -> int:
        """End it, or return the number of attempts."""
        self.attempts += 1
        if self.attempts == 1:
            connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
        return self.attempts

    def write(self, connection: Connection) -> WriteResult[int]:
        """Do the same in a transaction."""
        return WriteResult(self.read(connection), "", ())


@pytest.fixture(params=["direct", "pooler"])
async def engines(
    request: pytest.FixtureRequest, backends: Backends, database: str, tmp_path: Path
) -> AsyncIterator[Engines]:
    """A database, by itself and behind PgBouncer."""
    with PgBouncer(backends.postgres) as pooler:
        is_direct = request.param == "direct"
        url = backends.postgres.url(database) if is_direct else pooler.url(database)
        opened = open_database(settings_at(url, backends, tmp_path))
        yield opened
        await opened.close()


@pytest.mark.anyio
@pytest.mark.parametrize("is_snapshot", [False, True])
async def test_read_that_the_server_ends_is_repeated(engines: Engines, is_snapshot: bool) -> None:
    assert await engines.read(Ending().read, is_snapshot=is_snapshot) == 2


@pytest.mark.anyio
@pytest.mark.parametrize("is_alone", [False, True])
async def test_transactions_that_the_server_ends_are_repeated(
    engines: Engines, is_alone: bool
) -> None:
    outcomes: list[int] = []

    async def write() -> None:
        result, _ = await engines.write(Ending().write, is_alone=is_alone)
        outcomes.append(result)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        tasks.start_soon(write)
    assert outcomes == [2, 2]
