"""Parts that tables share: metadata, column types, and the order of lists by time.

The types have the same meaning on both engines. The metadata are complete after the import of
`search_tables`, which imports `tables`.
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

# PostgreSQL cannot store U+0000 in a text. It is escaped with U+001A on both databases, and U+001A
# itself is escaped as well.
_ESCAPES = str.maketrans({"\x1a": "\x1a1", "\x00": "\x1a0"})


def escape_text(value: str) -> str:
    """Return a text as it is stored in a `ClientText` column."""
    if "\x00" not in value and "\x1a" not in value:
        return value
    return value.translate(_ESCAPES)


class ClientText(TypeDecorator[str]):
    """Text of a client, which may contain any code point, even U+0000."""

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
    """A time in UTC, stored as microseconds since 1970, which both databases sort alike."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Convert to microseconds."""
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Convert from microseconds."""
        return None if value is None else _EPOCH + value * _MICROSECOND


def microseconds(timestamp: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (timestamp - _EPOCH) // _MICROSECOND


def sort_newest_first(
    statement: Select[Any],
    timestamp: Column[datetime],
    identity: Column[str],
    *,
    before: tuple[datetime, str] | None,
    limit: int,
) -> Select[Any]:
    """Sort rows by a time and then an id, both descending, and start after the row `before`.

    Both databases compare the two columns with an index, so earlier rows of the list are not read.
    """
    if before is not None:
        statement = statement.where(tuple_(timestamp, identity) < before)
    return statement.order_by(timestamp.desc(), identity.desc()).limit(limit)


def is_shared_schema(name: str | None, kind: str, _: object) -> bool:
    """Return whether a table belongs to `metadata`; a callback for Alembic's `include_name`."""
    return kind != "table" or not (name or "").startswith(("page_search", "entry_search"))
