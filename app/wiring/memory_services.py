"""Wires the services that a model's memory needs: results, messages, pages, and tools for them.

They are a part of the service's; `app.wiring.container` wires the rest.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio.to_thread

from app.config.settings import Settings
from app.services.access.callers import Access, LinkSigner
from app.services.agents.memory_tools import MemoryTools
from app.services.agents.tool_calls import ToolCalls
from app.services.concurrency.large_work import LargeWork
from app.services.events.broker import EventBroker
from app.services.events.raw_results import RawResults
from app.services.images.derived_images import DerivedImages
from app.services.images.image_work import ImageWork
from app.services.media.media_checks import MediaChecks
from app.services.media.media_keeper import MediaKeepers
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.pages.accesses import AccessCounts
from app.services.pages.faults import PageFaults
from app.services.pages.lists import PageLists
from app.services.pages.manifests import PageManifests
from app.services.pages.pages import Pages
from app.services.pages.preparing import PagePreparer
from app.services.pages.reading import PageReading
from app.services.pages.writing import PageWriter
from app.services.quotas.quota_blob_store import QuotaBlobStore
from app.services.quotas.stored_bytes import StorageQuota
from app.services.renders.media_loader import MediaLoader
from app.services.renders.renders import Renders
from app.services.renders.settling import Settling
from app.services.requests.streamed_bodies import RequestBodies, StreamedBodies
from app.services.requests.streamed_requests import StreamedRequests
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts
from app.services.search.indexing import SearchIndexing
from app.services.sessions.messages import SessionMessages
from app.services.tool_results.tool_results import ToolResults
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.telemetry.ingest_clock import IngestClock
from app.wiring.signing_keys import signing_keys
from app.wiring.stores import (
    open_blob_store,
    open_broker,
    open_checked_database,
    prove_blob_store,
)
from app.wiring.sweep import open_stored_bytes

# Longer than any upload that keeps the pace the limits ask for is likely to take.
_ABANDONED_UPLOAD_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class OpenStores:
    """Both stores, up to date, and what comes with them."""

    records: Records
    blobs: BlobStore
    """Without the quota of what projects keep."""
    stored_bytes: StorageQuota | None
    """That quota, if there is one."""
    broker: EventBroker
    """Wakes those who listen to events."""
    access: Access
    """Which project a caller belongs to."""
    links: LinkSigner


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncIterator[OpenStores]:
    """Open both stores and bring the embedded database up to date; raises as `open_container`."""
    async with AsyncExitStack() as stack:
        engines = await stack.enter_async_context(open_checked_database(settings))
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        broker = await stack.enter_async_context(open_broker(settings, engines))
        records = Records(engines, blob_size=blobs.size, announce=broker.announce)
        await prove_blob_store(blobs)
        await blobs.sweep_temporary(_ABANDONED_UPLOAD_SECONDS)
        links = LinkSigner(await anyio.to_thread.run_sync(signing_keys, settings))
        access = Access(records, settings.default_project if settings.auth == "none" else None)
        if access.default_project is not None:
            await access.ensure_project(access.default_project)
        stored_bytes = await stack.enter_async_context(open_stored_bytes(settings, records, blobs))
        yield OpenStores(records, blobs, stored_bytes, broker, access, links)


class MemoryServices:
    """The services that a model's memory needs.

    Args:
        settings: How the services are to be.
        stores: The stores they work on.
        clock: Takes the times of ingest.
    """

    def __init__(self, settings: Settings, stores: OpenStores, *, clock: IngestClock) -> None:
        store, stored_bytes = stores.blobs, stores.stored_bytes
        self.records, self.access, self.links = stores.records, stores.access, stores.links
        self.blobs = store if stored_bytes is None else QuotaBlobStore(store, stored_bytes)
        records, blobs = self.records, self.blobs
        self.limits = limits = settings.limits
        self.memory = memory = MemoryBudget(limits.memory_bytes)
        self.accesses = AccessCounts(records)
        self.search_indexing = SearchIndexing(records)
        self.resources = Resources(records, blobs, limit_bytes=limits.medium_bytes)
        self.large_work = LargeWork(limits)
        self.images = ImageWork(memory, limits)
        self._checks = MediaChecks(blobs)
        budget = BodyBudget(memory, text_limit_bytes=limits.text_bytes)
        self.bodies = RequestBodies(self.large_work, budget)
        self._streamed = StreamedBodies(
            blobs, self.large_work, budget, limit_bytes=limits.medium_bytes
        )
        self._requests = StreamedRequests(self._streamed)
        self._raw_results = RawResults(is_enabled=settings.debug_tool_result_raw)
        self.session_messages = SessionMessages(
            records, blobs, bodies=self._requests, limits=limits
        )
        self.tool_results = ToolResults(
            records,
            MediaKeepers(blobs, limits.medium_bytes, self._checks),
            bodies=self._streamed,
            messages=self.session_messages,
            work=self.large_work,
            limits=limits,
            clock=clock,
            raw_results=self._raw_results,
        )
        self._wire_pages()
        self._wire_renders(settings)
        self._wire_tools()

    def _wire_pages(self) -> None:
        """Make what writes and reads pages."""
        records, blobs, limits, accesses = self.records, self.blobs, self.limits, self.accesses
        self._preparer = PagePreparer(records, blobs, images=self.images, limits=limits)
        self._writer = PageWriter(records)
        self.page_reading = PageReading(
            records, blobs, accesses=accesses, checks=self._checks, limits=limits
        )
        self.pages = Pages(
            records,
            self._preparer,
            self._writer,
            bodies=self._requests,
            accesses=accesses,
            limits=limits,
        )
        self.page_faults = PageFaults(records, self.page_reading)
        self.page_lists = PageLists(records, accesses)
        self.page_manifests = PageManifests(records)

    def _wire_renders(self, settings: Settings) -> None:
        """Make what keeps messages, and renders them for models."""
        records, blobs, limits = self.records, self.blobs, self.limits
        self.resource_texts = ResourceTexts(
            self.resources, blobs, work=self.large_work, memory=self.memory, limits=limits
        )
        self._derived = DerivedImages(records, blobs, images=self.images, limits=limits)
        self._settling = Settling(
            records,
            MediaLoader(blobs, self._derived, self._checks),
            links=self.links,
            content_base_url=settings.content_url or settings.public_url,
            limits=limits,
        )
        self.renders = Renders(
            records,
            blobs,
            reading=self.page_reading,
            settling=self._settling,
            manifests=self.page_manifests,
        )

    def _wire_tools(self) -> None:
        """Make what runs the tools of models."""
        tools = MemoryTools(
            self.records,
            self.blobs,
            faults=self.page_faults,
            lists=self.page_lists,
            pages=self.pages,
            texts=self.resource_texts,
        )
        self.tool_calls = ToolCalls(
            self.records,
            tools,
            messages=self.session_messages,
            results=self.tool_results,
            renders=self.renders,
            bodies=self.bodies,
            limits=self.limits,
        )
