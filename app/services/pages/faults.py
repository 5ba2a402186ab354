"""Page faults: a page put before a model as a tool message, and noted in its session.

The stored message holds references where the answer holds data URIs; the page is never changed.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

from app.errors import ConflictError, NotFoundError
from app.models.event import NewEvent
from app.models.identity import new_id, utc_now
from app.models.json_value import JsonValue, json_text
from app.models.limits import Limits
from app.models.message import StoredHistoryMessage
from app.models.rendering import Rendering
from app.services.concurrency.large_work import run_in_loop_if
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.fault_messages import image_ids, with_images
from app.services.pages.preparing import PagePreparer
from app.services.pages.reading import BlocksOptions, PageReading
from app.services.pages.refused_faults import is_page_id, missing_page, named_ids, refused_id
from app.services.pages.requests import FaultRequest
from app.stores.blobs import BlobStore
from app.stores.records import Records, UnitOfWork
from app.stores.records.sessions import PAGE_FAULT


@dataclass(frozen=True, slots=True)
class _Call:
    """A fault that is to stand in a session's history."""

    page_id: str
    session_id: str
    request: FaultRequest
    now: datetime

    @property
    def digest(self) -> str:
        """What tells this request from another one with the same call id."""
        asked = [self.page_id, *self.request.model_dump(mode="json", exclude={"form"}).values()]
        # The form came later: what was asked before it was known is still the same request.
        asked += [] if self.request.form == "blocks" else [self.request.form]
        return hashlib.sha256(json_text(asked).encode()).hexdigest()


class PageFaults:
    """Answers what models fault in."""

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        preparer: PagePreparer,
        reading: PageReading,
        *,
        limits: Limits,
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._preparer = preparer
        self._reading = reading
        self._limits = limits

    async def fault(self, project_id: str, page_id: str, request: FaultRequest) -> RenderedBody:
        """The tool message `{role, tool_call_id, content}` with the page at the level asked for.

        With a session, the message is appended to its history and the read is counted, in one
        transaction. The same call of the session again gives the message again and appends nothing.

        Raises:
            NotFoundError: The project has no such page; nothing was appended.
            InvalidPayloadError: No page can have this id; nothing was appended.
            ConflictError: This call of the session was answered with something else.
            PayloadTooLargeError: The medium is too large to stand in an answer.
        Source: spec 000, "Multi-block Tool Results".
        """
        if not is_page_id(page_id):
            existing = await self._existing(project_id, page_id)
            raise refused_id(
                page_id,
                existing,
                level=request.target_level,
                tool_call_id=request.tool_call_id,
            )
        call = None
        if request.session_id is not None:
            call = _Call(page_id, request.session_id, request, utc_now())
            answered = await self._records.read(project_id, lambda unit: _answered(unit, call))
            if answered is not None:
                return await self._with_media(project_id, answered)
        message = await self._message(project_id, page_id, request)
        # Before it is appended: what cannot be answered must not stand in the history.
        answer = await self._with_media(project_id, message)
        if call is None:
            self._reading.note(project_id, page_id)

            def tell(unit: UnitOfWork) -> None:
                unit.events.note(_event(page_id, request, utc_now()))

            await self._records.write(project_id, tell)
            return answer
        answered = await self._append(project_id, call, message)
        return answer if answered is None else await self._with_media(project_id, answered)

    async def _message(self, project_id: str, page_id: str, request: FaultRequest) -> bytes:
        """The message as history keeps it: with references in the place of stored media."""
        options = BlocksOptions(
            media="reference",
            detail=request.detail,
            max_chars=request.max_chars,
            offset=request.offset,
        )
        try:
            view = await self._reading.view(project_id, page_id, request.target_level)
        except NotFoundError as exc:
            raise missing_page(
                page_id,
                await self._existing(project_id, page_id),
                level=request.target_level,
                tool_call_id=request.tool_call_id,
            ) from exc
        if request.form == "json":
            content: JsonValue = await self._reading.json_text_of(view, options)
        else:
            content = (await self._reading.blocks_of(view, options)).content
        return await run_in_loop_if(view.is_quick, _tool_message, request, content)

    async def _existing(self, project_id: str, page_id: str) -> list[str]:
        """The pages that are named in what was sent as an id."""
        candidates = named_ids(page_id)
        if not candidates:
            return []
        return await self._records.read(
            project_id,
            lambda unit: [each for each in candidates if unit.pages.find(each, with_content=False)],
        )

    async def _append(self, project_id: str, call: _Call, message: bytes) -> bytes | None:
        """Append the message; returns the one that a twin of this request was faster with."""
        message_id = new_id()
        wanted = image_ids(message)

        def append(unit: UnitOfWork) -> bytes | None:
            unit.sessions.enter(call.session_id, call.now)
            answered = _answered(unit, call)
            if answered is not None:
                return answered
            seq = unit.sessions.append(
                call.session_id, PAGE_FAULT, message_id, size_bytes=len(message)
            )
            unit.messages.add(
                StoredHistoryMessage(
                    seq=seq,
                    message_id=message_id,
                    created_at=call.now,
                    tool_call_id=call.request.tool_call_id,
                    request_digest=call.digest,
                    message=message,
                ),
                session_id=call.session_id,
            )
            # The page before its resources: everybody who takes both takes them in this order.
            unit.page_accesses.add({call.page_id: (1, call.now)})
            resources = unit.resources.find_all(wanted)
            if wanted - resources.keys():
                raise ConflictError(
                    "The page was changed while it was faulted in. Ask again.", code="page-changed"
                )
            unit.resources.ensure_linked(
                resources.values(),
                owner_kind=PAGE_FAULT,
                owner_id=message_id,
                session_id=call.session_id,
            )
            event = _event(call.page_id, call.request, call.now, message_id=message_id)
            unit.events.note(replace(event, session_id=call.session_id, seq=seq))
            return None

        return await self._records.write(project_id, append)

    async def _with_media(self, project_id: str, message: bytes) -> RenderedBody:
        media = self._preparer.contents(project_id, utc_now()).media
        pieces = await with_images(
            media, message, limit_bytes=self._limits.image_bytes, checks=self._reading.checks
        )
        answer = RenderedBody(self._blobs, project_id, Rendering(pieces))
        await answer.check()
        return answer


def _event(
    page_id: str, request: FaultRequest, now: datetime, *, message_id: str | None = None
) -> NewEvent:
    return NewEvent(
        "page:faulted",
        page_id,
        now,
        members={
            "level": request.target_level.name,
            "callId": request.tool_call_id,
            "messageId": message_id,
        },
    )


def _answered(unit: UnitOfWork, call: _Call) -> bytes | None:
    """What this call of the session was answered with before, if it was."""
    tool_call_id = call.request.tool_call_id
    if tool_call_id is None:
        return None
    earlier = unit.messages.find_call(call.session_id, tool_call_id)
    if earlier is not None and earlier.request_digest == call.digest:
        return earlier.message
    if earlier is not None or unit.tool_results.find_call(call.session_id, tool_call_id):
        raise ConflictError(
            "This tool call of the session was already answered with something else. A fault is "
            "known by its page and all that its body asks for. A call has one result: take a new "
            "tool_call_id.",
            code="tool-call-answered",
        )
    return None


def _tool_message(request: FaultRequest, content: JsonValue) -> bytes:
    message = {"role": "tool", "tool_call_id": request.tool_call_id, "content": content}
    return json_text(message).encode()
