"""Turns: the entries of one step of an agent, appended to a session in one transaction.

First, media are stored, and calls of the memory tools are run. Then all entries are appended in
order. If one of them fails, none is appended. The response has a rendering of the session.

Old calls are sent to the model with long arguments cut, and the model may copy a cut argument into
a new call. Such a call must not be run. So it is answered with a refusal when its message is
appended, and the receipt tells the host its id. If the turn has an answer to the call, the host has
run it already, and there is no refusal.

Source: design document `agents.md`, "One call per step".
"""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import Raw

from app.errors import ConflictError, NotFoundError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.message import StoredHistoryMessage, StoredMessage
from app.services.agents.prepared_calls import (
    AnsweredCallError,
    CallPreparer,
    PreparedCall,
    append_result,
)
from app.services.agents.receipts import check_expected_seq, write_receipt
from app.services.calls.answer_positions import find_answer_position
from app.services.calls.stored_message_turns import find_calls, read_message_turns
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.requests.body_reader import BodyReader
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity, identity_of_body
from app.services.requests.validation import as_object, validate_model
from app.services.requests.whole_bodies import RequestBodies, chunks_of
from app.services.sessions.messages import PreparedMessage, SessionMessages
from app.services.tool_results.prepared_results import PreparedResult
from app.services.tool_results.tool_results import ToolResults
from app.stores.records.answered_calls import RecordedAnswer
from app.stores.records.history import SessionHistory
from app.stores.records.records import MAX_TOGETHER_BYTES, Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.agents import RefusedCall, ToolCall, TurnReceipt, TurnRequest
from pagefault_dialects.context.cut_marks import MARK_WORDS, find_blocking_mark
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import TurnCall
from pagefault_dialects.model.normalized import BodyWarning

TURN_ROUTE = "POST /api/sessions/{session_id}/turns"

_NOT_A_TURN = "The body is not a turn; `errors` says where."
# Members of a turn have two spellings, like those of a tool result.
_RESULT_NAMES = ("toolResult", "tool_result")
_Prepared: TypeAlias = PreparedMessage | PreparedResult | PreparedCall


class _RawTurn(msgspec.Struct):
    """The entries of a turn as raw JSON."""

    entries: list[dict[str, Raw]]


@dataclass(frozen=True, slots=True)
class _ParsedTurn:
    """A parsed turn."""

    request: TurnRequest
    raw_entries: Sequence[tuple[str, bytes]]
    """The name and the JSON of the only member of each entry."""
    identity: RequestIdentity
    warnings: Sequence[BodyWarning]


