"""Messages of a conversation, as its client sends them to its model (spec 000, HistoryMessage).

A message of any dialect is stored as it was sent. Only its large media are moved to the blob store,
from which a response can insert them again, byte for byte.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from app.errors import ConflictError
from app.models.event import NewEvent
from app.models.identity import new_id, utc_now
from app.models.limits import Limits
from app.models.message import StoredHistoryMessage
from app.models.session import MESSAGE
from app.services.calls.answer_positions import (
    AnswerPosition,
    find_answer_position,
    find_joint_answer_position,
)
from app.services.concurrency.large_work import run_in_loop_if
from app.services.inline_media.media_mover import MediaMover
from app.services.media.media_keeper import MediaKeeper
from app.services.requests.body_reader import BodyReader
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity, explain_comparison
from app.services.requests.streamed_requests import StreamedRequest, StreamedRequests
from app.services.requests.validation import read_value, require_found
from app.services.sessions.message_requests import ParsedMessage, read_message
from app.stores.blobs.store import BlobStore
from app.stores.records.history import MessageRecords
from app.stores.records.records import MAX_TOGETHER_BYTES, Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, PayloadTooLargeError
from pagefault_dialects.json.pointers import find_first_difference
from pagefault_dialects.json.values import JsonValue, json_text, parse_stored_json
from pagefault_dialects.media.embedded_data_uris import dump_forms
from pagefault_dialects.messages.entry_reading import READER_VERSION
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.model.resource import Resource

APPEND_ROUTE = "POST /api/sessions/{session_id}/messages"


@dataclass(frozen=True, slots=True)
class AppendedMessage:
    """A message that was appended, by this request or an equal one before it."""

    message: StoredHistoryMessage
    is_new: bool
    """True if this request appended the message."""
    warnings: Sequence[BodyWarning]


@dataclass(frozen=True, slots=True, eq=False)
class SessionMessages:
    """Appends messages to the histories of a project's sessions."""

    records: Records
    blobs: BlobStore
    bodies: StreamedRequests
    limits: Limits

    async def append(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        *,
        idempotency_key: str | None,
    ) -> AppendedMessage:
        """Append a message to a session.

        If the session does not exist, it is created. If the message is a tool result that the
        session has already, nothing is appended.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid or too
                large; nothing was stored.
            ConflictError: The tool call has another result.
            StoreUnavailableError: A store did not respond; nothing is visible. Send the request
                again.
        """
        reader = BodyReader(self.limits)
        async with self._read(project_id, session_id, body, reader.read) as request:
            message, is_new = await self._append_once(
                project_id, session_id, request, idempotency_key
            )
        return AppendedMessage(message, is_new, reader.warnings)

    async def _append_once(
        self,
        project_id: str,
        session_id: str,
        request: StreamedRequest[ParsedMessage],
        idempotency_key: str | None,
    ) -> tuple[StoredHistoryMessage, bool]:
        """Append a message, at most once for an idempotency key; see `append`."""
        if idempotency_key is None:
            return await self._append(project_id, session_id, request, None)
        call = IdempotentCall(project_id, APPEND_ROUTE, idempotency_key, request.identity)
        idempotency = Idempotency(self.records)
        async with idempotency.claim(call, utc_now()) as answer_id:
            if answer_id is None:
                message, is_new = await self._append(project_id, session_id, request, call)
                if not is_new:
                    # The tool call had a result already, so no commit has recorded the key.
                    await idempotency.record_existing_answer(call, message.message_id)
                return message, is_new
            stored = await self.records.read(
                project_id, lambda unit: unit[MessageRecords].find(answer_id)
            )
        return require_found(stored, "message"), False

    async def prepare(
        self, project_id: str, session_id: str, body: AsyncIterator[bytes]
    ) -> "PreparedMessage":
        """Store the media of a message, and return it. The caller's transaction appends it.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid or too
                large; nothing was stored.
            StoreUnavailableError: A store did not respond; nothing is visible.
        """
        parse = partial(read_value, limits=self.limits, keeps_spelling=True)
        async with self._read(project_id, session_id, body, parse) as request:
            return await self.prepare_parsed(project_id, session_id, request)

    def _read(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        parse: Callable[[bytes], JsonValue],
    ) -> AbstractAsyncContextManager[StreamedRequest[ParsedMessage]]:
        """Read and check the body of a request. Its media are decoded while they arrive."""
        return self.bodies.read(
            project_id,
            body,
            parse,
            read_message,
            media_of=lambda parsed: [
                medium.uri for medium in parsed.media_strings if medium.uri is not None
            ],
            identity_prefix=session_id.encode() + b"\0",
        )

    async def _append(
        self,
        project_id: str,
        session_id: str,
        request: StreamedRequest[ParsedMessage],
        call: IdempotentCall | None,
    ) -> tuple[StoredHistoryMessage, bool]:
        parsed = request.value
        existing = await self.records.read(
            project_id, lambda unit: _find_existing(unit, session_id, parsed, request.identity)[0]
        )
        if existing is not None:
            return existing, False
        prepared = await self.prepare_parsed(project_id, session_id, request)

        def append(unit: UnitOfWork) -> tuple[StoredHistoryMessage, bool]:
            appended, is_new = prepared.append(unit)
            if is_new and call is not None:
                Idempotency(self.records).record_answer(unit, call, appended.message_id)
            return appended, is_new

        return await self.records.write(project_id, append, is_alone=prepared.is_long)

    async def prepare_parsed(
        self, project_id: str, session_id: str, request: StreamedRequest[ParsedMessage]
    ) -> "PreparedMessage":
        """Store the media of a parsed message, and replace them by references; see `prepare`."""
        parsed, now = request.value, utc_now()
        keeper = MediaKeeper(self.blobs, project_id, limit_bytes=self.limits.medium_bytes, now=now)
        mover = MediaMover(keeper, max_media=self.limits.media_per_result, streamed=request.media)
        moved = await mover.move_all(parsed.value, parsed.media_strings)
        text = (await run_in_loop_if(request.is_quick, json_text, moved.value)).encode()
        if len(text) > self.limits.message_bytes:
            raise PayloadTooLargeError(
                f"A message may have {self.limits.message_bytes} bytes beside its media. Store "
                "what is longer as a resource, and refer to it. Nothing was stored."
            )
        message = StoredHistoryMessage(
            seq=0,
            message_id=new_id(),
            created_at=now,
            tool_call_id=parsed.tool_call_id,
            request_digest=request.identity.digest,
            message=parsed.to_stored(text),
            inline_form=dump_forms(parsed.to_stored_forms(moved.forms)),
            dialect=parsed.dialect,
            reading=READER_VERSION,
            role=parsed.role,
            is_apart=True if len(parsed.answered_ids) == 1 else None,
            failures=parsed.failures,
        )
        return PreparedMessage(session_id, message, moved.resources, parsed, request.identity)


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """A message that is ready to be appended. Its media are stored."""

    session_id: str
    message: StoredHistoryMessage
    resources: Sequence[Resource]
    """The resources of its media."""
    parsed: ParsedMessage
    identity: RequestIdentity

    @property
    def is_long(self) -> bool:
        """True if the message gets a commit of its own, so that other writes do not wait for it."""
        return len(self.message.message) > MAX_TOGETHER_BYTES

    def mark_as_list_item(self) -> Self:
        """Return the message, marked as sent in a list. Renderings keep the order of a list."""
        return replace(self, message=replace(self.message, is_apart=None))

    def find_answer_position(self, unit: UnitOfWork) -> AnswerPosition:
        """Return the position of the message among the results of calls with the same id.

        The caller has locked the session.
        """
        return _find_position(unit, self.session_id, self.parsed, self.identity)

    def append(self, unit: UnitOfWork) -> tuple[StoredHistoryMessage, bool]:
        """Write the message, its history entry and links; return the message and True if it is new.

        Raises:
            ConflictError: The tool call has another result.
        """
        session_id, message, parsed = self.session_id, self.message, self.parsed
        unit[SessionRecords].ensure(session_id, message.created_at)
        # The session is locked, so an equal request that has committed meanwhile is found here.
        existing, number = _find_existing(unit, session_id, parsed, self.identity)
        if existing is not None:
            return existing, False
        message = replace(message, answer_number=number)
        seq = unit[SessionRecords].append(
            session_id,
            MESSAGE,
            message.message_id,
            size_bytes=len(message.message),
            row=unit[MessageRecords].row(message, session_id=session_id),
        )
        appended = replace(message, seq=seq)
        referenced = unit[ResourceRecords].find_all(parsed.references)
        unit[ResourceRecords].ensure_linked(
            {**referenced, **{file.resource_id: file for file in self.resources}}.values(),
            owner_kind=MESSAGE,
            owner_id=message.message_id,
            session_id=session_id,
        )
        event = NewEvent(
            "message:created",
            appended.message_id,
            appended.created_at,
            session_id=session_id,
            seq=seq,
            size_bytes=len(appended.message),
            members=parsed.event_members(),
        )
        unit.add_event(event)
        return appended, True


