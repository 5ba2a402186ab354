"""Services of the feature resources: content, aliases, texts, posters and smaller images."""

from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.images.derived_images import DerivedImages
from app.services.images.image_work import ImageWork
from app.services.images.posters import Posters
from app.services.memory_budget.budget import MemoryBudget
from app.services.resources.aliases import Aliases
from app.services.resources.content_sources import ContentSources, OffloadRules
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services


def _content_sources(services: Services) -> ContentSources:
    return ContentSources(services[Stores].blobs, services[OffloadRules])


def _resources(services: Services) -> Resources:
    limit_bytes = services[Limits].medium_bytes
    return Resources(services[Records], services[BlobStore], limit_bytes=limit_bytes)


def _resource_texts(services: Services) -> ResourceTexts:
    return ResourceTexts(
        services[Resources],
        services[BlobStore],
        work=services[LargeWork],
        memory=services[MemoryBudget],
        limits=services[Limits],
    )


def _derived_images(services: Services) -> DerivedImages:
    return DerivedImages(
        services[Records],
        services[BlobStore],
        images=services[ImageWork],
        limits=services[Limits],
    )


def _posters(services: Services) -> Posters:
    return Posters(services[BlobStore], services[DerivedImages], memory=services[MemoryBudget])


SERVICES = (
    Provider(ContentSources, _content_sources),
    Provider(Resources, _resources),
    Provider(ResourceTexts, _resource_texts),
    Provider(Aliases, lambda services: Aliases(services[Records], services[BlobStore])),
    Provider(DerivedImages, _derived_images),
    Provider(Posters, _posters),
)
