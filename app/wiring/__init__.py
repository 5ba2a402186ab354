"""Opens everything that has a lifetime, and hands the services their collaborators.

container         all of it, for the service and for some commands
memory_services   what a model's memory needs, a part of the container
stores            database, blobs and broker alone
brokers           what wakes those who listen, when another process has written
ingest            what takes tool results in, for the command that does
event_streams     what tells of events, for the command that shows them
sweep             what sweeps the stores, and counts what they keep
page_reading      what reads pages, for the command that shows one
signing_keys      the keys of links and tickets
startup_errors    what keeps the service from opening
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from app.wiring.startup_errors import (
    DataDirectoryError,
    MissingSigningKeysError,
    OutdatedDatabaseError,
    SettingError,
)

if TYPE_CHECKING:
    from app.wiring.container import Container, open_container
    from app.wiring.stores import migrate_database, open_access, open_blob_store, open_database

__all__ = [
    "Container",
    "DataDirectoryError",
    "MissingSigningKeysError",
    "OutdatedDatabaseError",
    "SettingError",
    "migrate_database",
    "open_access",
    "open_blob_store",
    "open_container",
    "open_database",
]

_OF_THE_CONTAINER = ("Container", "open_container")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - as modules have it
    """Load what opens the stores, or the whole service, when it is first asked for.

    A command that needs the database alone would wait for all of the services otherwise.
    """
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    module = "container" if name in _OF_THE_CONTAINER else "stores"
    return getattr(import_module(f"{__name__}.{module}"), name)
