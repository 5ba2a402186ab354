"""Errors that keep the service from starting; each message is a sentence for the operator."""

from pathlib import Path

from app.version import VERSION


class OutdatedDatabaseError(Exception):
    """The database on a server is not at the revision that this version needs."""

    def __init__(self, current: str | None, needed: str) -> None:
        super().__init__(
            f"the database is at revision {current or 'none'}, this version needs {needed}: run "
            "`pagefault migrate` with the same settings, once, then start again"
        )


class NewerDatabaseError(Exception):
    """A newer version has migrated the database."""

    def __init__(self, current: str) -> None:
        super().__init__(
            f"the database is at revision {current}, which version {VERSION} does not know: a "
            "newer version has migrated it. Start that version, or restore the backup from before"
        )


class SettingError(ValueError):
    """A setting that has the right type, but an invalid value."""


class DataDirectoryError(Exception):
    """The data directory cannot be created or written."""

    def __init__(self, data_dir: Path, reason: str, *, exists: bool = False) -> None:
        action = "write in" if exists else "make"
        super().__init__(f"cannot {action} the data directory {data_dir}: {reason}")


class MissingSigningKeysError(Exception):
    """The database is a server, and no signing keys for all machines are set."""

    def __init__(self) -> None:
        super().__init__(
            "a server database means several machines may serve: set "
            'PAGEFAULT_SIGNING_KEYS to the output of `echo "k1:$(openssl rand -hex 32)"`, the same '
            "on all of them"
        )
