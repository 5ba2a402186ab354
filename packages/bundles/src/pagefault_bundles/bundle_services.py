"""Services of the feature bundles."""

from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services
from pagefault_bundles.bundle_exports import BundleExports
from pagefault_bundles.bundle_imports import BundleImports
from pagefault_bundles.session_files import SessionFiles


def _session_files(services: Services) -> SessionFiles:
    limits, memory = services[Limits], services[MemoryBudget]
    budget = BodyBudget(memory, text_limit_bytes=limits.session_file_bytes)
    return SessionFiles(RequestBodies(services[LargeWork], budget), memory, limits)


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
    Provider(SessionFiles, _session_files),
)
