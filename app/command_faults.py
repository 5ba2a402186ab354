"""What is expected to go wrong in a command, and the sentence that it ends with."""

from app.errors import ServiceError, StoreUnavailableError
from app.wiring.faults import (
    DataDirectoryError,
    MissingSigningKeysError,
    OutdatedDatabaseError,
    SettingError,
)


class CommandError(Exception):
    """A command cannot do what it was told; the message says why."""


_EXPECTED = (
    ServiceError,
    DataDirectoryError,
    OutdatedDatabaseError,
    MissingSigningKeysError,
    SettingError,
    CommandError,
)


def expected_sentence(error: Exception) -> str | None:
    """Return the sentence on an error that was to be expected; `None` for any other."""
    if not isinstance(error, _EXPECTED):
        return None
    cause = error.cause if isinstance(error, StoreUnavailableError) else None
    return cause or str(error)
