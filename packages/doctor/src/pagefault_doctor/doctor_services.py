"""Services of the feature doctor."""

from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.services import Provider, Services
from pagefault_doctor.doctor import Doctor
from pagefault_doctor.session_documents import SessionDocuments
from pagefault_doctor.transcript_exports import TranscriptExports


def _make_doctor(services: Services) -> Doctor:
    limits = services[Limits]
    # A history has a limit of its own.
    budget = BodyBudget(services[MemoryBudget], text_limit_bytes=limits.history_bytes)
    return Doctor(
        services[Records],
        services[BlobStore],
        resolver=services[TurnResolver],
        bodies=RequestBodies(services[LargeWork], budget),
        limits=limits,
    )


SERVICES = (Provider(Doctor, _make_doctor), Provider(SessionDocuments), Provider(TranscriptExports))
