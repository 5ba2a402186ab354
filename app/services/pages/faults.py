"""Page faults: return a page to a model as a tool message, and append the message to the session.

The stored message has references instead of data URIs. The page is never changed.

An error has a tool message for the model, with the reason, and the call to send instead. If a model
has sent a page id in quotes or as a citation (`[ref: img_001]`), the error names the page with this
id.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Self

import msgspec
from pydantic import ConfigDict, Field, ValidationError

from app.errors import ConflictError, NotFoundError
from app.models.call_ids import LONGEST_CALL_ID, CallId
from app.models.event import NewEvent
from app.models.identity import new_id, utc_now
from app.models.message import StoredHistoryMessage
from app.models.session import PAGE_FAULT
from app.services.calls.answer_positions import find_answer_position
from app.services.concurrency.large_work import run_in_loop_if
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.message_images import find_image_ids, insert_images
from app.services.pages.page_bodies import guess_url_mime_type
from app.services.pages.page_views import BlocksOptions, PageViews
from app.stores.records.history import MessageRecords
from app.stores.records.page_accesses import PageAccessRecords
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.base import ClientId, Count, FrozenModel, faults_of
from pagefault_dialects.model.client_ids import CLIENT_ID
from pagefault_dialects.model.page import Level, LevelInput, PageForm
from pagefault_dialects.model.render_options import ImageDetail, Rendering
from pagefault_dialects.pages.line_formats import quote, quote_short
from pagefault_dialects.pages.typed_content import write_failure_json
from pagefault_dialects.texts.cuts import cut_short
from pagefault_dialects.turns.page_turns import PageFaultCall

_SCANNED_CHARS = 1_000
_MAX_CANDIDATES = 8
_MAX_ID_CHARS = 128
_QUOTED_CHARS = 100
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_ID_RULE = (
    "An id has 1 to 128 letters, digits and . _ : - and begins with a letter or a digit. Send one "
    "as the list of memory pages names it, without quotes or brackets."
)


class FaultRequest(FrozenModel):
    """The request of a page fault."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "examples": [{"target_level": 0, "session_id": "demo", "tool_call_id": "call_abc"}]
        },
    )

    target_level: LevelInput = Level.ABSTRACT
    session_id: ClientId | None = None
    tool_call_id: CallId | None = None
    max_chars: Annotated[int | None, Field(ge=1)] = None
    offset: Count = 0
    detail: ImageDetail = "low"
    form: Annotated[
        PageForm,
        Field(description="`json`: `content` is one JSON string with the page in it."),
    ] = "blocks"


def read_fault_request(value: JsonValue, page_id: str, form: str | None) -> FaultRequest:
    """Return a page fault from the body and the query of its request.

    Args:
        value: The body.
        page_id: The id of the page, for the tool message of an error.
        form: The form in the query. The body may have the same form.

    Raises:
        InvalidPayloadError: The request is invalid; the error has a tool message.
    """
    call_id = value.get("tool_call_id") if isinstance(value, dict) else None
    is_valid_id = isinstance(call_id, str) and 0 < len(call_id) <= LONGEST_CALL_ID
    tool_call_id = call_id if is_valid_id else None
    try:
        request = FaultRequest.model_validate(value)
    except ValidationError as exc:
        raise argument_error(page_id, faults_of(exc), tool_call_id=tool_call_id) from exc
    if form is None:
        return request
    if "form" in request.model_fields_set and request.form != form:
        faults = [Fault("/form", "is another one than `?form=` says; send one of them")]
        raise argument_error(page_id, faults, tool_call_id=tool_call_id)
    return request.model_copy(update={"form": form})


def is_page_id(text: str) -> bool:
    """Return True if a text is a valid page id."""
    return CLIENT_ID.match(text) is not None


