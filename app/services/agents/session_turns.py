"""Turns: all that one step of an agent appends to a session, in one transaction.

Media are stored and calls of our tools are run first. Then everything is appended in order, or, if
anything fails, nothing is. What the session looks like to a model now is the answer.

Source: `agents`, "One call per step".
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import Raw

from app.errors import ConflictError, NotFoundError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.message import StoredMessage
from app.services.agents.cut_calls import find_cut_calls
from app.services.agents.prepared_calls import (
    AnsweredCallError,
    CallPreparer,
    PreparedCall,
    appended_result,
)
from app.services.agents.receipts import check_expected_seq, write_receipt
from app.services.calls.answer_places import find_answer_place
from app.services.calls.stored_message_turns import calls_of
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.requests.body_reader import BodyReader
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity, identity_of_body
from app.services.requests.validation import as_object, validated
from app.services.requests.whole_bodies import RequestBodies, chunks_of
from app.services.sessions.messages import PreparedMessage, SessionMessages
from app.services.tool_results.prepared_results import PreparedResult
from app.services.tool_results.tool_results import ToolResults
from app.stores.records.answered_calls import RecordedAnswer
from app.stores.records.history import SessionHistory
from app.stores.records.records import MOST_TOGETHER_BYTES, Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.body_warnings import body_warnings
from app.wire.tools import ToolCall
from app.wire.turns import RefusedCall, TurnReceipt, TurnRequest
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.normalized import Warning

TURN_ROUTE = "POST /api/sessions/{session_id}/turns"

_NOT_ONE = "The body is not a turn; `errors` says where."
# Members of a turn are understood in both spellings, as those of a tool result are.
_RESULT_NAMES = ("toolResult", "tool_result")
_Prepared: TypeAlias = PreparedMessage | PreparedResult | PreparedCall


class _Spelled(msgspec.Struct):
    """The entries of a turn as they were spelled."""

    entries: list[dict[str, Raw]]


@dataclass(frozen=True, slots=True)
class _ReadTurn:
    """A turn that was read; `spelled` has the JSON of each entry's only member, with its name."""

    request: TurnRequest
    spelled: Sequence[tuple[str, bytes]]
    identity: RequestIdentity
    warnings: Sequence[Warning]


