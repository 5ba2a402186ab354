"""Services of the feature uploads: files in pieces."""

from app.models.limits import Limits
from app.services.uploads.uploads import Uploads
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services


def _uploads(services: Services) -> Uploads:
    return Uploads(
        services[Records],
        services[BlobStore],
        limits=services[Limits],
        stored_bytes=services[Stores].stored_bytes,
    )


SERVICES = (Provider(Uploads, _uploads),)
