"""The faults of a database as ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc as sql

from app.errors import StoreFullError, StoreUnavailableError

_FAULTS = (sql.OperationalError, sql.InterfaceError, sql.TimeoutError)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the database's own faults as ours; mistakes of ours pass through."""
    try:
        yield
    except _FAULTS as exc:
        raise translated(exc) from exc


def is_of_database(error: BaseException) -> bool:
    """Whether an error is a fault of the database, and no mistake of ours."""
    return isinstance(error, _FAULTS)


def translated(error: BaseException) -> StoreUnavailableError:
    """Return a fault of the database as one of ours; it is the cause."""
    # SQLITE_FULL; PostgreSQL's class 53 names the file it could not extend.
    words = str(error)
    is_full = "disk is full" in words or "No space left on device" in words
    fault = StoreFullError() if is_full else StoreUnavailableError("database")
    fault.__cause__ = error
    return fault


def unconfirmed(error: StoreUnavailableError) -> StoreUnavailableError:
    """Return the error for a commit whose outcome is not known, or the one there is if it is."""
    if isinstance(error, StoreFullError):
        return error
    return StoreUnavailableError(
        "database",
        detail="The database did not confirm the commit, so this may have been stored, or not. "
        "Send the same request again: with the same Idempotency-Key, tool call or id it is "
        "stored once.",
    )