@dataclass(frozen=True, slots=True, eq=False)
class SessionTurns:
    """Appends turns to the sessions of a project."""

    records: Records
    messages: SessionMessages
    """Prepares messages."""
    results: ToolResults
    """Prepares tool results."""
    calls: CallPreparer
    renders: SessionRenders
    """Renders the session for the receipt."""
    bodies: RequestBodies
    """Reads the bodies of requests."""
    limits: Limits

    async def append(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        *,
        idempotency_key: str | None,
    ) -> RenderedBody:
        """Append a turn; return a `TurnReceipt` as JSON. Media are read while it is sent.

        If a turn with an idempotency key is repeated, it is not appended again. The receipt then
        has the `seq` of the stored entries, and a new rendering.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body or one of its
                entries is invalid.
            ConflictError: The last `seq` is not the expected one, or a call has another answer.
            StoreUnavailableError: A store did not answer; nothing was stored.
        """
        parse = partial(_parse_turn, session_id=session_id, limits=self.limits)
        async with self.bodies.read(body, parse) as turn:
            render, warnings = turn.request.render, turn.warnings
            query = None if render is None else RenderQuery(render.target, render.options())
            since = 0 if render is None else render.since
            if query is not None:
                self.renders.check(query, since=since)
            seqs = await self._append_once(project_id, session_id, turn, idempotency_key)
        count = len(turn.raw_entries)
        receipt = TurnReceipt(
            seqs=tuple(seqs[:count]),
            rendering=None,
            warnings=tuple(warnings),
            refused=await self._find_refused_calls(project_id, session_id, seqs[count:]),
        )
        return await write_receipt(
            self.renders, project_id, session_id, receipt, query, since=since
        )

    async def _find_refused_calls(
        self, project_id: str, session_id: str, seqs: Sequence[int]
    ) -> tuple[RefusedCall, ...]:
        """Return the calls whose answers, at these `seq`, are refusals."""

        def read(unit: UnitOfWork) -> tuple[RefusedCall, ...]:
            history = unit[SessionHistory]
            found = (history.entries(session_id, after_seq=seq - 1, limit=1) for seq in seqs)
            return tuple(
                RefusedCall(call_id=entry.tool_call_id, seq=entry.seq)
                for entries in found
                for entry in entries
                if isinstance(entry, StoredMessage)
            )

        return await self.records.read(project_id, read) if seqs else ()

    async def _append_once(
        self, project_id: str, session_id: str, turn: _ParsedTurn, idempotency_key: str | None
    ) -> Sequence[int]:
        """Append a turn, unless it is stored; return the `seq` of its entries and refusals."""
        if idempotency_key is None:
            return await self._append(project_id, session_id, turn, None)
        call = IdempotentCall(project_id, TURN_ROUTE, idempotency_key, turn.identity)
        async with Idempotency(self.records).claim(call, utc_now()) as answer_id:
            if answer_id is not None:
                return await self._read_stored_seqs(project_id, session_id, answer_id)
            return await self._append(project_id, session_id, turn, call)

    async def _read_stored_seqs(
        self, project_id: str, session_id: str, answer_id: str
    ) -> Sequence[int]:
        """Return the `seq` of the entries and refusals of a stored turn.

        Raises:
            NotFoundError: The session was deleted, even if another session has its id.
        """
        seqs, _, incarnation = answer_id.partition(" ")
        head = await self.records.read(
            project_id, lambda unit: unit[SessionHistory].history_head(session_id)
        )
        # Older versions have not stored the incarnation.
        if head is None or incarnation not in ("", head.incarnation):
            raise NotFoundError("turn")
        return [int(seq) for seq in seqs.split(",")]

    async def _append(
        self, project_id: str, session_id: str, turn: _ParsedTurn, call: IdempotentCall | None
    ) -> Sequence[int]:
        """Append a turn; return the `seq` of its entries and refusals."""
        prepared = [
            await self._prepare(project_id, session_id, turn, index)
            for index in range(len(turn.raw_entries))
        ]
        _check_ids(prepared)
        messages = [entry.message for entry in prepared if isinstance(entry, PreparedMessage)]
        answered = {_find_answered_id(item) or "" for item in prepared}
        refused = [
            await self.calls.refuse(project_id, session_id, cut_call, handle)
            for cut_call, handle in find_cut_calls(messages, answered)
        ]
        if sum(map(_is_answer, prepared)) > 1:
            prepared = [entry.mark_as_list_item() for entry in prepared]

        def append(unit: UnitOfWork) -> Sequence[int]:
            last_seq = unit[SessionRecords].ensure(session_id, utc_now()).last_seq
            check_expected_seq(turn.request.expected_seq, last_seq, sent="turn")
            seqs = [
                _append_entry(unit, session_id, item, index) for index, item in enumerate(prepared)
            ]
            seqs += [append_result(item, unit) for item in refused]
            if call is not None:
                head = unit[SessionHistory].history_head(session_id)
                incarnation = (head.incarnation if head else None) or ""
                answer = f"{','.join(map(str, seqs))} {incarnation}"
                Idempotency(self.records).record_answer(unit, call, answer)
            return seqs

        size_bytes = sum(len(text) for _, text in turn.raw_entries)
        is_alone = size_bytes > MAX_TOGETHER_BYTES
        return await self.records.write(project_id, append, is_alone=is_alone)

    async def _prepare(
        self, project_id: str, session_id: str, turn: _ParsedTurn, index: int
    ) -> _Prepared:
        name, text = turn.raw_entries[index]
        try:
            if name == "message":
                return await self.messages.prepare(project_id, session_id, chunks_of(text))
            if name in _RESULT_NAMES:
                body = _with_session(text, session_id)
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
            pointer = f"/entries/{index}/{name}"
            faults = [Fault(f"{pointer}{fault.pointer}", fault.detail) for fault in exc.faults]
            raise InvalidPayloadError(
                f"Entry {index} cannot be appended; nothing was. {exc.detail}",
                faults=faults or [Fault(pointer, "is refused")],
                code=exc.problem_code,
            ) from exc


def _parse_turn(body: bytes, *, session_id: str, limits: Limits) -> _ParsedTurn:
    reader = BodyReader(limits)
    value = as_object(reader.read(body))
    request = validate_model(TurnRequest, value, _NOT_A_TURN)
    faults = [
        Fault(f"/entries/{index}", "has to be one of message, toolResult and toolCall")
        for index, entry in enumerate(request.entries)
        if len(entry.model_fields_set) != 1 or not entry.wire()
    ]
    if faults:
        raise InvalidPayloadError(_NOT_A_TURN, faults=faults)
    identity = identity_of_body(value, body, prefix=session_id.encode() + b"\0")
    return _ParsedTurn(request, _split_entries(body, value), identity, reader.warnings)


