"""What is expected to go wrong in a command, and the sentence that it ends with."""

from collections.abc import Sequence

from app.errors import Fault, ServiceError, StoreUnavailableError
from app.wiring.startup_errors import (
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
    sentence = cause or str(error)
    if isinstance(error, ServiceError) and error.faults:
        sentence = f"{sentence} ({told_faults(error.faults)})"
    return sentence


def told_faults(faults: Sequence[Fault]) -> str:
    """Return the single faults of a request in one line."""
    return "; ".join(f"{fault.pointer} {fault.detail}".strip() for fault in faults)
