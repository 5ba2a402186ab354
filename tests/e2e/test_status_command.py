"""`pagefault status` as an operator meets it: without a server, with stores that are down."""

import json
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine

from app.config.settings import DatabaseSettings, Settings
from app.stores.records.migrations import newest_revision
from app.version import VERSION
from app.wiring.stores import open_database
from tests.integration.sweep_stores import environment_of
from tests.kit.loaded_command import LoadedCommand
from tests.kit.pgbouncer import PgBouncer
from tests.kit.redis_server import RedisServer
from tests.kit.servers import Backends, Engine, serving

SECRET = "geheim"  # noqa: S105 - must not be printed


def read_status(
    pagefault: LoadedCommand, settings: Settings, env: Mapping[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """Run the command with `--json`; return its exit status and the report."""
    done = pagefault.run("status", "--json", env={**environment_of(settings), **(env or {})})
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def print_status(pagefault: LoadedCommand, settings: Settings) -> tuple[int, str]:
    done = pagefault.run("status", env=environment_of(settings))
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_sound_stores_are_reported_without_a_server(
    pagefault: LoadedCommand, settings: Settings, engine: Engine
) -> None:
    status, report = read_status(pagefault, settings)
    assert (status, report["problems"], report["failures"]) == (0, [], {})
    assert report["version"] == VERSION
    assert report["revision"] == {"current": newest_revision(), "needed": newest_revision()}
    assert report["queues"] == {
        "projects": 0,
        "events": 0,
        "searchEntries": 0,
        "oldestEntry": None,
        "openUploads": 0,
        "oldestExpiry": None,
        "largest": [],
    }
    assert (report["database"]["server"] is None) == (engine == "embedded")


def test_text_has_a_line_for_each_part(
    pagefault: LoadedCommand, settings: Settings, engine: Engine
) -> None:
    status, text = print_status(pagefault, settings)
    names = re.findall(r"^(\w+):", text, re.MULTILINE)
    parts = [
        "database",
        "schema",
        "pooler",
        "notifications",
        "files",
        "disk",
        "search",
        "uploads",
        "projects",
    ]
    parts += ["quotas", *(["transactions"] if engine == "server" else []), "statements", "Python"]
    assert (status, names) == (0, parts)
    assert text.splitlines()[0].endswith("UTC: no problems")


def test_report_beside_a_server_has_its_writes_and_connections(
    pagefault: LoadedCommand, settings: Settings
) -> None:
    with serving(settings) as service, service.client() as client:
        client.post("/api/resources", content=b"x").raise_for_status()
        call = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "result": "r"}
        client.post("/api/tool-results", json=call).raise_for_status()
        status, report = read_status(pagefault, settings)
        server = report["database"]["server"]
        assert server is None or server["ofService"] > 0
    assert (status, report["queues"]["events"] > 0) == (0, True)


def test_old_backlog_is_a_problem(pagefault: LoadedCommand, settings: Settings) -> None:
    with serving(settings) as service, service.client() as client:
        call = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "result": "r"}
        client.post("/api/tool-results", json=call).raise_for_status()
    engines = open_database(settings)
    with engines.writer.connect() as connection:
        connection.exec_driver_sql("UPDATE search_entries SET indexed = 0")
        connection.exec_driver_sql("UPDATE tool_results SET created_at = created_at - 3600000000")
    engines.writer.dispose()
    status, report = read_status(pagefault, settings)
    assert (status, report["queues"]["searchEntries"]) == (1, 1)
    assert [problem[:29] for problem in report["problems"]] == ["the search index is 60 min be"]


def test_schema_of_another_version_is_a_problem_and_is_left_as_it_is(
    pagefault: LoadedCommand, settings: Settings
) -> None:
    engines = open_database(settings)
    with closing(engines.writer.connect()) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0020'")
    engines.writer.dispose()
    for _ in range(2):
        status, report = read_status(pagefault, settings)
        assert (status, report["queues"]) == (1, None)
        assert report["revision"] == {"current": "0020", "needed": newest_revision()}
        assert "pagefault migrate" in report["problems"][0]


@pytest.mark.engines("server")
def test_database_that_is_away_leaves_the_rest_of_the_report(
    pagefault: LoadedCommand, settings: Settings, backends: Backends
) -> None:
    with backends.database_away(settings):
        status, report = read_status(pagefault, settings)
        _, text = print_status(pagefault, settings)
    assert (status, report["database"], [*report["failures"]]) == (1, None, ["database"])
    assert report["problems"] == [report["failures"]["database"]]
    assert "database:      FAILED" in text
    assert "files:         ok" in text


@pytest.mark.engines("embedded")
def test_folder_that_takes_no_files_leaves_the_rest_of_the_report(
    pagefault: LoadedCommand, settings: Settings
) -> None:
    (settings.data_dir / "blobs").touch()
    (settings.data_dir / "tmp").touch()
    status, report = read_status(pagefault, settings)
    assert (status, [*report["failures"]]) == (1, ["files"])
    assert report["queues"] is not None


