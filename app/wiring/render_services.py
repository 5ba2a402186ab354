"""Services of the feature renders: records, as models take them."""

from app.config.settings import Settings
from app.models.limits import Limits
from app.services.access.callers import LinkSigner
from app.services.images.derived_images import DerivedImages
from app.services.media.media_checks import MediaChecks
from app.services.memory_budget.responses import ResponseBudget
from app.services.pages.manifests import PageManifests
from app.services.pages.page_answers import PageReading
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.media_loader import MediaLoader
from app.services.renders.new_entries import NewEntries
from app.services.renders.outlines import Outlines
from app.services.renders.renders import Renders
from app.services.renders.session_renders import SessionRenders
from app.services.renders.session_windows import SessionWindows
from app.services.renders.turn_cache import TurnCache
from app.services.renders.turn_resolver import TurnResolver
from app.services.renders.working_sets import WorkingSets
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.services import Provider, Services


def _resolver(services: Services) -> TurnResolver:
    settings = services[Settings]
    return TurnResolver(
        services[Records],
        MediaLoader(services[BlobStore], services[DerivedImages], services[MediaChecks]),
        links=services[LinkSigner],
        # Without a public address, models cannot fetch links.
        content_base_url=settings.content_url or settings.public_url,
        limits=services[Limits],
    )


def _answer_renders(services: Services) -> AnswerRenders:
    return AnswerRenders(services[Records], services[BlobStore], services[TurnResolver])


def _session_renders(services: Services) -> SessionRenders:
    records, blobs, resolver = services[Records], services[BlobStore], services[TurnResolver]
    turns = TurnCache()
    return SessionRenders(
        records,
        resolver,
        answers=services[AnswerRenders],
        pages=services[PageManifests],
        new_entries=NewEntries(records, blobs, resolver, turns),
        windows=SessionWindows(records, blobs, resolver, turns),
        known_turns=turns,
    )


def _renders(services: Services) -> Renders:
    return Renders(services[PageReading], services[AnswerRenders], services[SessionRenders])


def _outlines(services: Services) -> Outlines:
    return Outlines(services[Records], services[ResponseBudget], services[WorkingSets])


SERVICES = (
    Provider(TurnResolver, _resolver),
    Provider(AnswerRenders, _answer_renders),
    Provider(SessionRenders, _session_renders),
    Provider(Renders, _renders),
    Provider(WorkingSets, lambda services: WorkingSets(services[SessionRenders])),
    Provider(Outlines, _outlines),
)
