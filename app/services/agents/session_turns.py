"""Appends *turns* to sessions: the entries of one step of an agent, in one transaction.

An entry of a turn is a message, a tool result, or a call of a memory tool that the service runs.
First, media are stored and calls are run. Then all entries are appended in order. If one of them
fails, no entry is appended. The response is a receipt, which may have a rendering of the session.

A model sees old calls with long arguments cut, and may copy a cut argument into a new call. Running
such a call would do harm. So when its message is appended, the service also appends a *refusal*, an
answer that explains the mistake to the model. The receipt has the id of the call, so that the host
does not run it. If the turn has an answer to the call, the host has run the call already, and no
refusal is added.

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
# The name may be spelled in two ways, like the members of a tool result.
_RESULT_NAMES = ("toolResult", "tool_result")
_PreparedEntry: TypeAlias = PreparedMessage | PreparedResult | PreparedCall
"""An entry that is ready to be appended: its media are stored, and its call was run."""


class _RawTurn(msgspec.Struct):
    """The entries of a turn as raw JSON."""

    entries: list[dict[str, Raw]]


@dataclass(frozen=True, slots=True)
class _ParsedTurn:
    """The body of a request."""

    request: TurnRequest
    raw_entries: Sequence[tuple[str, bytes]]
    """The name and the JSON of the only member of each entry."""
    identity: RequestIdentity
    """The digest of the body, by which a repeated request is recognised."""
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
    """Runs calls of memory tools, and makes refusals."""
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
        """Append a turn to a session, and return a `TurnReceipt` as JSON.

        If a turn with an idempotency key is repeated, it is not appended again. The receipt then
        has the `seq` of the stored entries, and a new rendering. The media of the rendering are
        read while the response is sent.

        Args:
            project_id: The caller's project.
            session_id: The session. If it does not exist, it is created.
            body: The bytes of a `TurnRequest` as JSON.
            idempotency_key: The key that the client has chosen for this turn, if any.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body or one of its
                entries is invalid.
            ConflictError: The session does not have the expected last `seq`, or a call has another
                answer already.
            StoreUnavailableError: A store did not answer. Nothing was stored.
        """
        parse = partial(_parse_turn, session_id=session_id, limits=self.limits)
        async with self.bodies.read(body, parse) as turn:
            render, warnings = turn.request.render, turn.warnings
            query = None if render is None else RenderQuery(render.target, render.options())
            since = 0 if render is None else render.since
            if query is not None:
                self.renders.check(query, since=since)
            seqs = await self._append_once(project_id, session_id, turn, idempotency_key)
        entry_count = len(turn.raw_entries)
        entry_seqs, refusal_seqs = seqs[:entry_count], seqs[entry_count:]
        receipt = TurnReceipt(
            seqs=tuple(entry_seqs),
            rendering=None,
            warnings=tuple(warnings),
            refused=await self._find_refused_calls(project_id, session_id, refusal_seqs),
        )
        return await write_receipt(
            self.renders, project_id, session_id, receipt, query, since=since
        )

    async def _find_refused_calls(
        self, project_id: str, session_id: str, seqs: Sequence[int]
    ) -> tuple[RefusedCall, ...]:
        """Return the calls that the refusals with these `seq` answer."""

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
        """Append a turn, unless a turn with the same idempotency key is stored; see `_append`."""
        if idempotency_key is None:
            return await self._append(project_id, session_id, turn, None)
        call = IdempotentCall(project_id, TURN_ROUTE, idempotency_key, turn.identity)
        async with Idempotency(self.records).claim(call, utc_now()) as stored_outcome:
            if stored_outcome is not None:
                return await self._parse_outcome(project_id, session_id, stored_outcome)
            return await self._append(project_id, session_id, turn, call)

    async def _parse_outcome(
        self, project_id: str, session_id: str, stored_outcome: str
    ) -> Sequence[int]:
        """Return the `seq` of the entries and refusals of a stored turn.

        Args:
            project_id: The project.
            session_id: The session.
            stored_outcome: The text that `_append` has recorded for the idempotency key.

        Raises:
            NotFoundError: The session with the turn was deleted. Another session may have its id.
        """
        seqs, _, incarnation = stored_outcome.partition(" ")
        head = await self.records.read(
            project_id, lambda unit: unit[SessionHistory].find_head(session_id)
        )
        # Versions before the incarnation was introduced have stored only the numbers.
        if head is None or incarnation not in ("", head.incarnation):
            raise NotFoundError("turn")
        return [int(seq) for seq in seqs.split(",")]

    async def _append(
        self, project_id: str, session_id: str, turn: _ParsedTurn, call: IdempotentCall | None
    ) -> Sequence[int]:
        """Append a turn, and return the `seq` of its entries, followed by those of its refusals."""
        prepared = [
            await self._prepare(project_id, session_id, turn, index)
            for index in range(len(turn.raw_entries))
        ]
        _check_answered_ids(prepared)
        messages = [entry.message for entry in prepared if isinstance(entry, PreparedMessage)]
        answered_ids = {_find_answered_id(entry) or "" for entry in prepared}
        refusals = [
            await self.calls.refuse(project_id, session_id, cut_call, handle)
            for cut_call, handle in _find_cut_calls(messages, answered_ids)
        ]
        # Renderings keep the order of answers that were sent together.
        if sum(map(_is_answer, prepared)) > 1:
            prepared = [entry.mark_as_list_item() for entry in prepared]

        def append(unit: UnitOfWork) -> Sequence[int]:
            last_seq = unit[SessionRecords].ensure(session_id, utc_now()).last_seq
            check_expected_seq(turn.request.expected_seq, last_seq, sent="turn")
            seqs = [
                _append_entry(unit, session_id, entry, index)
                for index, entry in enumerate(prepared)
            ]
            seqs += [append_result(refusal, unit) for refusal in refusals]
            if call is not None:
                head = unit[SessionHistory].find_head(session_id)
                incarnation = (head.incarnation if head else None) or ""
                outcome = f"{','.join(map(str, seqs))} {incarnation}"
                Idempotency(self.records).record_answer(unit, call, outcome)
            return seqs

        size_bytes = sum(len(text) for _, text in turn.raw_entries)
        is_alone = size_bytes > MAX_TOGETHER_BYTES
        return await self.records.write(project_id, append, is_alone=is_alone)

    async def _prepare(
        self, project_id: str, session_id: str, turn: _ParsedTurn, index: int
    ) -> _PreparedEntry:
        """Store the media of an entry, or run its call.

        Raises:
            InvalidPayloadError: The entry is invalid. The pointers of the error begin at the turn.
        """
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
    """Parse and validate the body of a request; see `SessionTurns.append` for the errors."""
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
    """Return the name and the JSON of the member of each entry, as it was sent.

    Args:
        body: The body of the request.
        value: The parsed body.
    """
    try:
        raw_turn = msgspec.json.decode(body, type=_RawTurn)
        return [(name, bytes(raw)) for entry in raw_turn.entries for name, raw in entry.items()]
    except (msgspec.DecodeError, RecursionError):
        # The body has lone surrogates, which `value` has repaired, or is nested too deep.
        entries = value["entries"]
        return [
            (name, json_text(member).encode())
            for entry in (entries if isinstance(entries, list) else [])
            for name, member in (entry.items() if isinstance(entry, dict) else ())
        ]


def _with_session(text: bytes, session_id: str) -> bytes:
    """Return the JSON of a tool result, an object, with the id of the session as first member."""
    other_members = text.strip()[1:].lstrip()
    head = b'{"sessionId":%s' % json_text(session_id).encode()
    return head + (b"" if other_members.startswith(b"}") else b",") + other_members


def _check_answered_ids(prepared: Sequence[_PreparedEntry]) -> None:
    """Raise an error if two entries of a turn answer the same call.

    Two entries may answer calls with the same id, if an entry between them makes a new call with
    this id.

    Raises:
        ConflictError: Two entries answer the same call.
    """
    first_answers: dict[str, int] = {}
    for index, entry in enumerate(prepared):
        for call_id in _find_made_calls(entry):
            first_answers.pop(call_id, None)
        answered_id = _find_answered_id(entry)
        first = index if answered_id is None else first_answers.setdefault(answered_id, index)
        if first != index:
            raise ConflictError(
                f"Entries {first} and {index} answer the same call, and a call has one answer. "
                "Nothing was appended. Leave one of them out, or take another id.",
                faults=[Fault(f"/entries/{index}", f"has the id of entry {first}")],
                code="tool-call-answered",
            )


def _find_made_calls(entry: _PreparedEntry) -> Iterator[str]:
    """Yield the ids of the calls that an entry makes."""
    if isinstance(entry, PreparedMessage):
        yield from (call.call_id for call in find_calls(entry.message))
    elif isinstance(entry, PreparedResult):
        if entry.request.request.new_call:
            yield entry.result.tool_call_id
        if entry.call_message is not None:
            yield from _find_made_calls(entry.call_message)


def _is_answer(entry: _PreparedEntry) -> bool:
    """Return True if an entry answers at least one call."""
    return not isinstance(entry, PreparedMessage) or bool(entry.parsed.answered_ids)


def _find_answered_id(entry: _PreparedEntry) -> str | None:
    """Return the id of the call that an entry answers; `None` if it answers none or several."""
    if isinstance(entry, PreparedCall):
        return entry.call_id
    record = entry.result if isinstance(entry, PreparedResult) else entry.message
    return record.tool_call_id


def _find_earlier_answer(
    unit: UnitOfWork, session_id: str, entry: _PreparedEntry
) -> RecordedAnswer | None:
    """Return the stored answer to the call that an entry answers."""
    if isinstance(entry, PreparedMessage):
        return entry.find_answer_position(unit).existing
    return find_answer_position(unit, session_id, _find_answered_id(entry)).existing


def _append_entry(unit: UnitOfWork, session_id: str, entry: _PreparedEntry, index: int) -> int:
    """Append an entry to a session, and return its `seq`.

    Args:
        unit: The transaction.
        session_id: The session.
        entry: The entry.
        index: The index of the entry in the turn, for the text of the error.

    Raises:
        ConflictError: The entry answers a call that has an answer already.
    """
    try:
        if isinstance(entry, PreparedCall):
            seq = entry.append(unit)
            entry.record_answer(unit, seq)
            return seq
        if isinstance(entry, PreparedResult):
            return append_result(entry, unit)
        message, is_new = entry.append(unit)
        if is_new:
            return message.seq
        answer_seq = message.seq
    except AnsweredCallError as exc:
        answer_seq = exc.seq
    except ConflictError as exc:
        earlier = _find_earlier_answer(unit, session_id, entry)
        if earlier is None or exc.problem_code != "tool-call-answered":
            raise
        answer_seq = earlier.seq
    raise ConflictError(
        f"The call that entry {index} answers was answered before, by entry {answer_seq} of "
        "the session. Nothing was appended. An Idempotency-Key makes it safe to repeat a turn.",
        faults=[Fault(f"/entries/{index}", f"answers what seq {answer_seq} has answered")],
        code="tool-call-answered",
    )


def _find_cut_calls(
    messages: Iterable[StoredHistoryMessage], answered_ids: Collection[str]
) -> Iterator[tuple[TurnCall, str]]:
    """Find the unanswered calls that have a cut argument.

    Args:
        messages: The messages of a turn.
        answered_ids: The ids of calls that other entries of the turn answer.

    Yields:
        Each call, with the handle of the whole argument.
    """
    messages = list(messages)
    # Few messages contain the mark of a cut, so most are not parsed.
    if not any(MARK_WORDS in message.message for message in messages):
        return
    turns = [
        turn
        for message in messages
        for turn in read_message_turns(message, {}, audience="everyone", origin="")
    ]
    # A call without an id cannot be answered.
    not_refused = {"", *answered_ids, *(turn.call_id for turn in turns if turn.role == "tool")}
    for call in (call for turn in turns for call in turn.calls):
        if call.call_id not in not_refused:
            handle = find_blocking_mark(call.name, call.arguments)
            if handle is not None:
                yield call, handle