@pytest.mark.engines("embedded")
def test_directory_without_a_database_is_named(pagefault: LoadedCommand, tmp_path: Path) -> None:
    done = pagefault.run("status", "--data-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.engines("embedded")
def test_project_near_its_quota_is_a_problem(pagefault: LoadedCommand, settings: Settings) -> None:
    quotas = settings.quotas.model_copy(update={"stored_bytes": 1_000})
    with (
        serving(settings.model_copy(update={"quotas": quotas})) as service,
        service.client(service.new_key("p")) as client,
    ):
        client.post("/api/resources", content=bytes(950)).raise_for_status()
    status, report = read_status(pagefault, settings, {"PAGEFAULT_QUOTAS__STORED_BYTES": "1000"})
    assert (status, report["queues"]["largest"]) == (1, [{"projectId": "p", "storedBytes": 950}])
    assert report["problems"] == ["project p has used 95% of its quota of stored bytes"]


@pytest.mark.promise(
    "security.md#links-and-keys",
    (
        "`pagefault status` prints neither the password of the database nor values and passwords "
        "in statements of others"
    ),
    kept_by="app/stores/records/database_status.py",
    tried="3 forms of literals, a role's password in pg_stat_statements",
)
@pytest.mark.engines("server")
def test_no_password_and_no_value_of_a_statement_is_printed(
    pagefault: LoadedCommand, settings: Settings, backends: Backends
) -> None:
    database = backends.postgres.new_database(migrated=True)
    url = backends.postgres.url(database)
    secret_url = SecretStr(url.replace("postgres:@", f"postgres:{SECRET}@"))
    with_secret = settings.model_copy(update={"db": DatabaseSettings(url=secret_url)})
    with psycopg.connect(url) as connection:
        connection.execute(f"SELECT '{SECRET}', $a${SECRET}$a$, 'it''s {SECRET}'")
        status, text = print_status(pagefault, with_secret)
    assert status == 0
    assert "SELECT '…', '…', '…'" in text
    assert SECRET not in text


@pytest.mark.engines("server")
def test_slowest_statements_are_those_of_pg_stat_statements(
    pagefault: LoadedCommand, settings: Settings
) -> None:
    """The extension is not installed here; a view of its name has its columns."""
    engine = create_engine("postgresql+psycopg://", creator=lambda: connect(settings))
    with engine.begin() as connection:
        connection.exec_driver_sql(_STATISTICS)
    engine.dispose()
    _, report = read_status(pagefault, settings)
    assert report["database"]["server"]["slow"] == [
        {"calls": 2, "meanSeconds": 3.0, "maxSeconds": 4.0, "query": "SELECT $1"},
        {"calls": 1, "meanSeconds": 1.0, "maxSeconds": 1.0, "query": "INSERT INTO t VALUES ($1)"},
    ]
    assert (
        "statements:    3,000.0 ms on average, 2 times: SELECT $1"
        in print_status(pagefault, settings)[1]
    )


def connect(settings: Settings) -> psycopg.Connection:
    assert settings.db.url is not None
    return psycopg.connect(settings.db.url.get_secret_value())


_STATISTICS = """
    CREATE VIEW pg_stat_statements AS
    SELECT oid AS dbid, calls, mean_exec_time, max_exec_time, query FROM pg_database, (VALUES
      (2, 3000.0::float, 4000.0::float, 'SELECT  $1'),
      (1, 1000.0, 1000.0, 'INSERT INTO t VALUES ($1)'),
      (1, 9000.0, 9000.0, 'ALTER ROLE pagefault PASSWORD ''geheim''')
    ) AS statements (calls, mean_exec_time, max_exec_time, query)
"""


@pytest.mark.engines("server")
def test_pooler_is_named_and_notifications_lost_in_it_are_a_problem(
    pagefault: LoadedCommand, settings: Settings, backends: Backends
) -> None:
    with PgBouncer(backends.postgres) as pooler:
        url = SecretStr(pooler.url(backends.postgres.new_database(migrated=True)))
        behind = settings.model_copy(update={"db": DatabaseSettings(url=url)})
        status, report = read_status(pagefault, behind)
        _, text = print_status(pagefault, behind)
    assert (status, report["pooler"]) == (1, {"isRecognized": True, "isSet": None})
    advice = report["notifications"]["advice"]
    assert report["problems"] == [f"notifications do not arrive: {advice}"]
    assert report["notifications"]["areArriving"] is False
    assert re.search(r"^pooler: +yes, statements are not prepared$", text, re.MULTILINE)
    assert re.search(r"^  ! notifications do not.*PAGEFAULT_DB__LISTEN_URL", text, re.MULTILINE)
    assert re.search(r"^notifications: +do not arrive, see the problems$", text, re.MULTILINE)


@pytest.mark.engines("server")
def test_notifications_are_tried_over_the_database_and_over_redis(
    pagefault: LoadedCommand, settings: Settings
) -> None:
    with RedisServer() as redis:
        over_redis = {"PAGEFAULT_EVENTS__REDIS_URL": redis.url}
        reports = [read_status(pagefault, settings, env)[1] for env in ({}, over_redis)]
        redis.kill()
        status, without = read_status(pagefault, settings, over_redis)
    assert [
        (report["notifications"]["carrier"], report["notifications"]["areArriving"])
        for report in reports
    ] == [("database", True), ("redis", True)]
    assert (status, [*without["failures"]]) == (1, ["notifications"])
    assert "the server of PAGEFAULT_EVENTS__REDIS_URL runs" in without["failures"]["notifications"]
    assert "secret" not in json.dumps(without)


@pytest.mark.engines("server")
def test_listen_address_that_does_not_answer_is_the_one_to_look_at(
    pagefault: LoadedCommand, settings: Settings
) -> None:
    env = {"PAGEFAULT_DB__LISTEN_URL": "postgresql://pagefault@127.0.0.1:1/pagefault"}
    status, report = read_status(pagefault, settings, env)
    assert (status, [*report["failures"]]) == (1, ["notifications"])
    assert report["problems"] == [
        "notifications cannot be sent, so events of other processes come up to a second late: look "
        "whether the server of PAGEFAULT_DB__LISTEN_URL runs and can be reached"
    ]
