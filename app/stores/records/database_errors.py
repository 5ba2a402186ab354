"""Translate the errors of SQLAlchemy and the drivers, and name their causes.

A driver's message may contain users, hosts and stored values, so only the error's code leaves this
module. If a server refuses a connection, libpq has no code, and the cause is read from the message.
The message is in the server's language; if this is not English, the cause is `failed`.

A caller gets one of these:

    StoreFullError            507  the disk is full
    StoreMisconfiguredError   503  requests fail until the operator acts
    StoreUnavailableError     503  any other failure, mostly a database that does not respond

Sources: PostgreSQL, "PostgreSQL Error Codes"; its `auth.c`, `postinit.c` and `hba.c`, and libpq's
`fe-connect.c` and `fe-secure-openssl.c`; SQLite, "Result and Error Codes".
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import structlog
from sqlalchemy import ExceptionContext
from sqlalchemy import exc as sql

from app.errors import StoreCause, StoreFullError, StoreMisconfiguredError, StoreUnavailableError

_URL = "PAGEFAULT_DB__URL"
_DOCUMENT = "docs/deployment.md"
_TIMEOUT = "PAGEFAULT_DB__TIMEOUT_SECONDS"
_POOLER = "PAGEFAULT_DB__TRANSACTION_POOLER"

_Result = TypeVar("_Result")
_log = structlog.get_logger(__name__)

ADVICE: Mapping[type[StoreUnavailableError], Mapping[str, str]] = {
    StoreMisconfiguredError: {
        "wrong-password": f"refuses the user or the password in {_URL}: correct them; special "
        "characters are percent-encoded there",
        "no-password": f"asks for a password and {_URL} has none: write it behind the user, "
        "percent-encoded",
        "unknown-role": f"has no role of the name in {_URL}: create it, or correct the name",
        "missing-database": f"is not there: create the database that {_URL} names, or correct the "
        "name",
        "no-login": f"does not let the role in {_URL} log in: `ALTER ROLE … LOGIN`",
        "not-admitted": "refuses this machine, role or database by its pg_hba.conf: add a line "
        f"there; if it asks for TLS, end {_URL} with ?sslmode=require",
        "access-denied": f"does not allow the role in {_URL} to do this: make it the owner of the "
        f"database ({_DOCUMENT} has the commands)",
        "read-only": f"can only be read, as a replica can: name the primary server in {_URL}",
        "no-tls": f"speaks no TLS: set it up there, or take sslmode out of {_URL}",
        "certificate": "shows a certificate that is not trusted, or the file that sslrootcert "
        f"names is missing: correct sslmode, sslrootcert and the host in {_URL}",
        "not-postgresql": f"answers unlike PostgreSQL: correct host and port in {_URL}",
        "transaction-pooler": "is behind a pooler that runs transactions over several connections: "
        f"set {_POOLER}=true",
        "refused-option": f"is behind a pooler that refuses an option in {_URL}: take it out, or "
        f"name it in the pooler's ignore_startup_parameters ({_DOCUMENT})",
        "wrong-option": f"cannot be asked: {_URL} has an option, or a value of one, that libpq "
        "does not know",
    },
    StoreFullError: {
        "full": "has no room left on its disk: make room; reading goes on",
    },
    StoreUnavailableError: {
        "unresolved-name": "cannot be found, since its host's name does not resolve: look at DNS, "
        f"or correct the host in {_URL}",
        "connection-refused": f"refuses connections: start it, or correct host and port in {_URL}",
        "unreachable": "cannot be reached from this machine: look at the network, or correct the "
        f"host in {_URL}",
        "timed-out": "did not answer in time: look whether it runs and can be reached",
        "connection-lost": "ended the connection, or a pooler has none to it: look whether the "
        "server runs, and at its own log and the pooler's",
        "no-primary": f"has no server that takes writes among those in {_URL}: a failover is under "
        "way, or only replicas are named",
        "starting": "is starting, ending, or recovering from a crash",
        "not-accepting": "takes no connections now: see `ALTER DATABASE … ALLOW_CONNECTIONS`",
        "too-many-connections": "has no connection left: raise its max_connections, or lower "
        f"PAGEFAULT_DB__POOL_SIZE ({_DOCUMENT} says how many are needed)",
        "busy": f"had no connection or no turn to write free within {_TIMEOUT}",
        "pooler-busy": "is behind a pooler that had no connection free within its "
        f"query_wait_timeout: raise its default_pool_size ({_DOCUMENT})",
        "locked": f"was locked by another transaction for longer than {_TIMEOUT}",
        "damaged": "has a file that is damaged, or is none of SQLite: put a backup in its place",
        "no-access": "has a file that cannot be opened, read or written: look at the disk and at "
        "the permissions of the data directory",
        "failed": "did not do what it was asked: look at its own log",
    },
}
"""Advice to the operator, by the error that a caller gets, and the cause."""

_ERRORS = {name: error for error, advices in ADVICE.items() for name in advices}
_SENTENCES = {name: text for advices in ADVICE.values() for name, text in advices.items()}
_DETAILS = {
    "damaged": "The database file is damaged, or is no database of SQLite. Whoever runs the "
    "service has to put a backup in its place."
}
_READ_ONLY = "25006"
# By SQLSTATE, or by the two or three characters with which related SQLSTATEs begin.
_BY_STATE: Mapping[str, str] = {
    "28P01": "wrong-password",
    "28000": "not-admitted",
    "3D000": "missing-database",
    "42501": "access-denied",
    _READ_ONLY: "read-only",
    "26000": "transaction-pooler",
    "42P05": "transaction-pooler",
    "53100": "full",
    "53300": "too-many-connections",
    "55P03": "locked",
    "57P03": "starting",
    "57P": "connection-lost",
    "08": "connection-lost",
}
# By SQLite's primary error code, which is the lowest byte of the code that the driver returns.
_BY_SQLITE: Mapping[int, str] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    **dict.fromkeys(
        (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY), "no-access"
    ),
}
_DISK_FULL = re.compile("No space left on device|disk is full")
# By the message of a failed connection, which has no SQLSTATE. A message may list several attempts
# with different causes, so specific causes come first.
_BY_MESSAGE: Mapping[str, str] = {
    r"password authentication failed": "wrong-password",
    r"no password supplied": "no-password",
    r"database \".*\" does not exist|no such database": "missing-database",
    r"role \".*\" does not exist|no such user": "unknown-role",
    r"not permitted to log in": "no-login",
    r"pg_hba\.conf": "not-admitted",
    r"permission denied for database": "access-denied",
    r"not currently accepting connections": "not-accepting",
    r"too many (clients|connections)|connection slots are reserved": "too-many-connections",
    r"database system is": "starting",
    r"unsupported startup parameter": "refused-option",
    r"session is read-only|server is in hot standby": "no-primary",
    r"does not support SSL": "no-tls",
    r"certificate|does not match host name": "certificate",
    r"SSL negotiation|expected authentication request|unsupported frontend": "not-postgresql",
    r"definition of service|service file": "wrong-option",
    r"invalid (connection option|\S+ value|port number|integer value)": "wrong-option",
    r"resolve host|translate host name": "unresolved-name",
    r"Connection refused|No such file or directory": "connection-refused",
    r"[Nn]o route to host|is unreachable": "unreachable",
    r"time(d )?out": "timed-out",
    r"closed the connection|terminating connection|[Cc]onnection reset|Broken pipe|SSL SYSCALL|"
    r"connection is (lost|closed)|EOF detected": "connection-lost",
}
_FAILURES = (sql.OperationalError, sql.InterfaceError, sql.TimeoutError)
# Causes that are faults of the setup, although SQLAlchemy raises them as errors of a statement.
_SETUP_CAUSES = frozenset(
    ("access-denied", "read-only", "damaged", "wrong-option", "transaction-pooler")
)


def run_and_reconnect(work: Callable[[], _Result]) -> _Result:
    """Run a function that uses a connection, and run it again if the connection was lost.

    Idle connections are lost if a proxy closes them or the server restarts. The pool replaces all
    of its connections after the first such error. The function must not raise such an error after a
    commit, because it would run twice.
    """
    try:
        return work()
    except sql.DBAPIError as exc:
        if not is_connection_lost(exc):
            raise
        _log.info("database connection lost, trying another", cause=_cause(exc)[0])
    return work()


def is_connection_lost(error: BaseException) -> bool:
    """Return whether the connection was lost, so that another one may work."""
    is_invalid = isinstance(error, sql.DBAPIError) and error.connection_invalidated
    return is_invalid and not _is_pool_exhausted(error)


def leave_replica(context: ExceptionContext) -> None:
    """Make the pool replace its connections if their server has become a replica.

    This is an event listener of an engine. Another server of the address may now be the primary.
    """
    if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True


def _is_pool_exhausted(error: BaseException) -> bool:
    return "query_wait_timeout" in str(getattr(error, "orig", ""))


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate failures of the database, but not errors in the statements of the service."""
    try:
        yield
    except sql.SQLAlchemyError as exc:
        if not is_database_failure(exc):
            raise
        raise database_error(exc) from exc


