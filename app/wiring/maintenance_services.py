"""Providers of the services of the feature `operations`: sweep, scrub and check of the stores."""

from datetime import timedelta

from app.config.settings import Settings
from app.services.maintenance.fsck import StoreCheck
from app.services.maintenance.scrub import ReadingPace, Scrub, SlicedPeriod
from app.services.maintenance.sweep import Sweep
from app.telemetry.metrics import Metrics
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services


def _create_sweep(services: Services) -> Sweep:
    stores, events = services[Stores], services[Settings].events
    return Sweep(
        stores.records,
        stores.blobs,
        events_kept=timedelta(seconds=events.keep_seconds),
        max_events=events.keep_count,
        stored_bytes=stores.storage_quota,
    )


def _create_scrub(services: Services) -> Scrub:
    stores, settings = services[Stores], services[Settings].scrub
    return Scrub(
        stores.records,
        stores.blobs,
        SlicedPeriod(settings.period_seconds),
        ReadingPace(settings.bytes_per_second),
        services[Metrics],
    )


SERVICES = (
    Provider(
        Sweep,
        _create_sweep,
        lifespan=lambda services: services[Sweep].lifespan(
            interval_seconds=services[Settings].sweep.interval_seconds,
            grace_seconds=services[Settings].sweep.grace_seconds,
        ),
    ),
    Provider(Scrub, _create_scrub, lifespan=lambda services: services[Scrub].lifespan()),
    Provider(StoreCheck),
)
