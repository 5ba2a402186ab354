"""The parts of tables: metadata, column types, and the order of lists by a moment.

The types mean the same on both engines. The metadata are complete once `search_tables`, which
imports `tables`, has been imported.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    MetaData,
    Select,
    String,
    TypeDecorator,
    tuple_,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# PostgreSQL text cannot hold U+0000. Both engines store it escaped, so that neither differs; the
# escape character is itself escaped, so that nothing is lost.
_ESCAPES = str.maketrans({"\x1a": "\x1a1", "\x00": "\x1a0"})


def escape_text(value: str) -> str:
    """Return a text as columns of `ClientText` have it."""
    if "\x00" not in value and "\x1a" not in value:
        return value
    return value.translate(_ESCAPES)


class ClientText(TypeDecorator[str]):
    """Text that a client sent: any code point, U+0000 included, comes back as it was."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Escape U+0000."""
        return None if value is None else escape_text(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """Undo the escape."""
        if value is None or "\x1a" not in value:
            return value
        return value.replace("\x1a0", "\x00").replace("\x1a1", "\x1a")


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC, kept as microseconds since 1970: both engines sort and round it alike."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Convert to microseconds."""
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Convert from microseconds."""
        return None if value is None else _EPOCH + value * _MICROSECOND


def microseconds(moment: datetime) -> int:
    """Return a moment as `UtcTime` keeps it."""
    return (moment - _EPOCH) // _MICROSECOND


def newest_first(
    statement: Select[Any],
    moment: Column[datetime],
    identity: Column[str],
    *,
    before: tuple[datetime, str] | None,
    limit: int,
) -> Select[Any]:
    """Order a list by a moment and then an id, both descending, and begin behind a place in it.

    Both engines read such a comparison of rows from an index over the columns: they begin at the
    place, and do not pass over what lies on its other side.
    """
    if before is not None:
        statement = statement.where(tuple_(moment, identity) < before)
    return statement.order_by(moment.desc(), identity.desc()).limit(limit)


def is_shared_schema(name: str | None, kind: str, _: object) -> bool:
    """Say whether something in a database belongs to `metadata`, for Alembic's `include_name`."""
    return kind != "table" or not (name or "").startswith(("page_search", "entry_search"))