def is_database_failure(error: BaseException) -> bool:
    """Return whether the database or its setup has failed, and not a statement of the service."""
    if isinstance(error, sql.DatabaseError) and _cause(error)[0] in _SETUP_CAUSES:
        return True
    return isinstance(error, _FAILURES)


def database_error(error: BaseException) -> StoreUnavailableError:
    """Log a failure of the database; return the translated error, with `error` as its cause."""
    name, code = _cause(error)
    translated = unavailable_error(name, code)
    sentence = translated.cause and translated.cause.sentence
    level = _log.error if isinstance(translated, StoreMisconfiguredError) else _log.warning
    level("database failed", cause=name, code=code, advice=sentence)
    translated.__cause__ = error
    return translated


def unavailable_error(name: str, code: str | None = None) -> StoreUnavailableError:
    """Return the error of the cause `name`, a key of `ADVICE`.

    `code` is the error code of the database, if there is one.
    """
    sentence = f"the database {_SENTENCES[name]}" + (f" ({code})" if code else "")
    return _ERRORS[name]("database", detail=_DETAILS.get(name), cause=StoreCause(name, sentence))


def unconfirmed_error(error: StoreUnavailableError) -> StoreUnavailableError:
    """Return the error that says that the outcome of a commit is unknown; `error` is its cause.

    A `StoreFullError` is returned unchanged, because such a commit has certainly failed.
    """
    if isinstance(error, StoreFullError):
        return error
    return StoreUnavailableError(
        "database",
        detail="The database did not confirm the commit, so this may have been stored, or not. "
        "Send the same request again: with the same Idempotency-Key, tool call or id it is "
        "stored once.",
        cause=error.cause,
    )


def _cause(error: BaseException) -> tuple[str, str | None]:
    """Return the name of the cause of an error, and the error code of the database."""
    driver = getattr(error, "orig", None) or error
    if isinstance(error, sql.TimeoutError):
        return "busy", None
    number = getattr(driver, "sqlite_errorcode", None)
    if number is not None:
        return _BY_SQLITE.get(number & 0xFF, "failed"), getattr(driver, "sqlite_errorname", None)
    state: str | None = getattr(driver, "sqlstate", None)
    message = str(driver)
    if _is_pool_exhausted(error):
        return "pooler-busy", state
    if _DISK_FULL.search(message):
        return "full", state
    if state is not None:
        names = [_BY_STATE.get(prefix) for prefix in (state, state[:3], state[:2])]
    else:
        names = [name for pattern, name in _BY_MESSAGE.items() if re.search(pattern, message)]
    return next(filter(None, names), "failed"), state