def find_candidate_ids(text: str) -> list[str]:
    """Return up to eight possible page ids in a text that a model sent as a page id.

    Each run of id characters is a candidate: as it is, without a prefix such as `ref:`, and without
    punctuation at its end.
    """
    ids: dict[str, None] = {}
    for token in _TOKEN.findall(text[:_SCANNED_CHARS]):
        for name in (token, token.partition(":")[2]):
            for candidate in (name, name.rstrip("._:-")):
                if candidate != text and is_page_id(candidate):
                    ids[candidate] = None
        if len(ids) >= _MAX_CANDIDATES:
            break
    return [*ids][:_MAX_CANDIDATES]


def missing_page_error(
    page_id: str, existing: Sequence[str], request: FaultRequest
) -> InvalidPayloadError | NotFoundError:
    """Return the error for an unknown or invalid page id.

    Args:
        page_id: The page id that the model sent.
        existing: The ids of existing pages in the text of `page_id`, which the error suggests.
        request: The page fault.
    """
    suggestion = _suggest_calls(existing, request.target_level)
    if is_page_id(page_id):
        error = f"There is no page {page_id} in this project."
        error += f" {suggestion}" if suggestion else ""
        return NotFoundError(
            "page", members=make_failure_members(page_id, error, request.tool_call_id)
        )
    reason = (
        f"{quote_short(page_id, _QUOTED_CHARS)} is no page id."
        if page_id
        else "The page id is empty."
    )
    error = f"{reason} {suggestion or _ID_RULE}"
    return InvalidPayloadError(
        "The page id is invalid; `content` is the tool message for the model.",
        members=make_failure_members(page_id, error, request.tool_call_id),
        faults=[Fault("/path/page_id", "must be the id of a page, without other characters")],
    )


def argument_error(
    page_id: str, faults: Sequence[Fault], *, tool_call_id: str | None
) -> InvalidPayloadError:
    """Return the error for a page fault with invalid arguments."""
    reasons = ", and ".join(
        f"{fault.pointer[1:] or 'the body'}: {fault.detail}" for fault in faults[:3]
    )
    call = f"page_fault({quote(page_id)}, target_level=0)" if is_page_id(page_id) else ""
    suggestion = f" For the full content, send {call}." if call else ""
    return InvalidPayloadError(
        "The body is not what the route takes; `errors` says where.",
        members=make_failure_members(
            page_id, f"The page was not faulted in. {reasons}.{suggestion}", tool_call_id
        ),
        faults=faults,
    )


def make_failure_members(page_id: str, error: str, tool_call_id: str | None) -> dict[str, object]:
    """Return the members of a problem document that are the tool message for the model."""
    short_id = cut_short(page_id, _MAX_ID_CHARS)
    return {
        "success": False,
        "page_id": short_id,
        "error": error,
        "role": "tool",
        "tool_call_id": tool_call_id,
        "content": write_failure_json(short_id, error),
    }


def _suggest_calls(existing: Sequence[str], level: Level) -> str | None:
    """Return a sentence with the page faults that the model may have meant, if there are any."""
    if not existing:
        return None
    calls = [f"page_fault({quote(item)}, target_level={int(level)})" for item in existing]
    if len(calls) == 1:
        return f"Page {existing[0]} is there: send {calls[0]}."
    return f"These pages are there, one for each call: {', '.join(calls)}."


