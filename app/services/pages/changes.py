"""Changes to pages that are there: what is said about them, and levels that clients supply.

A change is worked out from the page as it was read, outside of any transaction, and written only if
the page is still that; else it is worked out anew. The content is never touched.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from app.errors import InvalidPayloadError, NotFoundError
from app.models.identity import utc_now
from app.models.json_value import JsonValue
from app.models.limits import Limits
from app.models.page import Body, Level, Page, PageFields, Representation, StoredPage
from app.models.resource import Resource
from app.rendering.pages import check_supplied, scenes_of
from app.services.pages.accesses import AccessCounts
from app.services.pages.contents import PageContents, SettledContent
from app.services.pages.fitting import check_words
from app.services.pages.preparing import PagePreparer, with_levels, words_of
from app.services.pages.requests import (
    RepresentationDraft,
    patched,
    read_patch,
    read_representation_draft,
)
from app.services.pages.streamed import media_of_representation
from app.services.pages.versions import same_fields
from app.services.pages.writing import (
    PageChange,
    WrittenPage,
    change_page,
    contended,
    found,
    held,
    settled_again,
    supplied_levels,
)
from app.services.request_bodies import RequestBodies
from app.services.request_models import read_value
from app.services.streaming.requests import StreamedRequest, StreamedRequests
from app.services.write_conditions import WriteCondition
from app.stores.records import MOST_TOGETHER_BYTES, Records, UnitOfWork
from app.wire.pages import level_record

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class WrittenLevel:
    """A level as it is now supplied, and whether it was not before."""

    page: StoredPage
    representation: Representation
    is_new: bool


class PageChanges:
    """Changes memory pages."""

    def __init__(
        self,
        records: Records,
        preparer: PagePreparer,
        *,
        bodies: RequestBodies,
        requests: StreamedRequests,
        accesses: AccessCounts,
        limits: Limits,
    ) -> None:
        self._records = records
        self._preparer = preparer
        self._bodies = bodies
        self._requests = requests
        self._accesses = accesses
        self._limits = limits

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
        async with self._bodies.read(body, partial(read_patch, limits=self._limits)) as patch:
            return await self._patch(project_id, page_id, patch, condition)

    async def _patch(
        self,
        project_id: str,
        page_id: str,
        patch: dict[str, JsonValue],
        condition: WriteCondition,
    ) -> WrittenPage:
        for _ in range(_ATTEMPTS):
            (stored, page) = await self._records.read(project_id, lambda unit: found(unit, page_id))
            condition(stored.digest)
            fields = patched(page.fields, patch)
            if await anyio.to_thread.run_sync(same_fields, fields, page.fields):
                return WrittenPage(self._accesses.counted(project_id, stored), is_new=False)
            await anyio.to_thread.run_sync(check_words, fields)
            change = await self._change(project_id, page, stored, replace(page, fields=fields))
            if (written := await self._write(project_id, stored, change)) is not None:
                return WrittenPage(self._accesses.counted(project_id, written), is_new=False)
        raise contended()

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
        parse = partial(read_value, limits=self._limits)
        async with self._requests.read(
            project_id, body, parse, read_representation_draft, media_of=media_of_representation
        ) as request:
            return await self._supply(project_id, page_id, level, request, condition=condition)

    async def _supply(
        self,
        project_id: str,
        page_id: str,
        level: Level,
        request: StreamedRequest[RepresentationDraft],
        *,
        condition: WriteCondition,
    ) -> WrittenLevel:
        for _ in range(_ATTEMPTS):
            (stored, page) = await self._records.read(project_id, lambda unit: found(unit, page_id))
            condition(_digest(page, level))
            contents = self._preparer.contents(project_id, utc_now(), request.media)
            settled = await _settled(contents, page, request.value.content)
            await anyio.to_thread.run_sync(check_supplied, page, level, settled.body)
            previous = supplied_levels(page)
            supplied = {**previous, level: settled.body}
            change = await self._change(
                project_id, page, stored, page, supplied=supplied, resources=settled.resources
            )
            written: StoredPage | None = stored
            if previous.get(level) != settled.body:
                written = await self._write(project_id, stored, change)
            if written is not None:
                return WrittenLevel(
                    written, change.page.levels[level], is_new=level not in previous
                )
        raise contended()

    async def withdraw_level(
        self, project_id: str, page_id: str, level: Level, *, condition: WriteCondition
    ) -> None:
        """Give a level that was supplied back to derivation.

        Raises:
            NotFoundError: The project has no such page, or the level was not supplied.
            PreconditionFailedError: The condition does not hold.
        """
        for _ in range(_ATTEMPTS):
            (stored, page) = await self._records.read(project_id, lambda unit: found(unit, page_id))
            supplied = supplied_levels(page)
            if level not in supplied:
                raise NotFoundError(
                    "level", detail="This level of the page was not supplied.", code="level-missing"
                )
            condition(_digest(page, level))
            del supplied[level]
            change = await self._change(project_id, page, stored, page, supplied=supplied)
            if await self._write(project_id, stored, change) is not None:
                return
        raise contended()

    async def _change(
        self,
        project_id: str,
        page: Page,
        stored: StoredPage,
        changed: Page,
        *,
        supplied: Mapping[Level, Body] | None = None,
        resources: Sequence[Resource] = (),
    ) -> PageChange:
        """The change from `page` to `changed`, its levels derived; the content stays."""
        now = utc_now()
        contents = self._preparer.contents(project_id, now)
        text = await contents.referred_text(page.fields.modality, page.full)
        reduced, smaller = await self._reduced(contents, page)
        known = [*resources, *([smaller] if smaller else [])]
        changed = await anyio.to_thread.run_sync(
            partial(
                with_levels,
                changed,
                supplied=supplied_levels(page) if supplied is None else supplied,
                reduced=reduced,
                text=text,
            )
        )
        same_words = _searched(changed.fields) == _searched(page.fields)
        return PageChange(
            changed,
            settled_again(stored, page),
            None if same_words else await words_of(changed, text),
            {resource.resource_id: resource for resource in known},
            stored.fetched_resource_id,
            now,
        )

    async def _write(
        self, project_id: str, stored: StoredPage, change: PageChange
    ) -> StoredPage | None:
        """Write a change of the page as it was read; `None` if it has changed since."""
        session_id = change.page.fields.session_id

        def write(unit: UnitOfWork) -> StoredPage | None:
            if session_id is not None:
                unit.sessions.enter(session_id, change.now)
            current = held(unit, stored.page_id)
            if current.digest != stored.digest:
                return None
            return change_page(unit, current, change, self._limits)

        is_alone = len(stored.content or b"") > MOST_TOGETHER_BYTES
        return await self._records.write(project_id, write, is_alone=is_alone)

    async def _reduced(
        self, contents: PageContents, page: Page
    ) -> tuple[Body | None, Resource | None]:
        """The smaller form of an image that was derived when its content was written.

        Where a supplied one took its place it is made again.
        """
        level = page.levels.get(Level.REDUCED)
        if level is not None and level.origin == "derived" and level.body.is_media:
            return level.body, None
        return await self._preparer.reduced(contents, page.fields, page.full, None)


async def _settled(contents: PageContents, page: Page, content: JsonValue) -> SettledContent:
    """What a supplied level holds: words or data, and a medium only where one may be."""
    modality = page.fields.modality
    if modality == "structured" or (modality == "image" and isinstance(content, str)):
        return await contents.settle(modality, content)
    return await contents.settle("text", content)


def _digest(page: Page, level: Level) -> str | None:
    """What the level's ETag is made of, `None` if it does not exist."""
    representation = page.at(level)
    if representation is None:
        return None
    return hashlib.sha256(level_record(page.page_id, representation)).hexdigest()


def _searched(fields: PageFields) -> tuple[object, ...]:
    """The fields that a search looks in, or is narrowed by."""
    return (fields.hint, fields.caption, fields.transcript, scenes_of(fields), fields.session_id)
