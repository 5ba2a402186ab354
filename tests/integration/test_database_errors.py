"""Failures of PostgreSQL and of the way to it are named by their cause, and without secrets."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from pydantic import SecretStr
from sqlalchemy import NullPool, create_engine, make_url
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from app.config.settings import DatabaseSettings, Settings
from app.errors import StoreFullError, StoreMisconfiguredError, StoreUnavailableError
from app.stores.records.database_errors import (
    ADVICE,
    database_error,
    is_database_failure,
    translate_errors,
)
from app.wiring.stores import migrate_database
from tests.kit.process import ROOT
from tests.kit.servers import Backends, Postgres

pytestmark = pytest.mark.anyio

PASSWORD = "the-right-one"  # noqa: S105 - of a role that the test makes
SECRET = "geheim-und-falsch"  # noqa: S105 - a wrong one
_MISCONFIGURED = StoreMisconfiguredError


def url_of(
    postgres: Postgres, user: str, password: str | None, database: str, more: str = ""
) -> str:
    """A URL of a database of the cluster, as an operator writes it."""
    secret = "" if password is None else f":{quote(password, safe='')}"
    folder = quote(str(postgres.folder / "cluster"), safe="")
    return f"postgresql://{user}{secret}@/{database}?host={folder}{more}"


def wrong_password(postgres: Postgres) -> str:
    return url_of(postgres, postgres.new_role(PASSWORD), SECRET, "postgres")


def no_password(postgres: Postgres) -> str:
    return url_of(postgres, postgres.new_role(PASSWORD), None, "postgres")


def unknown_role(postgres: Postgres) -> str:
    return url_of(postgres, "nobody_of_this_name", SECRET, "postgres")


def missing_database(postgres: Postgres) -> str:
    return url_of(postgres, "postgres", SECRET, "none_of_this_name")


def no_login(postgres: Postgres) -> str:
    role = postgres.new_role(PASSWORD)
    postgres.execute(f"ALTER ROLE {role} NOLOGIN")
    return url_of(postgres, role, PASSWORD, "postgres")


def not_admitted(postgres: Postgres) -> str:
    return url_of(postgres, postgres.new_role(PASSWORD, "reject"), PASSWORD, "postgres")


def no_right_to_connect(postgres: Postgres) -> str:
    database = postgres.new_database()
    postgres.execute(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
    return url_of(postgres, postgres.new_role(PASSWORD), PASSWORD, database)


def no_right_to_create(postgres: Postgres) -> str:
    return url_of(postgres, postgres.new_role(PASSWORD), PASSWORD, postgres.new_database())


def read_only(postgres: Postgres) -> str:
    database = postgres.new_database()
    postgres.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    return url_of(postgres, "postgres", SECRET, database)


def unknown_value(postgres: Postgres) -> str:
    return url_of(postgres, "postgres", SECRET, "postgres", "&sslmode=requires")


def not_accepting(postgres: Postgres) -> str:
    database = postgres.new_database()
    postgres.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
    return url_of(postgres, "postgres", SECRET, database)


def too_many_connections(postgres: Postgres) -> str:
    role = postgres.new_role(PASSWORD)
    postgres.execute(f"ALTER ROLE {role} CONNECTION LIMIT 0")
    return url_of(postgres, role, PASSWORD, "postgres")


def no_such_socket(postgres: Postgres) -> str:
    return f"postgresql://user:{SECRET}@/name?host={quote(str(postgres.folder / 'no'), safe='')}"


REFUSALS: list[tuple[Callable[[Postgres], str], str, type[StoreUnavailableError]]] = [
    (wrong_password, "wrong-password", _MISCONFIGURED),
    (no_password, "no-password", _MISCONFIGURED),
    (unknown_role, "unknown-role", _MISCONFIGURED),
    (missing_database, "missing-database", _MISCONFIGURED),
    (no_login, "no-login", _MISCONFIGURED),
    (not_admitted, "not-admitted", _MISCONFIGURED),
    (no_right_to_connect, "access-denied", _MISCONFIGURED),
    (no_right_to_create, "access-denied", _MISCONFIGURED),
    (read_only, "read-only", _MISCONFIGURED),
    (unknown_value, "wrong-option", _MISCONFIGURED),
    (not_accepting, "not-accepting", StoreUnavailableError),
    (too_many_connections, "too-many-connections", StoreUnavailableError),
    (no_such_socket, "connection-refused", StoreUnavailableError),
]


async def failure(url: str, data_dir: Path) -> StoreUnavailableError:
    """Return the error of `pagefault migrate`: one line in the log, and no part of the URL."""
    settings = Settings(data_dir=data_dir, db=DatabaseSettings(url=SecretStr(url)))
    with capture_logs() as logs, pytest.raises(StoreUnavailableError) as caught:
        await migrate_database(settings)
    error = caught.value
    assert error.cause is not None
    level = "error" if isinstance(error, StoreMisconfiguredError) else "warning"
    assert [(line["event"], line["cause"], line["log_level"]) for line in logs] == [
        ("database failed", error.cause.name, level)
    ]
    words = f"{logs} {error.cause} {error} {error.members}"
    parts = (SECRET, PASSWORD, "none_of_this_name", "127.0.0.1", make_url(url).username or "-")
    assert [part for part in parts if part in words] == []
    return error


@pytest.mark.promise(
    "security.md#links-and-keys",
    (
        "A database that refuses the service is named by its cause where the service is started, "
        "by commands, in the log and to callers, without its password, host, user or name"
    ),
    kept_by="app/stores/records/database_errors.py",
    tried="13 refusals of a real server",
)
@pytest.mark.parametrize(("refused", "cause", "error"), REFUSALS)
async def test_what_the_server_refuses_is_named_without_what_the_url_says(
    backends: Backends,
    tmp_path: Path,
    refused: Callable[[Postgres], str],
    cause: str,
    error: type[StoreUnavailableError],
) -> None:
    with backends.dropping():
        found = await failure(refused(backends.postgres), tmp_path)
    assert found.cause is not None
    assert (found.cause.name, type(found), found.members) == (cause, error, {"cause": cause})
    assert found.cause.sentence.startswith(f"the database {ADVICE[error][cause]}")


@contextmanager
def answering(answer: bytes | None) -> Iterator[int]:
    """Something that listens, and answers so and ends the connection; `None` for never."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_all() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(64)
                    connection.sendall(answer or b"")

        thread = threading.Thread(target=answer_all)
        if answer is not None:
            thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            if answer is not None:
                thread.join()


