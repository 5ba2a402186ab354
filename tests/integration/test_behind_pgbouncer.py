"""The service over PostgreSQL behind PgBouncer in transaction mode, where connections are shared.

Two connections to the server serve every client, so each transaction may run on another one.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import psycopg
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from app.config.settings import DatabaseSettings, QuotaSettings, Settings
from app.errors import StoreMisconfiguredError
from app.stores.records.engine import is_pooled
from app.stores.records.migrations import current_revision
from app.wiring.stores import migrate_database, open_checked_database, open_database
from tests.kit.pgbouncer import PgBouncer
from tests.kit.servers import Backends, LiveService, Postgres, serving

CLIENTS = 8
ROUNDS = 10
# With PgBouncer's default of 15 s between two logins it takes some 5,000.
MAX_PROBES = 1_000
# PgBouncer itself sets these to the values of each client.
_OF_CLIENTS = {
    "application_name",
    "client_encoding",
    "DateStyle",
    "standard_conforming_strings",
    "TimeZone",
}
_STATE = """
    SELECT name FROM pg_settings WHERE source = 'session'
    UNION ALL SELECT statement FROM pg_prepared_statements
    UNION ALL SELECT name FROM pg_cursors
    UNION ALL SELECT relname FROM pg_class WHERE relpersistence = 't'
    UNION ALL SELECT locktype FROM pg_locks WHERE locktype = 'advisory'