def _find_existing(
    unit: UnitOfWork, session_id: str, parsed: ParsedMessage, identity: RequestIdentity
) -> tuple[StoredHistoryMessage | None, int]:
    """Return the stored result of the same tool call, if there is one, and the result's number.

    Results of calls with the same id are numbered from 1.

    Raises:
        ConflictError: The stored message differs.
    """
    position = _find_position(unit, session_id, parsed, identity)
    if position.existing is None:
        return None, position.number
    earlier = unit[MessageRecords].find(position.existing.entry_id)
    if earlier is not None and identity.matches(earlier.request_digest):
        return earlier, position.number
    faults = _find_difference(earlier, parsed) if earlier else ()
    compared = f" {explain_comparison(earlier.request_digest)}" if earlier else ""
    raise ConflictError(
        f"This tool call of the session was already answered with something else.{compared} A call "
        "has one result: leave the message out where that is in the history already. Where another "
        "call has the same id, append the message that makes it first.",
        faults=faults,
        code="tool-call-answered",
    )


def _find_position(
    unit: UnitOfWork, session_id: str, parsed: ParsedMessage, identity: RequestIdentity
) -> AnswerPosition:
    if len(parsed.answered_ids) > 1:
        return find_joint_answer_position(unit, session_id, parsed.answered_ids, identity)
    return find_answer_position(unit, session_id, parsed.tool_call_id)


def _find_difference(earlier: StoredHistoryMessage, parsed: ParsedMessage) -> Sequence[Fault]:
    """Return one fault about the first difference between a message and the stored one.

    If only media may differ, the fault is about the first medium. There is none without media.
    """
    if earlier.tool_call_id != parsed.tool_call_id:
        return [Fault("", f"answers what the entry with seq {earlier.seq} answers")]
    stored = parse_stored_json(earlier.sent)
    pointer = find_first_difference(stored, parsed.value, is_ignored=_is_moved)
    if pointer is not None:
        return [Fault(pointer, "is not what it is in the stored message")]
    media = parsed.media_strings[:1]
    return [Fault(item.pointer, "may be another medium than the stored one") for item in media]


def _is_moved(stored: JsonValue, sent: JsonValue) -> bool:
    """Return True if references have replaced media in a stored string."""
    return isinstance(stored, str) and "@blob:" in stored and isinstance(sent, str)
