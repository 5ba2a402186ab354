"""Services of the feature sessions: messages, interactions and the history of both."""

from app.models.limits import Limits
from app.services.memory_budget.responses import ResponseBudget
from app.services.pages.accesses import AccessCounts
from app.services.requests.streamed_requests import StreamedRequests
from app.services.requests.whole_bodies import RequestBodies
from app.services.sessions.forks import SessionForks
from app.services.sessions.history import History
from app.services.sessions.interactions import Interactions
from app.services.sessions.messages import SessionMessages
from app.services.sessions.sessions import Sessions
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.services import Provider

SERVICES = (
    Provider(Sessions, lambda services: Sessions(services[Records], services[AccessCounts])),
    Provider(
        SessionForks,
        lambda services: SessionForks(services[Records]),
        running=lambda services: services[SessionForks].running(),
    ),
    Provider(
        SessionMessages,
        lambda services: SessionMessages(
            services[Records],
            services[BlobStore],
            bodies=services[StreamedRequests],
            limits=services[Limits],
        ),
    ),
    Provider(
        History,
        lambda services: History(
            services[Records],
            services[BlobStore],
            services[ResponseBudget],
            limits=services[Limits],
        ),
    ),
    Provider(
        Interactions,
        lambda services: Interactions(
            services[Records], bodies=services[RequestBodies], limits=services[Limits]
        ),
    ),
)