"""


@pytest.fixture
def pgbouncer(backends: Backends) -> Iterator[PgBouncer]:
    with PgBouncer(backends.postgres) as pooler:
        yield pooler


def settings_behind(
    pgbouncer: PgBouncer,
    backends: Backends,
    folder: Path,
    options: str = "",
    *,
    transaction_pooler: bool | None = None,
) -> Settings:
    """Return settings over a fresh database behind PgBouncer, with a quota of stored bytes."""
    url = SecretStr(pgbouncer.url(backends.postgres.new_database(migrated=True), options))
    changes = {
        "db": DatabaseSettings(url=url, transaction_pooler=transaction_pooler),
        "quotas": QuotaSettings(stored_bytes=1 << 30),
    }
    return backends.settings("server", folder / "data").model_copy(update=changes)


@pytest.fixture
def pooled(backends: Backends, pgbouncer: PgBouncer, tmp_path: Path) -> Settings:
    return settings_behind(pgbouncer, backends, tmp_path)


def write_and_read(base_url: str, key: str, number: int) -> list[str]:
    """Write records of each kind and read them back; return the unexpected answers."""
    faults = []
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=base_url, headers=headers, timeout=60, trust_env=False) as client:
        for turn in range(ROUNDS):
            session, text = f"s{number}", f"{number} {turn}"
            call = {"toolName": "t", "toolCallId": f"c{turn}", "sessionId": session, "result": text}
            page = f"/api/pages/p{number}.{turn}"
            written = client.post("/api/tool-results", json=call)
            stored = client.put(page, json={"content": text})
            place = written.headers.get("location", "/api/none")
            answers = [
                written,
                stored,
                client.get(place),
                client.get(page),
                client.get("/api/sessions/" + session),
                client.get("/api/tool-results", params={"sessionId": session}),
                client.get(f"/api/sessions/{session}/messages"),
            ]
            faults += [
                f"{a.request.method} {a.url.path} {a.status_code}"
                for a in answers
                if a.status_code >= 400
            ]
            if not faults and (answers[2].content != written.content):
                faults.append(f"{place} is another record")
    return faults


def drive(service: LiveService) -> list[str]:
    """Write and read with several clients at once; return the unexpected answers."""
    key = service.new_key()
    with ThreadPoolExecutor(CLIENTS) as clients:
        faults = clients.map(partial(write_and_read, service.base_url, key), range(CLIENTS))
        return [fault for item in faults for fault in item]


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#several-at-once",
    (
        "Behind PgBouncer in transaction mode, where a statement of the same name may be another "
        "client's, concurrent clients read what they wrote"
    ),
    kept_by="app/stores/records/engine.py",
    tried="8 clients over 2 connections, 560 requests",
)
def test_concurrent_clients_read_what_they_wrote(pooled: Settings) -> None:
    with serving(pooled) as service:
        assert drive(service) == []


@pytest.mark.slow
def test_no_state_is_left_in_the_connections_of_the_pooler(pooled: Settings) -> None:
    assert pooled.db.url is not None
    url = pooled.db.url.get_secret_value()
    with serving(pooled) as service:
        drive(service)
    # Each holds one of the two connections to the server.
    with psycopg.connect(url) as first, psycopg.connect(url) as second:
        state = [
            {name for (name,) in connection.execute(_STATE, prepare=False)} - _OF_CLIENTS
            for connection in (first, second)
        ]
    assert state == [set(), set()]


@pytest.mark.anyio
async def test_pooler_is_recognized_and_logged(pooled: Settings) -> None:
    with capture_logs() as logs:
        async with open_checked_database(pooled) as engines:
            assert is_pooled(engines.reader)
    assert logs == [{"event": "behind a pooler: statements are not prepared", "log_level": "info"}]


@pytest.mark.anyio
async def test_server_itself_is_no_pooler(backends: Backends, tmp_path: Path) -> None:
    settings = backends.settings("server", tmp_path)
    with capture_logs() as logs:
        async with open_checked_database(settings) as engines:
            assert not is_pooled(engines.reader)
    assert logs == []


@pytest.mark.anyio
async def test_setting_overrides_what_is_recognized(
    backends: Backends, pgbouncer: PgBouncer, tmp_path: Path
) -> None:
    behind = settings_behind(pgbouncer, backends, tmp_path, transaction_pooler=False)
    direct = backends.settings("server", tmp_path)
    named = direct.db.model_copy(update={"transaction_pooler": True})
    both = [open_database(behind), open_database(direct.model_copy(update={"db": named}))]
    assert [is_pooled(engines.reader) for engines in both] == [False, True]
    for engines in both:
        await engines.close()


@pytest.mark.anyio
async def test_option_that_the_pooler_refuses_is_named(
    backends: Backends, pgbouncer: PgBouncer, tmp_path: Path
) -> None:
    options = "&options=-c%20statement_timeout%3D5s"
    settings = settings_behind(pgbouncer, backends, tmp_path, options)
    with pytest.raises(StoreMisconfiguredError) as refused:
        async with open_checked_database(settings):
            pass
    assert refused.value.cause is not None
    assert refused.value.cause.name == "refused-option"


@pytest.mark.anyio
async def test_schema_is_migrated_through_the_pooler(
    backends: Backends, pgbouncer: PgBouncer, tmp_path: Path
) -> None:
    url = SecretStr(pgbouncer.url(backends.postgres.new_database()))
    settings = Settings(data_dir=tmp_path, db=DatabaseSettings(url=url))
    _, after = await migrate_database(settings)
    async with open_checked_database(settings) as engines:
        assert current_revision(engines.reader) == after


def test_request_that_finds_no_connection_in_the_pooler_is_a_503_with_the_cause(
    backends: Backends, tmp_path: Path
) -> None:
    with PgBouncer(backends.postgres, {"query_wait_timeout": "1"}) as pooler:
        settings = settings_behind(pooler, backends, tmp_path)
        assert settings.db.url is not None
        url = settings.db.url.get_secret_value()
        with (
            serving(settings) as service,
            service.client() as client,
            psycopg.connect(url) as first,
            psycopg.connect(url) as second,
        ):
            for connection in (first, second):
                connection.execute("SELECT 1")
            refused = client.get("/readyz")
    assert (refused.status_code, refused.json()["cause"]) == (503, "pooler-busy")


@pytest.mark.slow
def test_server_behind_the_pooler_that_comes_back_is_used_again(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = tmp_path_factory.mktemp("postgres")
    with Postgres(folder, is_durable=True) as server, PgBouncer(server) as pooler:
        url = SecretStr(pooler.url(server.new_database(migrated=True)))
        settings = backends.settings("server", tmp_path).model_copy(
            update={"db": DatabaseSettings(url=url)}
        )
        with serving(settings) as service, service.client() as client:
            client.get("/readyz").raise_for_status()
            server.crash()
            assert client.get("/readyz").status_code == 503
            server.start_again()
            assert any(client.get("/readyz").status_code == 200 for _ in range(MAX_PROBES))