@dataclass(frozen=True, slots=True, eq=False)
class SessionTurns:
    """Appends turns to the sessions of a project."""

    records: Records
    """The records of sessions."""
    messages: SessionMessages
    """Prepares messages."""
    results: ToolResults
    """Prepares tool results."""
    calls: CallPreparer
    """Runs calls of our tools."""
    renders: SessionRenders
    """Renders the session afterwards."""
    bodies: RequestBodies
    """Reads the bodies of requests."""
    limits: Limits
    """The limits of a body."""

    async def append(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        *,
        idempotency_key: str | None,
    ) -> RenderedBody:
        """Append a turn; return a `TurnReceipt` as JSON, whose media are read while it is sent.

        With a key, the same turn again is not appended again: its numbers are given again, and the
        rendering is made anew.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body, or one of its
                entries; nothing was appended.
            ConflictError: Somebody else has appended meanwhile, or a call was answered before;
                nothing was appended.
            StoreUnavailableError: A store did not answer; nothing is visible, send it again.
        """
        read = partial(_read, session_id=session_id, limits=self.limits)
        async with self.bodies.read(body, read) as turn:
            render, warnings = turn.request.render, turn.warnings
            query = None if render is None else RenderQuery(render.target, render.options())
            since = 0 if render is None else render.since
            if query is not None:
                self.renders.check(query, since=since)
            seqs = await self._seqs(project_id, session_id, turn, idempotency_key)
        many = len(turn.spelled)
        receipt = TurnReceipt(
            seqs=tuple(seqs[:many]),
            rendering=None,
            warnings=body_warnings(warnings),
            refused=await self._refused_calls(project_id, session_id, seqs[many:]),
        )
        return await write_receipt(
            self.renders, project_id, session_id, receipt, query, since=since
        )

    async def _refused_calls(
        self, project_id: str, session_id: str, seqs: Sequence[int]
    ) -> tuple[RefusedCall, ...]:
        """Return the calls that entries of the session answer in the place of running them."""

        def read(unit: UnitOfWork) -> tuple[RefusedCall, ...]:
            history = unit[SessionHistory]
            found = (history.entries(session_id, after_seq=seq - 1, limit=1) for seq in seqs)
            return tuple(
                RefusedCall(call_id=each.tool_call_id, seq=each.seq)
                for entries in found
                for each in entries
                if isinstance(each, StoredMessage)
            )

        return await self.records.read(project_id, read) if seqs else ()

    async def _seqs(
        self, project_id: str, session_id: str, turn: _ReadTurn, idempotency_key: str | None
    ) -> Sequence[int]:
        """Return the number of each entry, and those of answers to calls that are not to be run."""
        if idempotency_key is None:
            return await self._append(project_id, session_id, turn, None)
        call = IdempotentCall(project_id, TURN_ROUTE, idempotency_key, turn.identity)
        async with Idempotency(self.records).claimed(call, utc_now()) as answer_id:
            if answer_id is not None:
                return await self._noted(project_id, session_id, answer_id)
            return await self._append(project_id, session_id, turn, call)

    async def _noted(self, project_id: str, session_id: str, answer_id: str) -> Sequence[int]:
        """Return the numbers of a turn that was appended before.

        Raises:
            NotFoundError: Its session was deleted since; another one of its name is not meant.
        """
        seqs, _, incarnation = answer_id.partition(" ")
        head = await self.records.read(
            project_id, lambda unit: unit[SessionHistory].history_head(session_id)
        )
        # An older version has not noted which session it was.
        if head is None or incarnation not in ("", head.incarnation):
            raise NotFoundError("turn")
        return [int(seq) for seq in seqs.split(",")]

    async def _append(
        self, project_id: str, session_id: str, turn: _ReadTurn, call: IdempotentCall | None
    ) -> Sequence[int]:
        prepared = [
            await self._prepared(project_id, session_id, turn, index)
            for index in range(len(turn.spelled))
        ]
        _check_ids(prepared)
        messages = [each.message for each in prepared if isinstance(each, PreparedMessage)]
        answered = {_answered_id(each) or "" for each in prepared}
        refused = [
            await self.calls.refuse(project_id, session_id, made, handle)
            for made, handle in find_cut_calls(messages, answered)
        ]
        if sum(map(_is_answer, prepared)) > 1:
            prepared = [each.join_list() for each in prepared]

        def append(unit: UnitOfWork) -> Sequence[int]:
            last_seq = unit[SessionRecords].enter(session_id, utc_now()).last_seq
            check_expected_seq(turn.request.expected_seq, last_seq, sent="turn")
            seqs = [_appended(unit, session_id, each, index) for index, each in enumerate(prepared)]
            seqs += [appended_result(each, unit) for each in refused]
            if call is not None:
                head = unit[SessionHistory].history_head(session_id)
                incarnation = (head.incarnation if head else None) or ""
                noted = f"{','.join(map(str, seqs))} {incarnation}"
                Idempotency(self.records).note_answer(unit, call, noted)
            return seqs

        size_bytes = sum(len(text) for _, text in turn.spelled)
        is_alone = size_bytes > MOST_TOGETHER_BYTES
        return await self.records.write(project_id, append, is_alone=is_alone)

    async def _prepared(
        self, project_id: str, session_id: str, turn: _ReadTurn, index: int
    ) -> _Prepared:
        name, text = turn.spelled[index]
        try:
            if name == "message":
                return await self.messages.prepare(project_id, session_id, chunks_of(text))
            if name in _RESULT_NAMES:
                body = _of_session(text, session_id)
                result = await self.results.prepare(project_id, chunks_of(body))
                if result.result.session_id == session_id:
                    return result
                raise InvalidPayloadError(
                    "A result of a turn belongs to the session of the turn.",
                    faults=[Fault("/sessionId", "is another session than that of the address")],
                )
            tool_call: ToolCall | None = turn.request.entries[index].tool_call
            assert tool_call is not None  # noqa: S101 - the only other member
            return await self.calls.prepare(project_id, session_id, tool_call, turn.request.render)
        except InvalidPayloadError as exc:
            place = f"/entries/{index}/{name}"
            faults = [Fault(f"{place}{fault.pointer}", fault.detail) for fault in exc.faults]
            raise InvalidPayloadError(
                f"Entry {index} cannot be appended; nothing was. {exc.detail}",
                faults=faults or [Fault(place, "is refused")],
                code=exc.problem_code,
            ) from exc


