"""Providers of the services of the feature `events`."""

from app.config.settings import Settings
from app.services.access.callers import Access
from app.services.events.broker import EventBroker
from app.services.events.feeds import Feeds
from app.services.events.raw_results import RawResults
from app.services.events.streams import EventStreams, StreamLimits
from app.services.events.subscriptions import QueueMemory
from app.services.memory_budget.budget import MemoryBudget
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics
from app.wiring.services import Provider, Services


def _create_event_streams(services: Services) -> EventStreams:
    events, memory, records = services[Settings].events, services[MemoryBudget], services[Records]
    broker = services[EventBroker]
    services[Metrics].watch_notifications(lambda: not broker.is_notified)
    return EventStreams(
        records,
        services[Access],
        Feeds(records, services[RawResults], QueueMemory(memory), services[Metrics]),
        limits=StreamLimits(
            streams=events.streams,
            streams_per_key=events.streams_per_key,
            queued_events=events.queued_events,
            queued_bytes=events.queued_bytes,
        ),
        counts=services[Metrics],
        memory=memory,
    )


SERVICES = (
    Provider(
        EventStreams,
        _create_event_streams,
        lifespan=lambda services: services[EventStreams].lifespan(services[EventBroker]),
    ),
)
