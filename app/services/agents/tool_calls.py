"""Calls of our tools: run, noted in the session's history with their answers, and rendered.

A model that calls with wrong arguments, or for what is not there, gets an answer that says what to
do instead; that is an entry of the history as any other. Where a store fails, nothing is noted, and
the answer says so: the same call may be made again, unless the store has no room.

Source: `agents`, "Tools for models".
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial

from app.errors import ConflictError, OverloadedError, StoreFullError, StoreUnavailableError
from app.models.call_ids import call_key
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.message import StoredHistoryMessage, StoredMessage
from app.services.agents.tools import (
    PreparedEntry,
    ToolAnswer,
    ToolPlace,
    Tools,
    body_of,
    describe_error,
    write_answer,
)
from app.services.calls.answer_places import find_answer_place, makes_call
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.entry_renders import render_entry
from app.services.renders.queries import RenderQuery
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity
from app.services.requests.session_keys import CALL_ROUTE, key_in_session
from app.services.requests.validation import read_object, validated
from app.services.requests.whole_bodies import RequestBodies
from app.services.sessions.messages import PreparedMessage, SessionMessages
from app.services.tool_results.prepared_results import AlreadyAnsweredError, PreparedResult
from app.services.tool_results.tool_results import ToolResults
from app.stores.records.answered_calls import AnsweredCallRecords
from app.stores.records.history import SessionHistory
from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.tools import ToolCall, ToolCallRequest
from pagefault_dialects.errors import InvalidPayloadError, PagefaultError
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.streams.json_digests import json_digest
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError, read_arguments, read_call

# A host appends what its model said just before the calls in it are run.
_LOOKED_BACK = 20
_MOST_LOOKED_BACK = 400
_NOT_STORED = (
    "The memory did not answer, and nothing was stored. Make the same call again in a moment."
)
_NO_ROOM = (
    "There is no room left for what this call stores, and nothing was stored; reading still works. "
    "Tell the user: whoever runs this memory has to make room."
)


@dataclass(eq=False)
class AnsweredCallError(Exception):
    """A call has its answer already, at a `seq`: nothing is written."""

    seq: int


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that was run; neither it nor its answer is in the session yet."""

    project_id: str
    asked: ToolCall
    calling: PreparedMessage
    answer: PreparedResult | PreparedEntry

    @property
    def call_id(self) -> str:
        """The id of the call."""
        return self.asked.id

    def append(self, unit: UnitOfWork) -> int:
        """Append the call, unless it is there, and its answer; return the `seq` of the answer.

        Raises:
            AnsweredCallError: The call has this answer already.
            ConflictError: The call was answered with something else.
        """
        session_id = self.calling.session_id
        unit[SessionRecords].enter(session_id, self.calling.message.created_at)
        # Before its message, behind which it would be another call of the same id.
        self._check_unanswered(unit)
        if not _is_called(unit, session_id, self.call_id):
            self.calling.append(unit)
        if isinstance(self.answer, PreparedResult):
            return appended_result(self.answer, unit)
        answer, is_new = self.answer.append(unit)
        if not is_new:
            raise AnsweredCallError(answer.seq)
        return answer.seq

    def _check_unanswered(self, unit: UnitOfWork) -> None:
        if isinstance(self.answer, PreparedResult):
            try:
                self.answer.place(unit)
            except AlreadyAnsweredError as exc:
                raise AnsweredCallError(exc.existing.seq or 0) from exc
        elif (existing := self.answer.existing(unit)) is not None:
            raise AnsweredCallError(existing.seq)

    def note(self, unit: UnitOfWork, seq: int) -> None:
        """Note the answer of a call in a turn: the same call by itself is answered with it."""
        session_id, keys = self.calling.session_id, unit[IdempotencyRecords]
        newest = unit[AnsweredCallRecords].newest_answer(session_id, self.call_id)
        number = newest.answer_number if newest else 1
        call = _known_as(self.project_id, session_id, self.asked, number)
        digest = call.identity.digest
        if keys.claim(call.route, call.key, digest, utc_now(), claim_id=call.claim_id) is None:
            keys.answer(call.route, call.key, str(seq), claim_id=call.claim_id)


