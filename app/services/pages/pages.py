"""Pages: created, replaced, deleted.

A write settles the content first, so that its media are stored before the transaction; inside it,
the session's row and the page's are held, the caller's condition is judged, and everything that
belongs to the page is written together.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial

from app.errors import (
    ConflictError,
    Fault,
    InvalidPayloadError,
    NotFoundError,
    StoreUnavailableError,
)
from app.models.identity import new_id, utc_now
from app.models.limits import Limits
from app.models.page import StoredPage
from app.services.idempotency import Idempotency, IdempotentCall
from app.services.pages.accesses import AccessCounts
from app.services.pages.events import note_written
from app.services.pages.preparing import PagePreparer, PreparedPage
from app.services.pages.requests import (
    PageDraft,
    parse_page_body,
    read_page_batch,
    read_page_draft,
)
from app.services.pages.streamed import media_of_page, media_of_pages
from app.services.pages.versions import read_page
from app.services.pages.writing import (
    PAGE,
    WrittenPage,
    contended,
    first_version,
    found,
    held,
    replace_page,
    write_beside,
)
from app.services.streaming.requests import StreamedMedia, StreamedRequest, StreamedRequests
from app.services.write_conditions import WriteCondition
from app.stores.records import MOST_TOGETHER_BYTES, Records, UnitOfWork

CREATE_ROUTE = "POST /api/pages"
_ATTEMPTS = 5


class Pages:
    """Takes memory pages in."""

    def __init__(
        self,
        records: Records,
        preparer: PagePreparer,
        *,
        bodies: StreamedRequests,
        accesses: AccessCounts,
        limits: Limits,
    ) -> None:
        self._records = records
        self._preparer = preparer
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
        read = partial(read_page_draft, page_id=page_id)
        async with self._bodies.read(
            project_id, body, self._parse, read, media_of=media_of_page
        ) as request:
            contents = self._preparer.contents(project_id, utc_now(), request.media)
            draft = request.value
            prepared = await self._preparer.prepare(
                contents, page_id, draft.fields(), draft.content
            )
            return await self._put(project_id, page_id, prepared, condition)

    async def _put(
        self, project_id: str, page_id: str, prepared: PreparedPage, condition: WriteCondition
    ) -> WrittenPage:
        version = await first_version(prepared, self._limits)

        def put(unit: UnitOfWork) -> WrittenPage:
            _enter(unit, prepared)
            for _ in range(_ATTEMPTS):
                current = unit.pages.hold(page_id)
                condition(current.digest if current else None)
                if current is not None:
                    stored = replace_page(unit, current, prepared, self._limits)
                    return WrittenPage(stored, is_new=False)
                numbers = unit.pages.insert_absent([version])
                if page_id in numbers:
                    write_beside(unit, {numbers[page_id]: prepared})
                    return WrittenPage(held(unit, page_id), is_new=True)
                # Somebody created the page in this moment, and may have deleted it since.
            raise StoreUnavailableError("database")

        is_alone = len(version.content) > MOST_TOGETHER_BYTES
        written = await self._records.write(project_id, put, is_alone=is_alone)
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
        read = partial(read_page_draft, page_id=None)
        async with self._bodies.read(
            project_id, body, self._parse, read, media_of=media_of_page
        ) as request:
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
                project_id, lambda unit: unit.pages.find(answer_id, with_content=True)
            )
        if stored is None:
            raise NotFoundError("page")
        return WrittenPage(self._accesses.counted(project_id, stored), is_new=False)

    async def create_batch(
        self, project_id: str, body: AsyncIterator[bytes]
    ) -> tuple[WrittenPage, ...]:
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
            ConflictError: It moves between sessions all the time.
        """
        for _ in range(_ATTEMPTS):
            _, page = await self._records.read(project_id, lambda unit: found(unit, page_id))
            if await self._delete(project_id, page_id, page.fields.session_id, condition):
                self._accesses.forget(project_id, page_id)
                return
        raise contended()

    async def _delete(
        self, project_id: str, page_id: str, session_id: str | None, condition: WriteCondition
    ) -> bool:
        """Remove a page; says whether it was still in this session, which is held before it."""

        def delete(unit: UnitOfWork) -> bool:
            if session_id is not None:
                unit.sessions.hold(session_id)
            current = held(unit, page_id)
            condition(current.digest)
            page = read_page(current, unit.page_levels.of(page_id))
            if page.fields.session_id != session_id:
                return False
            unit.page_search.remove(current.page_number)
            unit.resources.unlink(PAGE, page_id)
            unit.pages.remove(current.page_number)
            note_written(unit, "page:deleted", [page], version=current.version, now=utc_now())
            return True

        return await self._records.write(project_id, delete)

    async def _create_all(
        self,
        project_id: str,
        drafts: list[PageDraft],
        streamed: StreamedMedia,
        call: IdempotentCall | None,
    ) -> tuple[WrittenPage, ...]:
        prepared = await self._prepare_all(project_id, drafts, streamed)
        versions = [await first_version(each, self._limits) for each in prepared]

        def create(unit: UnitOfWork) -> Mapping[int, StoredPage]:
            for session_id in sorted({each.page.fields.session_id or "" for each in prepared}):
                if session_id:
                    unit.sessions.enter(session_id, prepared[0].now)
            numbers = unit.pages.insert_absent(versions)
            taken = [index for index, each in enumerate(versions) if each.page_id not in numbers]
            if taken:
                raise _taken(taken, of_one=len(versions) == 1)
            write_beside(unit, {numbers[each.page.page_id]: each for each in prepared})
            if call is not None:
                self._idempotency.note_answer(unit, call, versions[0].page_id)
            return unit.pages.numbered(numbers.values(), with_content=len(numbers) == 1)

        is_alone = sum(len(version.content) for version in versions) > MOST_TOGETHER_BYTES
        created = await self._records.write(
            project_id, create, is_alone=is_alone or len(versions) > 1
        )
        by_id = {stored.page_id: stored for stored in created.values()}
        return tuple(WrittenPage(by_id[each.page_id], is_new=True) for each in versions)

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


def _taken(indexes: list[int], *, of_one: bool) -> ConflictError:
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


def _enter(unit: UnitOfWork, prepared: PreparedPage) -> None:
    """Hold the session before the page: always in this order, so that writers never block."""
    if prepared.page.fields.session_id is not None:
        unit.sessions.enter(prepared.page.fields.session_id, prepared.now)
