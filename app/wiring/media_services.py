"""Services that several features use for media: smaller images, and checks for damage."""

from app.models.limits import Limits
from app.services.images.image_work import ImageWork
from app.services.media.media_checks import MediaChecks
from app.services.memory_budget.budget import MemoryBudget
from app.stores.blobs.store import BlobStore
from app.wiring.services import Provider

SERVICES = (
    Provider(
        ImageWork,
        lambda services: ImageWork(services[MemoryBudget], services[Limits]),
        running=lambda services: services[ImageWork].running(),
    ),
    Provider(MediaChecks, lambda services: MediaChecks(services[BlobStore])),
)