def appended_result(result: PreparedResult, unit: UnitOfWork) -> int:
    """Append a result; return its `seq`.

    Raises:
        AnsweredCallError: The call has this result already.
        ConflictError: The call was answered with something else.
    """
    try:
        return result.append(unit).result.seq or 0
    except AlreadyAnsweredError as exc:
        raise AnsweredCallError(exc.existing.seq or 0) from exc


@dataclass(frozen=True, slots=True, eq=False)
class ToolCalls:
    """Runs the calls that models make of our tools."""

    records: Records
    """Where histories are."""
    tools: Tools
    """What is run."""
    messages: SessionMessages
    """Prepares the message that is the call."""
    results: ToolResults
    """Prepares the result that is its answer."""
    renders: AnswerRenders
    """Renders that."""
    bodies: RequestBodies
    """Reads the bodies of requests."""
    limits: Limits
    """How deep they may nest."""

    async def run(
        self, project_id: str, session_id: str, body: AsyncIterator[bytes]
    ) -> RenderedBody:
        """Run a call and return the message that answers it; the same call again is not run again.

        Args:
            project_id: The caller's project.
            session_id: The session that call and answer are entries of.
            body: A `ToolCallRequest` as JSON.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body, or signed URLs
                would lead nowhere.
            ConflictError: Another call of the session has this id, or the same one is being run.
        """
        async with self.bodies.read(body, partial(read_tool_call, limits=self.limits)) as asked:
            return await self.run_request(project_id, session_id, asked)

    async def run_request(
        self, project_id: str, session_id: str, asked: ToolCallRequest
    ) -> RenderedBody:
        """Run a call whose body was read; see `run`, also for what it raises."""
        # What reads a long text in pieces would otherwise give previews of them.
        options = replace(asked.options(), max_text=None)
        query = RenderQuery(asked.target, options)
        try:
            seq = await self._answered(project_id, session_id, asked)
            return await render_entry(self.renders, project_id, session_id, seq, query)
        except (StoreUnavailableError, OverloadedError) as exc:
            said = _NO_ROOM if isinstance(exc, StoreFullError) else _NOT_STORED
            text = f"{said} ({exc.problem_code})"
            return await self.renders.words(project_id, asked.id, asked.name, text, query)

    async def prepare(self, project_id: str, session_id: str, asked: ToolCall) -> PreparedCall:
        """Run a call, to be appended with its answer in somebody else's transaction.

        Raises:
            StoreUnavailableError, OverloadedError: A store did not answer; nothing was stored.
        """
        place = ToolPlace(project_id, session_id, asked.id, asked.scope)
        answer: ToolAnswer | PreparedEntry
        try:
            answer = await self.tools.run(place, read_call(asked.name, asked.arguments))
        except WrongArgumentsError as exc:
            answer = write_answer(str(exc), is_error=True)
        except (StoreUnavailableError, OverloadedError):
            raise
        except PagefaultError as exc:
            answer = write_answer(describe_error(exc), is_error=True)
        calling = await self.messages.prepare(project_id, session_id, body_of(_calling(asked)))
        if not isinstance(answer, ToolAnswer):
            return PreparedCall(project_id, asked, calling, answer)
        body = body_of(_result(session_id, asked, answer))
        result = await self.results.prepare(project_id, body, shown=answer.shown)
        return PreparedCall(project_id, asked, calling, result)

    async def _answered(self, project_id: str, session_id: str, asked: ToolCallRequest) -> int:
        """Return the `seq` of the answer to a call, which is run unless it was."""
        place = await self.records.read(
            project_id, lambda unit: find_answer_place(unit, session_id, asked.id)
        )
        call = _known_as(project_id, session_id, asked, place.number)
        try:
            async with Idempotency(self.records).claimed(call, utc_now()) as answer:
                if answer is not None:
                    return int(answer)
                prepared = await self.prepare(project_id, session_id, asked)

                def append(unit: UnitOfWork) -> int:
                    seq = prepared.append(unit)
                    Idempotency(self.records).note_answer(unit, call, str(seq))
                    return seq

                return await self.records.write(project_id, append)
        except AnsweredCallError as exc:
            return exc.seq
        except ConflictError as exc:
            if exc.problem_code != "request-in-flight":
                raise
            raise ConflictError(
                "The same call is still being run. Send it again in a moment for its answer.",
                code="request-in-flight",
            ) from exc
        except InvalidPayloadError as exc:
            if exc.problem_code != "idempotency-key-reused":
                raise
            raise ConflictError(
                "Another call of this session has this id. Take the id that the provider gave the "
                "call; where it gives none, make a new one for each. Where it gives the same one "
                "again, append the message that makes the call first.",
                code="tool-call-answered",
            ) from exc