@pytest.mark.parametrize(
    ("answer", "options", "cause"),
    [
        (b"N", "?sslmode=require", "no-tls"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "", "not-postgresql"),
        (b"", "", "connection-lost"),
        (None, "", "timed-out"),
    ],
)
async def test_what_is_no_server_is_named(
    tmp_path: Path, answer: bytes | None, options: str, cause: str
) -> None:
    with answering(answer) as port:
        found = await failure(
            f"postgresql://somebody:{SECRET}@127.0.0.1:{port}/name{options}", tmp_path
        )
    assert found.cause is not None
    assert found.cause.name == cause


async def test_port_at_which_nothing_listens_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    found = await failure(f"postgresql://somebody:{SECRET}@127.0.0.1:{port}/name", tmp_path)
    assert found.cause is not None
    assert found.cause.name == "connection-refused"


def _connecting(words: str) -> DBAPIError:
    error = psycopg.OperationalError(f"connection failed: {words}")
    return DBAPIError.instance(None, None, error, psycopg.Error)  # type: ignore[return-value]


# As psycopg 3.3 and PostgreSQL 18 say them; no test sends anything off this machine.
WORDS = {
    "failed to resolve host 'db.internal': [Errno -2] Name or service not known": "unresolved-name",
    'connection to server at "192.0.2.1", port 5432 failed: No route to host': "unreachable",
    "connection to server failed: FATAL:  the database system is starting up": "starting",
    "connection to server failed: FATAL:  sorry, too many clients already": "too-many-connections",
    "FATAL:  remaining connection slots are reserved for roles": "too-many-connections",
    "connection failed: SSL error: certificate verify failed": "certificate",
    'root certificate file "/root/.postgresql/root.crt" does not exist': "certificate",
    'FATAL:  no pg_hba.conf entry for host "10.0.0.2", user "a", no encryption': "not-admitted",
    "FATAL: no such database: name": "missing-database",
    'definition of service "none" not found': "wrong-option",
    "FATAL:  unsupported startup parameter: options": "refused-option",
    "ВАЖНО:  пользователь не прошёл проверку подлинности": "failed",
}


@pytest.mark.parametrize(("words", "cause"), WORDS.items())
def test_connection_that_failed_is_named_by_what_the_driver_says(words: str, cause: str) -> None:
    error = _connecting(words)
    assert is_database_failure(error)
    found = database_error(error)
    assert found.cause is not None
    assert found.cause.name == cause


@pytest.mark.parametrize(
    "statement", ["PREPARE same AS SELECT 1; PREPARE same AS SELECT 1", "EXECUTE unknown"]
)
def test_statement_prepared_over_another_connection_is_named(
    backends: Backends, statement: str
) -> None:
    with backends.dropping():
        engine = create_engine(
            "postgresql+psycopg://",
            creator=partial(
                psycopg.connect, backends.postgres.url(backends.postgres.new_database())
            ),
            poolclass=NullPool,
        )
        with (
            engine.connect() as connection,
            pytest.raises(StoreMisconfiguredError) as raised,
            translate_errors(),
        ):
            connection.exec_driver_sql(statement)
    assert raised.value.cause is not None
    assert raised.value.cause.name == "transaction-pooler"


def test_full_disk_is_no_room_and_a_mistake_of_ours_no_fault() -> None:
    full = psycopg.errors.DiskFull("could not extend file: No space left on device")
    error = DBAPIError.instance("", None, full, psycopg.Error)
    assert isinstance(database_error(error), StoreFullError)
    ours = psycopg.errors.UndefinedTable('relation "invalid value" does not exist')
    mistake = DBAPIError.instance("", None, ours, psycopg.Error)
    assert isinstance(mistake, DBAPIError)
    assert not is_database_failure(mistake)


def test_document_says_what_to_do_about_each_cause() -> None:
    document = (ROOT / "docs" / "deployment.md").read_text().partition("### The database")[2]
    causes = [name for advices in ADVICE.values() for name in advices]
    assert [name for name in causes if f"`{name}`" not in document.partition("\n### ")[0]] == []