@dataclass(frozen=True, slots=True)
class _FaultCall:
    """A page fault that is appended to the history of its session."""

    page_id: str
    session_id: str
    request: FaultRequest
    now: datetime

    @property
    def digest(self) -> str:
        """The digest by which two requests with the same call id are compared."""
        members = [self.page_id, *self.request.model_dump(mode="json", exclude={"form"}).values()]
        # Older versions had no forms. So the default form is left out, and digests stay the same.
        members += [] if self.request.form == "blocks" else [self.request.form]
        return hashlib.sha256(json_text(members).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PageFaults:
    """Handles the page faults of models."""

    records: Records
    views: PageViews

    async def fault(self, project_id: str, page_id: str, request: FaultRequest) -> RenderedBody:
        """Return the tool message `{role, tool_call_id, content}` with the page at a level.

        If the request names a session, one transaction appends the message to its history, and
        counts the read. If the call is repeated, the stored message is returned again.

        Raises:
            NotFoundError: The project has no such page; nothing was appended.
            InvalidPayloadError: The page id is invalid; nothing was appended.
            ConflictError: The tool call already has another result in the session.
            PayloadTooLargeError: The medium is too large for a response.
        Source: spec 000, "Multi-block Tool Results".
        """
        if request.session_id is None:
            message, _ = await self._build_message(project_id, page_id, request)
            rendered = await self._insert_media(project_id, message)
            self.views.record_access(project_id, page_id)
            event = _make_event(page_id, request, utc_now())
            await self.records.write(project_id, lambda unit: unit.add_event(event))
            return rendered
        call = _FaultCall(page_id, request.session_id, request, utc_now())
        existing = await self.records.read(project_id, lambda unit: _find_existing(unit, call)[0])
        if existing is not None:
            return await self._insert_media(project_id, existing.message)
        prepared = await self._prepare(project_id, call)
        stored, is_new = await self.records.write(project_id, prepared.append)
        return prepared.rendered if is_new else await self._insert_media(project_id, stored.message)

    async def prepare(
        self,
        project_id: str,
        page_id: str,
        session_id: str,
        request: FaultRequest,
        *,
        max_tokens: int,
    ) -> "PreparedFault":
        """Return a fault that the caller's transaction appends to the session.

        If the text of the page is longer than `max_tokens`, only its beginning and its end are
        returned, and a line between them that names the call to read the rest.

        Raises:
            Exception: See `fault`; nothing was appended.
        """
        call = _FaultCall(page_id, session_id, request, utc_now())
        return await self._prepare(project_id, call, max_tokens)

    async def _prepare(
        self, project_id: str, call: _FaultCall, max_tokens: int | None = None
    ) -> "PreparedFault":
        message, mime_type = await self._build_message(
            project_id, call.page_id, call.request, max_tokens=max_tokens
        )
        # The media are checked before the append: a fault that cannot be sent must not be stored.
        rendered = await self._insert_media(project_id, message)
        fault = PageFaultCall(call.page_id, int(call.request.target_level), mime_type)
        return PreparedFault(call, message, rendered, fault)

    async def _build_message(
        self,
        project_id: str,
        page_id: str,
        request: FaultRequest,
        *,
        max_tokens: int | None = None,
    ) -> tuple[bytes, str | None]:
        """Return the message as it is stored, with references to stored media.

        If the message has the URL of an image, the MIME type of that image is returned as well.
        """
        options = BlocksOptions(
            media="reference",
            detail=request.detail,
            max_chars=request.max_chars,
            offset=request.offset,
            max_tokens=max_tokens,
        )
        try:
            if not is_page_id(page_id):
                raise NotFoundError("page")
            view = await self.views.view(project_id, page_id, request.target_level)
        except NotFoundError as exc:
            existing = await self.find_mentioned_pages(project_id, page_id)
            raise missing_page_error(page_id, existing, request) from exc
        mime_type: str | None = None
        if request.form == "json":
            content: JsonValue = await self.views.write_json_text(view, options)
        else:
            blocks = await self.views.make_blocks(view, options)
            content, level = blocks.content, view.page.at(blocks.level)
            if level is not None and level.body.kind == "url":
                mime_type = guess_url_mime_type(view.page, level.body)
        message = {"role": "tool", "tool_call_id": request.tool_call_id, "content": content}
        encoded = await run_in_loop_if(view.is_quick, lambda: json_text(message).encode())
        return encoded, mime_type

    async def find_mentioned_pages(self, project_id: str, page_id: str) -> list[str]:
        """Return the ids of existing pages in the text that a model sent as a page id.

        If the whole text is the id of a page, this id comes first.
        """
        candidates = find_candidate_ids(page_id)
        if is_page_id(page_id):
            candidates = [page_id, *candidates]
        if not candidates:
            return []
        return await self.records.read(
            project_id,
            lambda unit: [
                name for name in candidates if unit[PageRecords].find(name, with_content=False)
            ],
        )

    async def _insert_media(self, project_id: str, message: bytes) -> RenderedBody:
        pieces = await insert_images(
            self.views.media(project_id),
            message,
            limit_bytes=self.views.limits.image_bytes,
            checks=self.views.checks,
        )
        return await RenderedBody(self.views.blobs, project_id, Rendering(pieces)).check()


@dataclass(frozen=True, slots=True)
class PreparedFault:
    """A page fault that is ready to be appended."""

    call: _FaultCall
    message: bytes
    """The message as it is stored."""
    rendered: RenderedBody
    """The message with its media."""
    fault: PageFaultCall
    """The page and level, by which renderings recognise the fault."""
    is_apart: bool | None = True
    """See `StoredHistoryMessage.is_apart`."""

    def mark_as_list_item(self) -> Self:
        """Return the fault marked as one of a list; see `PreparedEntry`."""
        return replace(self, is_apart=None)

    def find_existing(self, unit: UnitOfWork) -> StoredHistoryMessage | None:
        """Return the stored result of the tool call, if there is one; see `PreparedEntry`."""
        return _find_existing(unit, self.call)[0]

    def append(self, unit: UnitOfWork) -> tuple[StoredHistoryMessage, bool]:
        """Append the message, unless an equal one is stored.

        Returns:
            The stored message, and True if it is new.

        Raises:
            ConflictError: The tool call has another result, or the page was changed.
        """
        call, message, message_id = self.call, self.message, new_id()
        unit[SessionRecords].ensure(call.session_id, call.now)
        existing, number = _find_existing(unit, call)
        if existing is not None:
            return existing, False
        entry = StoredHistoryMessage(
            seq=0,
            message_id=message_id,
            created_at=call.now,
            tool_call_id=call.request.tool_call_id,
            request_digest=call.digest,
            message=message,
            page_fault=msgspec.json.encode(self.fault).decode(),
            answer_number=number,
            is_apart=self.is_apart,
        )
        seq = unit[SessionRecords].append(
            call.session_id,
            PAGE_FAULT,
            message_id,
            size_bytes=len(message),
            row=unit[MessageRecords].row(entry, session_id=call.session_id),
        )
        # The page is locked before its resources, as all other writers do, to avoid deadlocks.
        unit[PageAccessRecords].add({call.page_id: (1, call.now)})
        images = find_image_ids(message)
        resources = unit[ResourceRecords].find_all(images)
        if images - resources.keys():
            raise ConflictError(
                "The page was changed while it was faulted in. Ask again.", code="page-changed"
            )
        unit[ResourceRecords].ensure_linked(
            resources.values(),
            owner_kind=PAGE_FAULT,
            owner_id=message_id,
            session_id=call.session_id,
        )
        event = _make_event(call.page_id, call.request, call.now, message_id=message_id)
        unit.add_event(replace(event, session_id=call.session_id, seq=seq))
        return replace(entry, seq=seq), True


def _make_event(
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


def _find_existing(unit: UnitOfWork, call: _FaultCall) -> tuple[StoredHistoryMessage | None, int]:
    """Return the stored result of a tool call, if there is one, and the number of the result.

    Results of calls with the same id are numbered from 1.

    Raises:
        ConflictError: The stored result is that of a different request.
    """
    position = find_answer_position(unit, call.session_id, call.request.tool_call_id)
    if position.existing is None:
        return None, position.number
    earlier = unit[MessageRecords].find(position.existing.entry_id)
    if earlier is not None and earlier.request_digest == call.digest:
        return earlier, position.number
    raise ConflictError(
        "This tool call of the session was already answered with something else. A fault is known "
        "by its page and all that its body asks for. A call has one result. Where another call has "
        "the same id, append the message that makes it first.",
        code="tool-call-answered",
    )
