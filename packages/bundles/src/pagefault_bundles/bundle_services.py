"""Services of the feature bundles."""

from app.models.limits import Limits
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.open_stores import Stores
from app.wiring.services import Provider
from pagefault_bundles.bundle_exports import BundleExports
from pagefault_bundles.bundle_imports import BundleImports

SERVICES = (
    Provider(BundleExports),
    Provider(
        BundleImports,
        lambda services: BundleImports(
            services[Records],
            services[BlobStore],
            services[Limits],
            services[Stores].storage_quota,
        ),
    ),
)