def _split_entries(body: bytes, value: dict[str, JsonValue]) -> Sequence[tuple[str, bytes]]:
    try:
        entries = msgspec.json.decode(body, type=_RawTurn).entries
        return [(name, bytes(raw)) for entry in entries for name, raw in entry.items()]
    except (msgspec.DecodeError, RecursionError):
        # The body has lone surrogates, which `value` has repaired, or is nested too deep.
        listed = value["entries"]
        return [
            (name, json_text(member).encode())
            for entry in (listed if isinstance(listed, list) else [])
            for name, member in (entry.items() if isinstance(entry, dict) else ())
        ]


def _with_session(text: bytes, session_id: str) -> bytes:
    """Return the body of a tool result with the id of the session in it."""
    members = text.strip()[1:].lstrip()
    head = b'{"sessionId":%s' % json_text(session_id).encode()
    return head + (b"" if members.startswith(b"}") else b",") + members


def _check_ids(prepared: Sequence[_Prepared]) -> None:
    """Check that no two entries answer the same call.

    If a message between two answers makes a call with their id, this is a new call.

    Raises:
        ConflictError: Two entries answer the same call.
    """
    first_answers: dict[str, int] = {}
    for index, item in enumerate(prepared):
        for call_id in _find_new_calls(item):
            first_answers.pop(call_id, None)
        answered_id = _find_answered_id(item)
        first = index if answered_id is None else first_answers.setdefault(answered_id, index)
        if first != index:
            raise ConflictError(
                f"Entries {first} and {index} answer the same call, and a call has one answer. "
                "Nothing was appended. Leave one of them out, or take another id.",
                faults=[Fault(f"/entries/{index}", f"has the id of entry {first}")],
                code="tool-call-answered",
            )


def _find_new_calls(prepared: _Prepared) -> Iterator[str]:
    """Yield the ids of the calls that an entry makes."""
    if isinstance(prepared, PreparedMessage):
        yield from (call.call_id for call in find_calls(prepared.message))
    elif isinstance(prepared, PreparedResult):
        if prepared.request.request.new_call:
            yield prepared.result.tool_call_id
        if prepared.call_message is not None:
            yield from _find_new_calls(prepared.call_message)


def _is_answer(prepared: _Prepared) -> bool:
    return not isinstance(prepared, PreparedMessage) or bool(prepared.parsed.answered_ids)


def _find_answered_id(prepared: _Prepared) -> str | None:
    if isinstance(prepared, PreparedCall):
        return prepared.call_id
    answer = prepared.result if isinstance(prepared, PreparedResult) else prepared.message
    return answer.tool_call_id


def _find_answer(unit: UnitOfWork, session_id: str, prepared: _Prepared) -> RecordedAnswer | None:
    if isinstance(prepared, PreparedMessage):
        return prepared.find_answer_position(unit).existing
    return find_answer_position(unit, session_id, _find_answered_id(prepared)).existing


def _append_entry(unit: UnitOfWork, session_id: str, prepared: _Prepared, index: int) -> int:
    """Append an entry; return its `seq`.

    Raises:
        ConflictError: The entry answers a call that has another answer.
    """
    try:
        if isinstance(prepared, PreparedCall):
            seq = prepared.append(unit)
            prepared.record_answer(unit, seq)
            return seq
        if isinstance(prepared, PreparedResult):
            return append_result(prepared, unit)
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


def find_cut_calls(
    messages: Iterable[StoredHistoryMessage], answered: Collection[str]
) -> Iterator[tuple[TurnCall, str]]:
    """Yield calls with a cut argument, and the handle of the whole argument.

    Args:
        messages: The messages of a turn.
        answered: The ids of calls that other entries of the turn answer.
    """
    messages = list(messages)
    # Few messages have the mark, and only these are parsed.
    if not any(MARK_WORDS in message.message for message in messages):
        return
    turns = [
        turn
        for message in messages
        for turn in read_message_turns(message, {}, audience="everyone", origin="")
    ]
    results = {turn.call_id for turn in turns if turn.role == "tool"}
    for call in (call for turn in turns for call in turn.calls):
        is_answered = not call.call_id or call.call_id in results or call.call_id in answered
        if (
            not is_answered
            and (handle := find_blocking_mark(call.name, call.arguments)) is not None
        ):
            yield call, handle
