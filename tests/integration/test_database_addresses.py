"""Several servers in one address: each form serves and listens, at the server that takes writes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import anyio
import psycopg
import pytest
from pydantic import SecretStr

from app.config.settings import DatabaseSettings, Settings
from app.errors import StoreUnavailableError
from app.wiring.brokers.notifications import CHANNEL
from app.wiring.stores import migrate_database, open_broker, open_checked_database
from tests.kit.servers import Backends, Postgres, folder_in_memory

pytestmark = pytest.mark.anyio

WAIT_SECONDS = 60.0
HINT = json.dumps({"sender": "other", "newest": {"p": 1}})


class FirstWake:
    """A listener that waits for its first notification of a project."""

    has_streams = True

    def __init__(self) -> None:
        self.arrived = anyio.Event()

    def wake(self, project_id: str | None, number: int | None) -> None:
        """Note it."""
        if (project_id, number) == ("p", 1):
            self.arrived.set()


@dataclass(frozen=True)
class TwoServers:
    """The folders of their sockets, and a database that both have."""

    read_only: str
    writable: str
    database: str


@pytest.fixture(scope="module")
def servers(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoServers]:
    """A server that takes no writes, as a replica, and one that does."""
    database = backends.postgres.new_database()
    otherwise = tmp_path_factory.mktemp("postgres")
    with folder_in_memory(otherwise) as folder, Postgres(folder) as server:
        server.execute(f"CREATE DATABASE {database}")
        server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        server.execute("SELECT pg_reload_conf()")
        first, second = (str(item.folder / "cluster") for item in (server, backends.postgres))
        yield TwoServers(first, second, database)


def uri_of_hosts(first: str, second: str, database: str) -> str:
    hosts = ",".join(quote(folder, safe="") for folder in (first, second))
    return f"postgresql://postgres@{hosts}/{database}"


def uri_with_host_option(first: str, second: str, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={first},{second}"


def sqlalchemy_form(first: str, second: str, database: str) -> str:
    return f"postgresql+psycopg://postgres@/{database}?host={first}&host={second}"


def keywords(first: str, second: str, database: str) -> str:
    return f"host={first},{second} user=postgres dbname={database}"


@pytest.mark.slow
@pytest.mark.parametrize("form", [uri_of_hosts, uri_with_host_option, sqlalchemy_form, keywords])
async def test_two_servers_in_any_form_migrate_serve_and_listen(
    backends: Backends, servers: TwoServers, tmp_path: Path, form: Callable[[str, str, str], str]
) -> None:
    database = servers.database
    url = SecretStr(form(servers.read_only, servers.writable, database))
    settings = Settings(data_dir=tmp_path, db=DatabaseSettings(url=url))
    await migrate_database(settings)
    listener = FirstWake()
    async with (
        open_checked_database(settings) as engines,
        open_broker(settings, engines) as broker,
        broker.listening(listener),
    ):
        with psycopg.connect(backends.postgres.url(database), autocommit=True) as other:
            with anyio.fail_after(WAIT_SECONDS):
                while not listener.arrived.is_set():
                    other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, HINT))
                    with anyio.move_on_after(0.01):
                        await listener.arrived.wait()


async def test_servers_of_which_none_takes_writes_are_named(
    servers: TwoServers, tmp_path: Path
) -> None:
    url = SecretStr(keywords(servers.read_only, str(tmp_path), servers.database))
    with pytest.raises(StoreUnavailableError) as raised:
        await migrate_database(Settings(data_dir=tmp_path, db=DatabaseSettings(url=url)))
    assert raised.value.cause is not None
    assert raised.value.cause.name == "no-primary"


async def test_server_that_is_down_is_passed_over(backends: Backends, tmp_path: Path) -> None:
    database = backends.postgres.new_database()
    running = str(backends.postgres.folder / "cluster")
    url = SecretStr(keywords(str(tmp_path), running, database))
    await migrate_database(Settings(data_dir=tmp_path, db=DatabaseSettings(url=url)))
    async with open_checked_database(Settings(data_dir=tmp_path, db=DatabaseSettings(url=url))):
        pass
