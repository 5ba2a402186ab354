"""Changes to stored pages: merge patches of their fields, and levels that clients supply.

These changes keep the content. See `page_writer` for how a change is written.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from app.errors import NotFoundError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.concurrency.large_work import run_in_loop_if
from app.services.pages.accesses import AccessCounts
from app.services.pages.content_resolver import ResolvedContent, check_field_texts
from app.services.pages.page_preparer import (
    PagePreparer,
    UnchangedContent,
    find_supplied_levels,
    plan_change,
)
from app.services.pages.page_requests import (
    apply_patch,
    find_representation_media,
    read_patch,
    read_representation_draft,
)
from app.services.pages.page_writer import PageWriter, WrittenPage
from app.services.pages.stored_pages import load_page
from app.services.pages.versions import StoredContent, have_same_fields
from app.services.requests.streamed_requests import StreamedRequests
from app.services.requests.validation import WriteCondition, read_value
from app.services.requests.whole_bodies import RequestBodies
from app.stores.records.records import Records
from app.wire.pages import encode_level
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import Body, Level, Page, PageFields, Representation, StoredPage
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.levels import check_supplied_level


@dataclass(frozen=True, slots=True)
class WrittenLevel:
    """A level that a client has supplied."""

    record: bytes
    """The JSON of the level."""
    is_new: bool
    """True if the level was not supplied before."""


@dataclass(frozen=True, slots=True)
class PageChanges:
    """Changes memory pages."""

    records: Records
    preparer: PagePreparer
    """Stores media, and makes smaller images."""
    writer: PageWriter
    bodies: RequestBodies
    requests: StreamedRequests
    """Reads the bodies of levels, which may have media."""
    accesses: AccessCounts
    """Adds counters to the responses."""
    limits: Limits

    async def patch(
        self,
        project_id: str,
        page_id: str,
        body: AsyncIterator[bytes],
        *,
        condition: WriteCondition,
    ) -> WrittenPage:
        """Apply a merge patch (RFC 7396) to the fields of a page. The content does not change.

        Raises:
            NotFoundError: The project has no such page.
            InvalidJsonError, InvalidPayloadError: The patch or the patched page is invalid.
            PreconditionFailedError: The condition is false.
        """
        async with self.bodies.read(body, partial(read_patch, limits=self.limits)) as patch:

            async def patch_page() -> WrittenPage:
                stored, page = await self._load(project_id, page_id)
                condition(stored.digest)
                fields = await anyio.to_thread.run_sync(_patch_fields, page.fields, patch)
                if fields is None:
                    return WrittenPage(stored, is_new=False)
                return await self._replace(
                    project_id,
                    stored,
                    page,
                    find_supplied_levels(page.levels.values()),
                    fields=fields,
                )

            written = await self.writer.retry(project_id, page_id, patch_page)
            return replace(written, page=self.accesses.add_counts(project_id, written.page))

    async def supply_level(
        self,
        project_id: str,
        page_id: str,
        level: Level,
        body: AsyncIterator[bytes],
        *,
        condition: WriteCondition,
    ) -> WrittenLevel:
        """Set a level of a page that a client supplies: a caption, a transcript, a smaller image.

        Raises:
            NotFoundError: The project has no such page.
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid, or
                longer than the next level with more detail.
            PreconditionFailedError: The condition is false.
        """
        if level is Level.FULL:
            raise InvalidPayloadError(
                "FULL is the page's content. PUT the page to change it.", code="level-is-content"
            )
        parse = partial(read_value, limits=self.limits)
        async with self.requests.read(
            project_id, body, parse, read_representation_draft, media_of=find_representation_media
        ) as request:

            async def supply() -> WrittenLevel:
                stored, page = await self._load(project_id, page_id)
                condition(await anyio.to_thread.run_sync(_digest_level, page, level))
                resolver = self.preparer.make_resolver(project_id, utc_now(), request)
                modality, content = page.fields.modality, request.value.content
                keeps_modality = modality == "structured" or (
                    modality == "image" and isinstance(content, str)
                )
                # The levels of a structured page are data. A level of an image is an image or text.
                # All other levels are text.
                resolved = await resolver.resolve(modality if keeps_modality else "text", content)
                await anyio.to_thread.run_sync(check_supplied_level, page, level, resolved.body)
                previous = find_supplied_levels(page.levels.values())
                if previous.get(level) != resolved.body:
                    supplied = {**previous, level: resolved.body}
                    await self._replace(
                        project_id, stored, page, supplied, resources=resolved.resources
                    )
                representation = Representation(level, "supplied", resolved.body)
                record = await run_in_loop_if(
                    resolver.is_quick, encode_level, page_id, representation
                )
                return WrittenLevel(record, is_new=level not in previous)

            return await self.writer.retry(project_id, page_id, supply)

    async def withdraw_level(
        self, project_id: str, page_id: str, level: Level, *, condition: WriteCondition
    ) -> None:
        """Remove a supplied level. The service derives the level again.

        Raises:
            NotFoundError: The project has no such page, or the level was not supplied.
            PreconditionFailedError: The condition is false.
        """

        async def withdraw() -> None:
            stored, page = await self._load(project_id, page_id)
            supplied = find_supplied_levels(page.levels.values())
            if supplied.pop(level, None) is None:
                raise NotFoundError(
                    "level", detail="This level of the page was not supplied.", code="level-missing"
                )
            condition(await anyio.to_thread.run_sync(_digest_level, page, level))
            await self._replace(project_id, stored, page, supplied)

        await self.writer.retry(project_id, page_id, withdraw)

    async def _load(self, project_id: str, page_id: str) -> tuple[StoredPage, Page]:
        return await self.records.read(project_id, lambda unit: load_page(unit, page_id))

    async def _replace(
        self,
        project_id: str,
        stored: StoredPage,
        page: Page,
        supplied: Mapping[Level, Body],
        *,
        fields: PageFields | None = None,
        resources: Sequence[Resource] = (),
    ) -> WrittenPage:
        """Write the next version of a page, with other fields or supplied levels."""
        resolver = self.preparer.make_resolver(project_id, utc_now())
        resolved = ResolvedContent(page.full, resources=tuple(resources))
        changed = replace(page, fields=fields or page.fields)
        prepared = await self.preparer.complete(resolver, changed, resolved)
        content = StoredContent(
            stored.content or b"", stored.inline_form, stored.fetched_resource_id
        )
        unchanged = UnchangedContent(content, supplied, page.fields)
        change = await anyio.to_thread.run_sync(
            plan_change, prepared, stored, unchanged, self.limits
        )
        return await self.writer.replace(project_id, stored, change)


def _patch_fields(fields: PageFields, patch: dict[str, JsonValue]) -> PageFields | None:
    """Return the patched fields after a check; `None` if nothing changes."""
    changed = apply_patch(fields, patch)
    if have_same_fields(changed, fields):
        return None
    check_field_texts(changed)
    return changed


def _digest_level(page: Page, level: Level) -> str | None:
    """Return the digest for the ETag of a level; `None` if the level does not exist."""
    representation = page.at(level)
    if representation is None:
        return None
    return hashlib.sha256(encode_level(page.page_id, representation)).hexdigest()
