"""Changes to pages that are there: what is said about them, and levels that clients supply.

The content is never touched, and taken over as it is stored. See `writing` for how a change is
written.
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
from app.services.pages.page_preparer import KeptContent, PagePreparer, plan_change, supplied_levels
from app.services.pages.page_requests import (
    media_of_representation,
    patched,
    read_patch,
    read_representation_draft,
)
from app.services.pages.page_writer import PageWriter, WrittenPage
from app.services.pages.settled_content import SettledContent, check_words
from app.services.pages.stored_pages import load_page
from app.services.pages.versions import StoredContent, same_fields
from app.services.requests.streamed_requests import StreamedRequests
from app.services.requests.validation import WriteCondition, read_value
from app.services.requests.whole_bodies import RequestBodies
from app.stores.records.records import Records
from app.wire.pages import level_record
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import Body, Level, Page, PageFields, Representation, StoredPage
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.levels import check_supplied


@dataclass(frozen=True, slots=True)
class WrittenLevel:
    """The JSON of a level as it is now supplied, and whether it was not before."""

    record: bytes
    is_new: bool


@dataclass(frozen=True, slots=True)
class PageChanges:
    """Changes memory pages."""

    records: Records
    preparer: PagePreparer
    writer: PageWriter
    bodies: RequestBodies
    requests: StreamedRequests
    accesses: AccessCounts
    limits: Limits

    async def patch(
        self,
        project_id: str,
        page_id: str,
        body: AsyncIterator[bytes],
        *,
        condition: WriteCondition,
    ) -> WrittenPage:
        """Change what is said about a page by a merge patch (RFC 7396); its content stays.

        Raises:
            NotFoundError: The project has no such page.
            InvalidJsonError, InvalidPayloadError: The patch, or the page it would make.
            PreconditionFailedError: The condition does not hold.
        """
        async with self.bodies.read(body, partial(read_patch, limits=self.limits)) as patch:

            async def patch_page() -> WrittenPage:
                stored, page = await self._load(project_id, page_id)
                condition(stored.digest)
                fields = await anyio.to_thread.run_sync(_patched, page.fields, patch)
                if fields is None:
                    return WrittenPage(stored, is_new=False)
                return await self._replace(
                    project_id, stored, page, supplied_levels(page.levels.values()), fields=fields
                )

            written = await self.writer.settle(project_id, page_id, patch_page)
            return replace(written, page=self.accesses.counted(project_id, written.page))

    async def supply_level(
        self,
        project_id: str,
        page_id: str,
        level: Level,
        body: AsyncIterator[bytes],
        *,
        condition: WriteCondition,
    ) -> WrittenLevel:
        """Supply a level above FULL: a caption, a transcript, a smaller image.

        Raises:
            NotFoundError: The project has no such page.
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body, or it is longer
                than the level below it.
            PreconditionFailedError: The condition does not hold.
        """
        if level is Level.FULL:
            raise InvalidPayloadError(
                "FULL is the page's content. PUT the page to change it.", code="level-is-content"
            )
        parse = partial(read_value, limits=self.limits)
        async with self.requests.read(
            project_id, body, parse, read_representation_draft, media_of=media_of_representation
        ) as request:

            async def supply() -> WrittenLevel:
                stored, page = await self._load(project_id, page_id)
                condition(await anyio.to_thread.run_sync(_digest, page, level))
                contents = self.preparer.contents(project_id, utc_now(), request)
                modality, content = page.fields.modality, request.value.content
                is_own = modality == "structured" or (
                    modality == "image" and isinstance(content, str)
                )
                # A level holds data or a medium where its page does; words stand for all else.
                settled = await contents.settle(modality if is_own else "text", content)
                await anyio.to_thread.run_sync(check_supplied, page, level, settled.body)
                previous = supplied_levels(page.levels.values())
                if previous.get(level) != settled.body:
                    supplied = {**previous, level: settled.body}
                    await self._replace(
                        project_id, stored, page, supplied, resources=settled.resources
                    )
                representation = Representation(level, "supplied", settled.body)
                record = await run_in_loop_if(
                    contents.is_quick, level_record, page_id, representation
                )
                return WrittenLevel(record, is_new=level not in previous)

            return await self.writer.settle(project_id, page_id, supply)

    async def withdraw_level(
        self, project_id: str, page_id: str, level: Level, *, condition: WriteCondition
    ) -> None:
        """Give a level that was supplied back to derivation.

        Raises:
            NotFoundError: The project has no such page, or the level was not supplied.
            PreconditionFailedError: The condition does not hold.
        """

        async def withdraw() -> None:
            stored, page = await self._load(project_id, page_id)
            supplied = supplied_levels(page.levels.values())
            if supplied.pop(level, None) is None:
                raise NotFoundError(
                    "level", detail="This level of the page was not supplied.", code="level-missing"
                )
            condition(await anyio.to_thread.run_sync(_digest, page, level))
            await self._replace(project_id, stored, page, supplied)

        await self.writer.settle(project_id, page_id, withdraw)

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
        """Write a page again, with other fields or levels."""
        contents = self.preparer.contents(project_id, utc_now())
        settled = SettledContent(page.full, resources=tuple(resources))
        become = replace(page, fields=fields or page.fields)
        prepared = await self.preparer.complete(contents, become, settled)
        content = StoredContent(
            stored.content or b"", stored.inline_form, stored.fetched_resource_id
        )
        kept = KeptContent(content, supplied, page.fields)
        change = await anyio.to_thread.run_sync(plan_change, prepared, stored, kept, self.limits)
        return await self.writer.replace(project_id, stored, change)


def _patched(fields: PageFields, patch: dict[str, JsonValue]) -> PageFields | None:
    """Return the fields after a merge patch, checked; `None` if they are what they were."""
    become = patched(fields, patch)
    if same_fields(become, fields):
        return None
    check_words(become)
    return become


def _digest(page: Page, level: Level) -> str | None:
    """Return what the level's ETag is made of, `None` if it does not exist."""
    representation = page.at(level)
    if representation is None:
        return None
    return hashlib.sha256(level_record(page.page_id, representation)).hexdigest()
