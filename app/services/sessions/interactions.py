"""Interactions: the turn of a user with attached files, and the final answer to it.

The answer, which the API calls `output`, is set only once. Source: spec 001.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import sha256

from app.errors import ConflictError
from app.models.event import EventType, NewEvent
from app.models.identity import decode_cursor, encode_cursor, is_id, new_id, utc_now
from app.models.interaction import ChatMessage
from app.models.limits import Limits
from app.models.session import ANSWER, INTERACTION
from app.models.stored_interaction import AttachedResource, InputKind, StoredInteraction
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.validation import WriteCondition, require_found
from app.services.requests.whole_bodies import RequestBodies
from app.services.sessions.interaction_requests import (
    ParsedInteraction,
    find_attachments,
    make_bindings,
    read_interaction,
    read_output,
    resolve_attachments,
)
from app.stores.records.interactions import InteractionRecords
from app.stores.records.records import MAX_TOGETHER_BYTES, Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.interactions import encode_interaction
from pagefault_dialects.errors import Fault
from pagefault_dialects.json.pointers import find_first_difference
from pagefault_dialects.json.values import json_text, parse_stored_json
from pagefault_dialects.messages.message_references import find_references
from pagefault_dialects.model.timestamps import format_timestamp

CREATE_ROUTE = "POST /api/sessions/{session_id}/interactions"


@dataclass(frozen=True, slots=True)
class InteractionWithAttachments:
    """An interaction with its attachments."""

    interaction: StoredInteraction
    attachments: tuple[AttachedResource, ...]
    """The attached files in order of first use, each file once."""
    is_new: bool = False
    """True if this request created the interaction, or its answer."""


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """Stores user turns and the answers to them."""

    records: Records
    bodies: RequestBodies
    limits: Limits

    async def create(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        *,
        idempotency_key: str | None,
        accepts_unknown: bool = False,
    ) -> InteractionWithAttachments:
        """Append an interaction to a session. If the session does not exist, it is created.

        The same transaction links the session to the attached resources, which therefore cannot be
        deleted. If `accepts_unknown` is set, ids of unknown resources are stored, and marked.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid or too
                large; nothing was stored.
            MissingAttachmentError: Attached resources do not exist. The error lists all of them.
            StoreUnavailableError: The database did not respond; nothing is visible. Send the
                request again.
        Source: spec 001, "Session Interaction".
        """
        parse = partial(read_interaction, session_id=session_id, limits=self.limits)
        async with self.bodies.read(body, parse) as parsed:
            create = partial(
                self._create, project_id, session_id, parsed, accepts_unknown=accepts_unknown
            )
            if idempotency_key is None:
                return await create(None)
            call = IdempotentCall(project_id, CREATE_ROUTE, idempotency_key, parsed.identity)
            async with Idempotency(self.records).claim(call, utc_now()) as answer_id:
                if answer_id is None:
                    return await create(call)
                return await self.get(project_id, session_id, answer_id)

    async def get(
        self, project_id: str, session_id: str, interaction_id: str
    ) -> InteractionWithAttachments:
        """Return the interaction with this id, with its answer if it has one.

        Raises:
            NotFoundError: The session has no such interaction.
        """

        def find(unit: UnitOfWork) -> InteractionWithAttachments:
            stored = _find(unit, session_id, interaction_id)
            return InteractionWithAttachments(stored, find_attachments(unit, [stored])[0])

        return await self.records.read(project_id, find)

    async def list(
        self,
        project_id: str,
        session_id: str,
        *,
        input_kind: InputKind | None,
        cursor: str | None,
        limit: int,
    ) -> tuple[Sequence[InteractionWithAttachments], str | None]:
        """Return up to `limit` interactions in the order of `seq`, and the next cursor.

        A list ends before the limit if it reaches 16 MiB. With `input_kind`, only interactions of
        this kind are returned.

        Raises:
            NotFoundError: The project has no such session.
            InvalidCursorError: The cursor belongs to another list.
        """
        after_seq = 0 if cursor is None else int(decode_cursor("interactions", cursor, (int,))[0])

        def find(unit: UnitOfWork) -> tuple[Sequence[InteractionWithAttachments], bool]:
            require_found(unit[SessionRecords].find(session_id), "session")
            found = unit[InteractionRecords].list_interactions(
                session_id, input_kind=input_kind, after_seq=after_seq, limit=limit
            )
            has_more = bool(found) and unit[InteractionRecords].has_more(
                session_id, input_kind=input_kind, after_seq=found[-1].seq
            )
            attachments = find_attachments(unit, found)
            return list(map(InteractionWithAttachments, found, attachments)), has_more

        listed, has_more = await self.records.read(project_id, find)
        if not has_more:
            return listed, None
        return listed, encode_cursor("interactions", listed[-1].interaction.seq)

    async def set_output(
        self,
        project_id: str,
        session_id: str,
        interaction_id: str,
        body: AsyncIterator[bytes],
        *,
        condition: WriteCondition,
    ) -> InteractionWithAttachments:
        """Set the answer of an interaction, as a separate entry of the history.

        If the interaction has an equal answer already, nothing changes. An answer without a
        timestamp equals one with any timestamp.

        Raises:
            NotFoundError: The session has no such interaction.
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid or too
                large; nothing was stored.
            ConflictError: The interaction has a different answer.
            PreconditionFailedError: The condition is false; nothing was stored.
            StoreUnavailableError: The database did not respond; nothing is visible. Send the
                request again.
        """
        async with self.bodies.read(body, partial(read_output, limits=self.limits)) as output:
            await self.records.read(
                project_id, lambda unit: _find(unit, session_id, interaction_id)
            )
            now = utc_now()

            def write_output(unit: UnitOfWork) -> InteractionWithAttachments:
                unit[SessionRecords].ensure(session_id, now)
                stored = _find(unit, session_id, interaction_id)
                attachments = find_attachments(unit, [stored])[0]
                condition(sha256(encode_interaction(stored, attachments)).hexdigest())
                is_new = stored.output is None
                if stored.output is None:
                    stored = _write_output(unit, stored, output, now)
                else:
                    _require_equal(output, stored.output)
                return InteractionWithAttachments(stored, attachments, is_new)

            return await self.records.write(project_id, write_output)

    async def _create(
        self,
        project_id: str,
        session_id: str,
        parsed: ParsedInteraction,
        call: IdempotentCall | None,
        *,
        accepts_unknown: bool,
    ) -> InteractionWithAttachments:
        """Write the interaction, its history entry and its links in one transaction."""
        stored = _build_stored(parsed, session_id)
        size_bytes = len(stored.input) + len(stored.output or b"")

        def create(unit: UnitOfWork) -> InteractionWithAttachments:
            unit[SessionRecords].ensure(session_id, stored.created_at)
            attachments = resolve_attachments(
                unit, parsed.interaction.input, accepts_unknown=accepts_unknown
            )
            referenced = unit[ResourceRecords].find_all(parsed.references)
            bound = replace(stored, bindings=make_bindings(attachments))
            seq = unit[SessionRecords].append(
                session_id,
                INTERACTION,
                stored.interaction_id,
                size_bytes=size_bytes,
                row=unit[InteractionRecords].row(bound),
            )
            appended = replace(bound, seq=seq)
            attached = {
                file.resource.resource_id: file.resource for file in attachments if file.resource
            }
            unit[ResourceRecords].ensure_linked(
                {**referenced, **attached}.values(),
                owner_kind=INTERACTION,
                owner_id=appended.interaction_id,
                session_id=session_id,
            )
            if call is not None:
                Idempotency(self.records).record_answer(unit, call, appended.interaction_id)
            unit.add_event(_make_event("interaction:created", appended, seq, size_bytes=size_bytes))
            return InteractionWithAttachments(appended, attachments, is_new=True)

        is_alone = size_bytes > MAX_TOGETHER_BYTES
        return await self.records.write(project_id, create, is_alone=is_alone)


def _build_stored(parsed: ParsedInteraction, session_id: str) -> StoredInteraction:
    interaction = parsed.interaction
    return StoredInteraction(
        interaction_id=new_id(),
        session_id=session_id,
        seq=0,
        input_kind=interaction.input_kind,
        timestamp=format_timestamp(interaction.timestamp),
        created_at=utc_now(),
        input=parsed.input,
        output=parsed.output,
    )


def _require_equal(output: ChatMessage, stored: bytes) -> None:
    """Check that an answer equals the stored one. Timestamps count if the answer has one.

    Raises:
        ConflictError: The answers differ.
    """
    earlier = ChatMessage.model_validate(parse_stored_json(stored))
    if "timestamp" not in output.model_fields_set:
        earlier = earlier.model_copy(update={"timestamp": output.timestamp})
    difference = find_first_difference(earlier.dump(), output.dump())
    if difference is not None:
        raise ConflictError(
            "The interaction has another answer already, and an answer is set once; `errors` says "
            "where they differ. Send the answer that is stored, or ask again in a new interaction.",
            faults=[Fault(difference, "is not what it is in the stored answer")],
            code="interaction-answered",
        )


def _write_output(
    unit: UnitOfWork, stored: StoredInteraction, output: ChatMessage, now: datetime
) -> StoredInteraction:
    """Append the answer of an interaction to the history; return the interaction with it."""
    text = json_text(output.dump()).encode()
    session_id, interaction_id = stored.session_id, stored.interaction_id
    seq = unit[SessionRecords].append(session_id, ANSWER, interaction_id, size_bytes=len(text))
    unit[InteractionRecords].set_output(interaction_id, text, answer_seq=seq, now=now)
    referenced = unit[ResourceRecords].find_all(find_references(output.dump()))
    unit[ResourceRecords].ensure_linked(
        referenced.values(),
        owner_kind=INTERACTION,
        owner_id=interaction_id,
        session_id=session_id,
    )
    stored = replace(stored, output=text, answer_seq=seq, answered_at=now)
    unit.add_event(_make_event("interaction:answered", stored, seq, size_bytes=len(text)))
    return stored


def _make_event(
    event_type: EventType, stored: StoredInteraction, seq: int, *, size_bytes: int
) -> NewEvent:
    return NewEvent(
        event_type,
        stored.interaction_id,
        stored.answered_at or stored.created_at,
        session_id=stored.session_id,
        seq=seq,
        size_bytes=size_bytes,
        members={"inputKind": stored.input_kind},
    )


def _find(unit: UnitOfWork, session_id: str, interaction_id: str) -> StoredInteraction:
    """Return the interaction of a session with this id.

    Raises:
        NotFoundError: The session has no such interaction.
    """
    stored = (
        unit[InteractionRecords].find(session_id, interaction_id) if is_id(interaction_id) else None
    )
    return require_found(stored, "interaction")