def _read(body: bytes, *, session_id: str, limits: Limits) -> _ReadTurn:
    reader = BodyReader(limits)
    value = as_object(reader.read(body))
    request = validated(TurnRequest, value, _NOT_ONE)
    faults = [
        Fault(f"/entries/{index}", "has to be one of message, toolResult and toolCall")
        for index, entry in enumerate(request.entries)
        if len(entry.model_fields_set) != 1 or not entry.wire()
    ]
    if faults:
        raise InvalidPayloadError(_NOT_ONE, faults=faults)
    identity = identity_of_body(value, body, prefix=session_id.encode() + b"\0")
    return _ReadTurn(request, list(_spelled(body, value)), identity, reader.warnings)


def _spelled(body: bytes, value: dict[str, JsonValue]) -> Sequence[tuple[str, bytes]]:
    try:
        entries = msgspec.json.decode(body, type=_Spelled).entries
        return [(name, bytes(raw)) for entry in entries for name, raw in entry.items()]
    except (msgspec.DecodeError, RecursionError):
        # Lone surrogates, which are repaired by now, or deeper than it reads.
        listed = value["entries"]
        return [
            (name, json_text(member).encode())
            for entry in (listed if isinstance(listed, list) else [])
            for name, member in (entry.items() if isinstance(entry, dict) else ())
        ]


def _of_session(text: bytes, session_id: str) -> bytes:
    """Return the body of a tool result with the session it is a result of."""
    rest = text.strip()[1:].lstrip()
    named = b'{"sessionId":%s' % json_text(session_id).encode()
    return named + (b"" if rest.startswith(b"}") else b",") + rest


def _check_ids(prepared: Sequence[_Prepared]) -> None:
    """Raise unless every entry answers a call of its own; behind its message, a call is a new one.

    Raises:
        ConflictError: Two answer the same one.
    """
    first_of: dict[str, int] = {}
    for index, each in enumerate(prepared):
        for made in _made_calls(each):
            first_of.pop(made, None)
        call_id = _answered_id(each)
        first = index if call_id is None else first_of.setdefault(call_id, index)
        if first != index:
            raise ConflictError(
                f"Entries {first} and {index} answer the same call, and a call has one answer. "
                "Nothing was appended. Leave one of them out, or take another id.",
                faults=[Fault(f"/entries/{index}", f"has the id of entry {first}")],
                code="tool-call-answered",
            )


def _made_calls(prepared: _Prepared) -> Iterator[str]:
    """Yield the calls that are new ones from an entry on, though their ids were answered."""
    if isinstance(prepared, PreparedMessage):
        yield from (call.call_id for call in calls_of(prepared.message))
    elif isinstance(prepared, PreparedResult):
        if prepared.request.request.new_call:
            yield prepared.result.tool_call_id
        if prepared.call_message is not None:
            yield from _made_calls(prepared.call_message)


def _is_answer(prepared: _Prepared) -> bool:
    return not isinstance(prepared, PreparedMessage) or bool(prepared.read.answered_ids)


def _answered_id(prepared: _Prepared) -> str | None:
    if isinstance(prepared, PreparedCall):
        return prepared.call_id
    answer = prepared.result if isinstance(prepared, PreparedResult) else prepared.message
    return answer.tool_call_id


def _find_answer(unit: UnitOfWork, session_id: str, prepared: _Prepared) -> RecordedAnswer | None:
    if isinstance(prepared, PreparedMessage):
        return prepared.find_place(unit).existing
    return find_answer_place(unit, session_id, _answered_id(prepared)).existing


def _appended(unit: UnitOfWork, session_id: str, prepared: _Prepared, index: int) -> int:
    """Append an entry; return its `seq`.

    Raises:
        ConflictError: It answers a call that was answered before.
    """
    try:
        if isinstance(prepared, PreparedCall):
            seq = prepared.append(unit)
            prepared.note(unit, seq)
            return seq
        if isinstance(prepared, PreparedResult):
            return appended_result(prepared, unit)
        message, is_new = prepared.append(unit)
        if is_new:
            return message.seq
        answered_by = message.seq
    except AnsweredCallError as exc:
        answered_by = exc.seq
    except ConflictError as exc:
        earlier = _find_answer(unit, session_id, prepared)
        if earlier is None or exc.problem_code != "tool-call-answered":
            raise
        answered_by = earlier.seq
    raise ConflictError(
        f"The call that entry {index} answers was answered before, by entry {answered_by} of "
        "the session. Nothing was appended. An Idempotency-Key makes it safe to repeat a turn.",
        faults=[Fault(f"/entries/{index}", f"answers what seq {answered_by} has answered")],
        code="tool-call-answered",
    )
