"""Opens everything that has a lifetime, and hands the services their collaborators.

container       all of it, for the service and for most commands
stores          database, blobs and broker alone
signing_keys    the keys of links and tickets
faults          what keeps the service from opening
"""

from app.wiring.container import Container, open_container
from app.wiring.faults import (
    DataDirectoryError,
    MissingSigningKeysError,
    OutdatedDatabaseError,
    SettingError,
)
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