def _known_as(project_id: str, session_id: str, asked: ToolCall, number: int) -> IdempotentCall:
    """Return what the same call is known by: its id and number, its name and arguments."""
    digest = json_digest([asked.name, read_arguments(asked.arguments)])
    key = key_in_session(session_id, call_key(asked.id, number))
    return IdempotentCall(project_id, CALL_ROUTE, key, RequestIdentity(digest))


def answer_of(unit: UnitOfWork, session_id: str, call_id: str) -> int | None:
    """Return the `seq` of what answers a call of a session; `None` if nothing does."""
    newest = unit[AnsweredCallRecords].newest_answer(session_id, call_id)
    return None if newest is None else newest.seq


def _is_called(unit: UnitOfWork, session_id: str, call_id: str) -> bool:
    """Tell whether one of the last messages of a session, or that before answers, makes the call.

    The answers of parallel calls stand between their message and the call that is run last.
    """
    head = unit[SessionHistory].history_head(session_id)
    last_seq = head.last_seq if head else 0
    spelled = json_text(call_id).encode()
    for end in range(last_seq, max(0, last_seq - _MOST_LOOKED_BACK), -_LOOKED_BACK):
        after_seq = max(0, end - _LOOKED_BACK)
        entries = unit[SessionHistory].entries(
            session_id, after_seq=after_seq, limit=end - after_seq
        )
        others = [
            entry
            for entry in entries
            if entry.seq <= end
            and not isinstance(entry, StoredMessage)
            and not (isinstance(entry, StoredHistoryMessage) and _is_answer(entry))
        ]
        if others:
            messages = (each for each in others if isinstance(each, StoredHistoryMessage))
            return any(spelled in each.message and makes_call(each, call_id) for each in messages)
    return False


def _is_answer(entry: StoredHistoryMessage) -> bool:
    return entry.tool_call_id is not None or entry.role == "tool"


def read_tool_call(body: bytes, *, limits: Limits) -> ToolCallRequest:
    """Return the call that a body is; blocks unless it is short.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: It is none.
    """
    value = read_object(body, limits)
    return validated(ToolCallRequest, value, "The body is not a call; `errors` says where.")


def _calling(asked: ToolCall) -> JsonValue:
    """Return the message of an assistant that makes a call."""
    arguments = asked.arguments
    text = arguments if isinstance(arguments, str) else json_text(arguments or {})
    function = {"name": asked.name, "arguments": text}
    calls = [{"id": asked.id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(session_id: str, asked: ToolCall, answer: ToolAnswer) -> JsonValue:
    """Return the result of a tool that answers a call."""
    return {
        "toolName": asked.name,
        "toolCallId": asked.id,
        "sessionId": session_id,
        "success": not answer.is_error,
        "result": {"content": [*answer.content]},
    }
