"""Pages: created, replaced, deleted.

A write settles the content first, so that its media are stored before the transaction. See
`writing` for the rest of it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

import anyio.to_thread

from app.errors import ConflictError, Fault, InvalidPayloadError, StoreUnavailableError
from app.models.identity import new_id, utc_now
from app.models.limits import Limits
from app.models.page import StoredPage
from app.services.pages.accesses import AccessCounts
from app.services.pages.loading import find_page
from app.services.pages.planning import (
    PageChange,
    PreparedPage,
    keeps_content,
    plan_change,
    plan_same_content,
)
from app.services.pages.preparing import PagePreparer
from app.services.pages.requests import (
    PageDraft,
    parse_page_body,
    read_page_batch,
    read_page_draft,
)
from app.services.pages.streamed_media import media_of_page, media_of_pages
from app.services.pages.writing import PageChangedError, PageWriter, WrittenPage
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.preconditions import WriteCondition
from app.services.requests.streamed_requests import StreamedMedia, StreamedRequest, StreamedRequests
from app.stores.records import Records, UnitOfWork

CREATE_ROUTE = "POST /api/pages"


class Pages:
    """Takes memory pages in."""

    def __init__(
        self,
        records: Records,
        preparer: PagePreparer,
        writer: PageWriter,
        *,
        bodies: StreamedRequests,
        accesses: AccessCounts,
        limits: Limits,
    ) -> None:
        self._records = records
        self._preparer = preparer
        self._writer = writer
        self._bodies = bodies
        self._accesses = accesses
        self._limits = limits
        self._parse = partial(parse_page_body, limits=limits)
        self._idempotency = Idempotency(records)

    async def put(
        self,
        project_id: str,
        page_id: str,
        body: AsyncIterator[bytes],
        *,
        condition: WriteCondition,
    ) -> WrittenPage:
        """Create a page, or replace the one that is there.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body; nothing stored.
            PreconditionFailedError: The condition does not hold; nothing stored.
            StoreUnavailableError: A store did not answer; nothing is visible, send it again.
        """
        async with self._request(project_id, body, page_id) as request:
            contents = self._preparer.contents(project_id, utc_now(), request.media)
            draft = request.value
            prepared = await self._preparer.prepare(
                contents, page_id, draft.fields(), draft.content
            )
            return await self._put(project_id, page_id, prepared, condition)

    def _request(
        self, project_id: str, body: AsyncIterator[bytes], page_id: str | None
    ) -> AbstractAsyncContextManager[StreamedRequest[PageDraft]]:
        """Read the body of a request for one page."""
        read = partial(read_page_draft, page_id=page_id)
        return self._bodies.read(project_id, body, self._parse, read, media_of=media_of_page)

    async def _put(
        self, project_id: str, page_id: str, prepared: PreparedPage, condition: WriteCondition
    ) -> WrittenPage:
        async def put() -> WrittenPage:
            current = await self._records.read(
                project_id, lambda unit: unit.pages.find(page_id, with_content=False)
            )
            condition(current.digest if current else None)
            if current is None:
                return (await self._writer.create(project_id, [await self._plan(prepared)]))[0]
            change: PageChange | None
            if await anyio.to_thread.run_sync(keeps_content, prepared, current):
                levels = await self._records.read(
                    project_id, lambda unit: unit.page_levels.of(page_id)
                )
                change = await anyio.to_thread.run_sync(
                    plan_same_content, prepared, current, levels, self._limits
                )
            else:
                change = await self._plan(prepared, current)
            if change is None:
                return WrittenPage(replace(current, content=prepared.content.text), is_new=False)
            return await self._writer.replace(project_id, current, change)

        # Nothing that others write is a reason to refuse it.
        unavailable = partial(StoreUnavailableError, "database")
        written = await self._writer.settle(project_id, page_id, put, lost=unavailable)
        return replace(written, page=self._accesses.counted(project_id, written.page))

    async def create(
        self, project_id: str, body: AsyncIterator[bytes], *, idempotency_key: str | None
    ) -> WrittenPage:
        """Create a page under the id it brings, or under one made for it.

        Raises:
            ConflictError: There is a page with this id.
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body; nothing stored.
            StoreUnavailableError: A store did not answer; nothing is visible, send it again.
        """
        async with self._request(project_id, body, None) as request:
            return await self._create(project_id, request, idempotency_key)

    async def _create(
        self, project_id: str, request: StreamedRequest[PageDraft], idempotency_key: str | None
    ) -> WrittenPage:
        drafts = [request.value]
        if idempotency_key is None:
            return (await self._create_all(project_id, drafts, request.media, None))[0]
        call = IdempotentCall(project_id, CREATE_ROUTE, idempotency_key, request.identity)
        async with self._idempotency.claimed(call, utc_now()) as answer_id:
            if answer_id is None:
                return (await self._create_all(project_id, drafts, request.media, call))[0]
            stored = await self._records.read(
                project_id, lambda unit: find_page(unit, answer_id, with_content=True)
            )
        return WrittenPage(self._accesses.counted(project_id, stored), is_new=False)

    async def create_batch(
        self, project_id: str, body: AsyncIterator[bytes]
    ) -> Sequence[WrittenPage]:
        """Create up to 1,000 pages in one transaction, in the order they are given.

        Raises:
            ConflictError: Some of the ids are taken; nothing was stored.
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body; nothing stored.
            StoreUnavailableError: A store did not answer; nothing is visible, send it again.
        """
        async with self._bodies.read(
            project_id, body, self._parse, read_page_batch, media_of=media_of_pages
        ) as request:
            return await self._create_all(project_id, request.value, request.media, None)

    async def delete(self, project_id: str, page_id: str, *, condition: WriteCondition) -> None:
        """Remove a page with its levels; what history says of it stays.

        Raises:
            NotFoundError: The project has no such page.
            PreconditionFailedError: The condition does not hold.
            ConflictError: Others change it all the time.
        """

        async def delete() -> None:
            current = await self._records.read(
                project_id, lambda unit: find_page(unit, page_id, with_content=False)
            )
            condition(current.digest)
            await self._writer.remove(project_id, current)

        await self._writer.settle(project_id, page_id, delete)
        self._accesses.forget(project_id, page_id)

    async def _create_all(
        self,
        project_id: str,
        drafts: list[PageDraft],
        streamed: StreamedMedia,
        call: IdempotentCall | None,
    ) -> Sequence[WrittenPage]:
        prepared = await self._prepare_all(project_id, drafts, streamed)
        changes = [await self._plan(each) for each in prepared]

        def note_answer(unit: UnitOfWork) -> None:
            if call is not None:
                self._idempotency.note_answer(unit, call, changes[0].version.page_id)

        try:
            return await self._writer.create(project_id, changes, also=note_answer)
        except PageChangedError as exc:
            raise _taken(exc.taken, of_one=len(changes) == 1) from exc

    async def _plan(self, prepared: PreparedPage, current: StoredPage | None = None) -> PageChange:
        """Plan the first version of a page, or one with another content than the stored one."""
        return await anyio.to_thread.run_sync(plan_change, prepared, current, None, self._limits)

    async def _prepare_all(
        self, project_id: str, drafts: list[PageDraft], streamed: StreamedMedia
    ) -> list[PreparedPage]:
        contents = self._preparer.contents(project_id, utc_now(), streamed)
        prepared = []
        for index, draft in enumerate(drafts):
            try:
                prepared.append(
                    await self._preparer.prepare(
                        contents, draft.page_id or new_id(), draft.fields(), draft.content
                    )
                )
            except InvalidPayloadError as exc:
                if len(drafts) == 1:
                    raise
                faults = [
                    Fault(f"/pages/{index}{fault.pointer}", fault.detail) for fault in exc.faults
                ]
                raise InvalidPayloadError(exc.detail, faults=faults, code=exc.problem_code) from exc
        return prepared


def _taken(indexes: Sequence[int], *, of_one: bool) -> ConflictError:
    faults = [
        Fault("/page_id" if of_one else f"/pages/{index}/page_id", "is the id of a page already")
        for index in indexes
    ]
    return ConflictError(
        "There is a page with this id already. PUT replaces it; another id, or none, makes a new "
        "page. Nothing was stored.",
        faults=faults,
        code="page-exists",
    )
