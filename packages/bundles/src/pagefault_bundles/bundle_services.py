"""Services of the feature bundles."""

from app.models.limits import Limits
from app.services.pages.accesses import AccessCounts
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services
from pagefault_bundles.bundle_exports import BundleExports
from pagefault_bundles.bundle_imports import BundleImports


def _exports(services: Services) -> BundleExports:
    return BundleExports(services[Records], services[BlobStore], services[AccessCounts])


def _imports(services: Services) -> BundleImports:
    return BundleImports(
        services[Records],
        services[BlobStore],
        services[Limits],
        services[Stores].stored_bytes,
    )


SERVICES = (Provider(BundleExports, _exports), Provider(BundleImports, _imports))
