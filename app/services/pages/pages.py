"""Creates, replaces and deletes pages.

A write first stores the media of the content, outside of any transaction. See `page_writer` for the
transaction.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from app.errors import ConflictError, StoreUnavailableError
from app.models.identity import new_id, utc_now
from app.models.limits import Limits
from app.services.concurrency.large_work import is_quick, run_in_loop_if
from app.services.pages.accesses import AccessCounts
from app.services.pages.page_preparer import (
    PageChange,
    PagePreparer,
    PreparedPage,
    plan_change,
    plan_same_content,
)
from app.services.pages.page_requests import (
    PageDraft,
    find_page_media,
    parse_page_body,
    read_page_batch,
    read_page_draft,
)
from app.services.pages.page_writer import PageChangedError, PageWriter, WrittenPage
from app.services.pages.stored_pages import find_page
from app.services.pages.versions import has_content
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.session_keys import PAGE_ROUTE
from app.services.requests.streamed_requests import StreamedRequest, StreamedRequests
from app.services.requests.validation import WriteCondition
from app.stores.records.pages import PageLevelRecords, PageRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.page import StoredPage


@dataclass(frozen=True, slots=True)
class Pages:
    """Creates, replaces and deletes memory pages."""

    records: Records
    preparer: PagePreparer
    """Stores media, and makes smaller images."""
    writer: PageWriter
    bodies: StreamedRequests
    accesses: AccessCounts
    """Adds counters to the responses."""
    limits: Limits

    async def put(
        self,
        project_id: str,
        page_id: str,
        body: AsyncIterator[bytes],
        *,
        condition: WriteCondition,
    ) -> WrittenPage:
        """Create a page, or replace an existing one.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid.
            PreconditionFailedError: The condition is false.
            StoreUnavailableError: A store did not respond; nothing was stored.
        """
        async with self._read_request(project_id, body, page_id) as request:
            prepared = (await self._prepare(project_id, request, [request.value], page_id))[0]

            async def put() -> WrittenPage:
                current = await self.records.read(
                    project_id, lambda unit: unit[PageRecords].find(page_id, with_content=False)
                )
                condition(current.digest if current else None)
                if current is None:
                    return (await self.writer.create(project_id, [await self._plan(prepared)]))[0]
                change = await self._plan_next(project_id, prepared, current)
                if change is None:
                    unchanged = replace(current, content=prepared.content.text)
                    return WrittenPage(unchanged, is_new=False)
                return await self.writer.replace(project_id, current, change)

            # A PUT replaces any version, so it is not a conflict if others write at the same time.
            unavailable = partial(StoreUnavailableError, "database")
            written = await self.writer.retry(project_id, page_id, put, failure=unavailable)
            return replace(written, page=self.accesses.add_counts(project_id, written.page))

    async def create(
        self, project_id: str, body: AsyncIterator[bytes], *, idempotency_key: str | None
    ) -> WrittenPage:
        """Create a page with the id in its body, or with a new id.

        Raises:
            ConflictError: A page with this id exists.
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid.
            StoreUnavailableError: A store did not respond; nothing was stored.
        """
        async with self._read_request(project_id, body, None) as request:
            drafts = [request.value]
            if idempotency_key is None:
                return (await self._create(project_id, request, drafts))[0]
            call = IdempotentCall(project_id, PAGE_ROUTE, idempotency_key, request.identity)
            async with Idempotency(self.records).claim(call, utc_now()) as answer_id:
                if answer_id is None:
                    return (await self._create(project_id, request, drafts, call))[0]
                stored = await self.records.read(
                    project_id, lambda unit: find_page(unit, answer_id, with_content=True)
                )
            return WrittenPage(self.accesses.add_counts(project_id, stored), is_new=False)

    async def create_batch(
        self, project_id: str, body: AsyncIterator[bytes]
    ) -> Sequence[WrittenPage]:
        """Create up to 1,000 pages in one transaction, in their order in the body.

        Raises:
            ConflictError: Some of the ids exist; nothing was stored.
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid.
            StoreUnavailableError: A store did not respond; nothing was stored.
        """
        async with self.bodies.read(
            project_id,
            body,
            partial(parse_page_body, limits=self.limits),
            read_page_batch,
            media_of=lambda drafts: [uri for draft in drafts for uri in find_page_media(draft)],
        ) as request:
            return await self._create(project_id, request, request.value)

    async def delete(self, project_id: str, page_id: str, *, condition: WriteCondition) -> None:
        """Delete a page with its levels. The messages of its page faults stay in the history.

        Raises:
            NotFoundError: The project has no such page.
            PreconditionFailedError: The condition is false.
            ConflictError: Other requests changed the page on every attempt.
        """

        async def delete() -> None:
            current = await self.records.read(
                project_id, lambda unit: find_page(unit, page_id, with_content=False)
            )
            condition(current.digest)
            await self.writer.remove(project_id, current)

        await self.writer.retry(project_id, page_id, delete)
        self.accesses.forget(project_id, page_id)

    def _read_request(
        self, project_id: str, body: AsyncIterator[bytes], page_id: str | None
    ) -> AbstractAsyncContextManager[StreamedRequest[PageDraft]]:
        parse = partial(parse_page_body, limits=self.limits)
        read = partial(read_page_draft, page_id=page_id)
        return self.bodies.read(project_id, body, parse, read, media_of=find_page_media)

    async def _create(
        self,
        project_id: str,
        request: StreamedRequest[Any],
        drafts: list[PageDraft],
        call: IdempotentCall | None = None,
    ) -> Sequence[WrittenPage]:
        prepared = await self._prepare(project_id, request, drafts)
        changes = [await self._plan(item) for item in prepared]

        def record_answer(unit: UnitOfWork) -> None:
            if call is not None:
                answer_id = changes[0].version.page_id
                Idempotency(self.records).record_answer(unit, call, answer_id)

        try:
            return await self.writer.create(project_id, changes, write_more=record_answer)
        except PageChangedError as exc:
            pointers = [f"/pages/{index}" if len(changes) > 1 else "" for index in exc.existing]
            raise ConflictError(
                "A page with this id exists already. PUT replaces it; another id, or none, creates "
                "a new page. Nothing was stored.",
                faults=[
                    Fault(f"{pointer}/page_id", "is the id of a page already")
                    for pointer in pointers
                ],
                code="page-exists",
            ) from exc

    async def _prepare(
        self,
        project_id: str,
        request: StreamedRequest[Any],
        drafts: list[PageDraft],
        page_id: str | None = None,
    ) -> list[PreparedPage]:
        resolver = self.preparer.make_resolver(project_id, utc_now(), request)
        prepared = []
        for index, draft in enumerate(drafts):
            draft_id = page_id or draft.page_id or new_id()
            try:
                prepared.append(
                    await self.preparer.prepare(resolver, draft_id, draft.fields(), draft.content)
                )
            except InvalidPayloadError as exc:
                if len(drafts) == 1:
                    raise
                faults = [
                    Fault(f"/pages/{index}{fault.pointer}", fault.detail) for fault in exc.faults
                ]
                raise InvalidPayloadError(exc.detail, faults=faults, code=exc.problem_code) from exc
        return prepared

    async def _plan(self, prepared: PreparedPage, current: StoredPage | None = None) -> PageChange:
        """Plan the first version of a page, or the next version with another content."""
        return await run_in_loop_if(
            prepared.is_quick, plan_change, prepared, current, None, self.limits
        )

    async def _plan_next(
        self, project_id: str, prepared: PreparedPage, current: StoredPage
    ) -> PageChange | None:
        """Plan the next version of a stored page; `None` if nothing changes."""
        is_short = prepared.is_quick and is_quick(current.descriptor)
        if not await run_in_loop_if(
            is_short, lambda: has_content(current, prepared.page.full, prepared.content.text)
        ):
            return await self._plan(prepared, current)
        levels = await self.records.read(
            project_id, lambda unit: unit[PageLevelRecords].find(current.page_id)
        )
        is_short = is_short and is_quick(*(level.body for level in levels))
        return await run_in_loop_if(
            is_short, plan_same_content, prepared, current, levels, self.limits
        )
