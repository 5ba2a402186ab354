"""Services of the feature pages: memory pages, written, read, listed and counted."""

from app.config.settings import Settings
from app.models.limits import Limits
from app.services.fetching import Fetcher
from app.services.images.image_work import ImageWork
from app.services.media.media_checks import MediaChecks
from app.services.memory_budget.budget import MemoryBudget
from app.services.pages.accesses import AccessCounts
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.faults import PageFaults
from app.services.pages.manifests import PageManifests
from app.services.pages.page_answers import PageReading
from app.services.pages.page_lists import PageLists
from app.services.pages.page_preparer import PagePreparer
from app.services.pages.page_writer import PageWriter
from app.services.pages.pages import Pages
from app.services.requests.streamed_requests import StreamedRequests
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.services import Provider, Services
from app.wiring.startup_errors import SettingError


def _preparer(services: Services) -> PagePreparer:
    return PagePreparer(
        services[Records],
        services[BlobStore],
        images=services[ImageWork],
        limits=services[Limits],
    )


def _reading(services: Services) -> PageReading:
    return PageReading(
        services[Records],
        services[BlobStore],
        accesses=services[AccessCounts],
        checks=services[MediaChecks],
        limits=services[Limits],
    )


def _pages(services: Services) -> Pages:
    return Pages(
        services[Records],
        services[PagePreparer],
        services[PageWriter],
        bodies=services[StreamedRequests],
        accesses=services[AccessCounts],
        limits=services[Limits],
    )


def _changes(services: Services) -> PageChanges:
    return PageChanges(
        services[Records],
        services[PagePreparer],
        services[PageWriter],
        bodies=services[RequestBodies],
        requests=services[StreamedRequests],
        accesses=services[AccessCounts],
        limits=services[Limits],
    )


def _fetcher(services: Services) -> Fetcher:
    try:
        return Fetcher(services[Settings].fetch)
    except ValueError as exc:
        raise SettingError(f"PAGEFAULT_FETCH__ALLOW: {exc}") from exc


def _downloads(services: Services) -> PageDownloads:
    return PageDownloads(
        services[Records],
        services[BlobStore],
        services[PageReading],
        services[Fetcher],
        limits=services[Limits],
        memory=services[MemoryBudget],
    )


SERVICES = (
    Provider(
        AccessCounts,
        lambda services: AccessCounts(services[Records]),
        running=lambda services: services[AccessCounts].flushing(),
    ),
    Provider(PagePreparer, _preparer),
    Provider(PageWriter, lambda services: PageWriter(services[Records])),
    Provider(PageReading, _reading),
    Provider(Pages, _pages),
    Provider(PageChanges, _changes),
    Provider(Fetcher, _fetcher),
    Provider(PageDownloads, _downloads),
    Provider(PageFaults, lambda services: PageFaults(services[Records], services[PageReading])),
    Provider(PageLists, lambda services: PageLists(services[Records], services[AccessCounts])),
    Provider(PageManifests, lambda services: PageManifests(services[Records])),
)
