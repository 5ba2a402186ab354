"""Providers of the services of media, sessions and tool results, which `pagefault ingest` needs."""

from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.events.raw_results import RawResults
from app.services.images.image_work import ImageWork
from app.services.media.media_checks import MediaChecks
from app.services.media.media_keeper import MediaKeepers
from app.services.requests.streamed_bodies import StreamedBodies
from app.services.sessions.forks import SessionForks
from app.services.sessions.history import History
from app.services.sessions.interactions import Interactions
from app.services.sessions.messages import SessionMessages
from app.services.sessions.sessions import Sessions
from app.services.tool_results.tool_results import ToolResults
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics
from app.wiring.services import Provider, Services

MEDIA = (
    Provider(ImageWork, lifespan=lambda services: services[ImageWork].lifespan()),
    Provider(MediaChecks),
)
SESSIONS = (
    Provider(Sessions),
    Provider(SessionForks, lifespan=lambda services: services[SessionForks].lifespan()),
    Provider(SessionMessages),
    Provider(History),
    Provider(Interactions),
)


def _create_tool_results(services: Services) -> ToolResults:
    limits = services[Limits]
    return ToolResults(
        services[Records],
        MediaKeepers(services[BlobStore], limits.medium_bytes, services[MediaChecks]),
        bodies=services[StreamedBodies],
        messages=services[SessionMessages],
        work=services[LargeWork],
        limits=limits,
        metrics=services[Metrics],
        raw_results=services[RawResults],
    )


RESULTS = (Provider(ToolResults, _create_tool_results),)
