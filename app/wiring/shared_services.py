"""Providers of services that several features use: memory, bodies, metrics, quotas, content."""

from app.config.settings import Settings
from app.models.limits import Limits
from app.services.access.published_content import PublishedContent
from app.services.concurrency.background import run_beside
from app.services.concurrency.large_work import LargeWork
from app.services.events.raw_results import RawResults
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.freed_memory import trim_freed_memory
from app.services.memory_budget.garbage import GarbageCollector
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.memory_budget.responses import ResponseBudget
from app.services.quotas.key_quotas import Quotas
from app.services.quotas.quota_blob_store import QuotaBlobStore
from app.services.requests.streamed_bodies import StreamedBodies
from app.services.requests.streamed_requests import StreamedRequests
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services
from app.wiring.tracing import create_metrics, trace_blobs


def _create_blob_store(services: Services) -> BlobStore:
    stores = services[Stores]
    blobs = stores.blobs
    if stores.storage_quota is not None:
        blobs = QuotaBlobStore(blobs, stores.storage_quota)
    return trace_blobs(blobs)


def _create_metrics(services: Services) -> Metrics:
    metrics = create_metrics()
    memory = services[MemoryBudget]
    metrics.watch_memory(lambda: memory.held_bytes)
    metrics.watch_connections(services[Records].database.pools)
    return metrics


def _create_quotas(services: Services) -> Quotas:
    quotas = services[Settings].quotas
    return Quotas(
        requests_per_minute=quotas.requests_per_minute,
        body_bytes_per_day=quotas.body_bytes_per_day,
    )


def _create_published_content(services: Services) -> PublishedContent:
    settings = services[Settings]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    base_url = settings.public_url or f"http://{host}:{settings.port}"
    return PublishedContent(
        base_url,
        settings.content_url or base_url,
        settings.cross_origin_resource_policy,
        settings.link_resource_policy,
    )


SERVICES = (
    Provider(
        MemoryBudget,
        lambda services: MemoryBudget(services[Limits].memory_bytes),
        lifespan=lambda services: run_beside(trim_freed_memory(services[MemoryBudget])),
    ),
    Provider(
        GarbageCollector, lifespan=lambda services: run_beside(services[GarbageCollector].run())
    ),
    Provider(BlobStore, _create_blob_store),
    Provider(
        BodyBudget,
        lambda services: BodyBudget(
            services[MemoryBudget], text_limit_bytes=services[Limits].text_bytes
        ),
    ),
    Provider(ResponseBudget),
    Provider(LargeWork),
    Provider(RequestBodies),
    Provider(
        StreamedBodies,
        lambda services: StreamedBodies(
            services[BlobStore],
            services[LargeWork],
            services[BodyBudget],
            limit_bytes=services[Limits].medium_bytes,
        ),
    ),
    Provider(StreamedRequests),
    Provider(
        RawResults,
        lambda services: RawResults(is_enabled=services[Settings].debug_tool_result_raw),
    ),
    Provider(
        Metrics,
        _create_metrics,
        lifespan=lambda services: run_beside(services[Metrics].keep_fresh()),
    ),
    Provider(Quotas, _create_quotas),
    Provider(PublishedContent, _create_published_content),
)
