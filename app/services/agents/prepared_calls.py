"""Runs calls of memory tools, and appends each call with its answer in one transaction.

`CallPreparer` runs a call and stores the media of its answer; the result is a `PreparedCall`, which
is appended. Calls and answers that are stored already are not appended again.
"""

from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import anyio.to_thread

from app.errors import OverloadedError, StoreUnavailableError
from app.models.call_ids import call_key
from app.models.identity import utc_now
from app.services.agents.tools import (
    PreparedEntry,
    ToolCallResult,
    ToolContext,
    Tools,
    build_text_result,
    describe_error,
    encode_body,
)
from app.services.calls.answer_positions import makes_call
from app.services.requests.idempotency import IdempotentCall
from app.services.requests.request_identity import RequestIdentity
from app.services.requests.session_keys import CALL_ROUTE, key_in_session
from app.services.sessions.messages import PreparedMessage, SessionMessages
from app.services.tool_results.prepared_results import AlreadyAnsweredError, PreparedResult
from app.services.tool_results.tool_results import ToolResults
from app.stores.records.answered_calls import AnsweredCallRecords
from app.stores.records.history import SessionHistory
from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.agents import ToolCall
from app.wire.renders import RenderFields
from pagefault_dialects.context.cut_marks import cut_arguments_refusal, find_blocking_mark
from pagefault_dialects.context.token_cuts import (
    MAX_RESULT_TOKENS,
    blocks_within,
    max_result_tokens,
)
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import TurnCall
from pagefault_dialects.streams.json_digests import json_digest
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError, read_arguments, read_call

# Hosts append the message of a model just before they run the calls in it. So the message with a
# call is searched only among the newest messages, and only in the newest entries.
_RECENT_MESSAGES = 20
_RECENT_ENTRIES = 400


@dataclass(eq=False)
class AnsweredCallError(Exception):
    """The call has this answer already, so nothing was written."""

    seq: int
    """The `seq` of the stored answer."""


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that was run, with its answer, ready to be appended to the history."""

    project_id: str
    request: ToolCall
    call_message: PreparedMessage
    """A message of the assistant that makes the call."""
    answer: PreparedResult | PreparedEntry
    """The result of the tool, or another entry such as a page fault."""

    @property
    def call_id(self) -> str:
        """The id of the call."""
        return self.request.id

    def mark_as_list_item(self) -> Self:
        """Return a copy with the answer marked; see `PreparedResult.mark_as_list_item`."""
        return replace(self, answer=self.answer.mark_as_list_item())

    def append(self, unit: UnitOfWork) -> int:
        """Append the call and its answer, and return the `seq` of the answer.

        The call is not appended if it is stored already, or if the client will append it later
        (`ToolCall.call_follows`).

        Raises:
            AnsweredCallError: The call has this answer already.
            ConflictError: The call has another answer.
        """
        session_id = self.call_message.session_id
        unit[SessionRecords].ensure(session_id, self.call_message.message.created_at)
        # Checked first: once the message is appended, an earlier answer is that of an earlier call.
        self._check_unanswered(unit)
        if not self.request.call_follows and not _has_call_message(unit, session_id, self.call_id):
            self.call_message.append(unit)
        if isinstance(self.answer, PreparedResult):
            return append_result(self.answer, unit)
        answer, is_new = self.answer.append(unit)
        if not is_new:
            raise AnsweredCallError(answer.seq)
        return answer.seq

    def _check_unanswered(self, unit: UnitOfWork) -> None:
        """Raise an error if the call has an answer already; see `append`."""
        if isinstance(self.answer, PreparedResult):
            try:
                self.answer.find_answer_number(unit)
            except AlreadyAnsweredError as exc:
                raise AnsweredCallError(exc.existing.seq or 0) from exc
        elif (existing := self.answer.find_existing(unit)) is not None:
            raise AnsweredCallError(existing.seq)

    def record_answer(self, unit: UnitOfWork, seq: int) -> None:
        """Record the answer of the call, so that `ToolCalls.run` does not run the call again.

        Args:
            unit: The transaction that appends the answer.
            seq: The `seq` of the answer.
        """
        session_id, keys = self.call_message.session_id, unit[IdempotencyRecords]
        newest = unit[AnsweredCallRecords].newest_answer(session_id, self.call_id)
        number = newest.answer_number if newest else 1
        call = identify_call(self.project_id, session_id, self.request, number)
        digest = call.identity.digest
        if keys.claim(call.route, call.key, digest, utc_now(), claim_id=call.claim_id) is None:
            keys.answer(call.route, call.key, str(seq), claim_id=call.claim_id)


def append_result(result: PreparedResult, unit: UnitOfWork) -> int:
    """Append a tool result, and return its `seq`.

    Raises:
        AnsweredCallError: The call has this result already.
        ConflictError: The call has another answer.
    """
    try:
        return result.append(unit).result.seq or 0
    except AlreadyAnsweredError as exc:
        raise AnsweredCallError(exc.existing.seq or 0) from exc


@dataclass(frozen=True, slots=True, eq=False)
class CallPreparer:
    """Runs calls, and stores the media of their answers."""

    tools: Tools
    """The memory tools."""
    messages: SessionMessages
    """Prepares the messages of calls."""
    results: ToolResults
    """Prepares the results of calls."""

    async def prepare(
        self, project_id: str, session_id: str, request: ToolCall, render: RenderFields | None
    ) -> PreparedCall:
        """Run a call, and return it with its answer. The caller appends both in a transaction.

        A model sees old calls with long arguments cut, and may copy a cut argument into a new call.
        Such a call is not run. Its answer names the call that reads the whole argument.

        Args:
            project_id: The caller's project.
            session_id: The session of the call.
            request: The call.
            render: The options of the rendering of the answer. Their limit of tokens also limits
                the answer.

        Raises:
            StoreUnavailableError: A store did not answer; nothing was stored.
            OverloadedError: There is not enough memory; nothing was stored.
        """
        max_tokens = MAX_RESULT_TOKENS
        if render is not None:
            max_tokens = max_result_tokens(render.max_tokens, TARGETS[render.target].tokens)
        context = ToolContext(project_id, session_id, request.id, request.scope, max_tokens)
        result: ToolCallResult | PreparedEntry
        try:
            if (handle := find_blocking_mark(request.name, request.arguments)) is not None:
                raise WrongArgumentsError(cut_arguments_refusal(handle))
            result = await self.tools.run(context, read_call(request.name, request.arguments))
        except WrongArgumentsError as exc:
            result = build_text_result(str(exc), is_error=True)
        except (StoreUnavailableError, OverloadedError):
            raise
        except PagefaultError as exc:
            result = build_text_result(describe_error(exc), is_error=True)
        message = encode_body(_make_call_message(request))
        call_message = await self.messages.prepare(project_id, session_id, message)
        if not isinstance(result, ToolCallResult):
            return PreparedCall(project_id, request, call_message, result)
        content = await anyio.to_thread.run_sync(blocks_within, result.content, max_tokens)
        body = encode_body(_make_result_body(session_id, request, replace(result, content=content)))
        answer = await self.results.prepare(project_id, body, further_resources=result.resources)
        return PreparedCall(project_id, request, call_message, answer)

    async def refuse(
        self, project_id: str, session_id: str, call: TurnCall, handle: str
    ) -> PreparedResult:
        """Return the answer to a call with a cut argument, which says that it was not run.

        Args:
            project_id: The caller's project.
            session_id: The session of the call.
            call: The call.
            handle: The handle of the whole argument.
        """
        result = build_text_result(cut_arguments_refusal(handle), is_error=True)
        request = ToolCall(id=call.call_id, name=call.name)
        return await self.results.prepare(
            project_id, encode_body(_make_result_body(session_id, request, result))
        )


def identify_call(
    project_id: str, session_id: str, request: ToolCall, number: int
) -> IdempotentCall:
    """Return a call as a request with an idempotency key.

    The key has the id and the number of the call. The digest is that of its name and arguments.

    Args:
        project_id: The project.
        session_id: The session of the call.
        request: The call.
        number: The number of its answer among the answers to calls with the same id.
    """
    digest = json_digest([request.name, read_arguments(request.arguments)])
    key = key_in_session(session_id, call_key(request.id, number))
    return IdempotentCall(project_id, CALL_ROUTE, key, RequestIdentity(digest))


def _has_call_message(unit: UnitOfWork, session_id: str, call_id: str) -> bool:
    """Return True if one of the newest messages of a session makes a call.

    Answers do not count as messages here, since the answers to parallel calls follow the message.
    """
    call_json = json_text(call_id).encode()
    newest = unit[SessionHistory].iterate_newest_messages(session_id, max_numbers=_RECENT_ENTRIES)
    messages = islice(
        (message for message in newest if message.tool_call_id is None and message.role != "tool"),
        _RECENT_MESSAGES,
    )
    return any(call_json in entry.message and makes_call(entry, call_id) for entry in messages)


def _make_call_message(request: ToolCall) -> JsonValue:
    """Return a call as a message of the assistant, in the dialect of OpenAI Chat."""
    arguments = request.arguments
    text = arguments if isinstance(arguments, str) else json_text(arguments or {})
    function = {"name": request.name, "arguments": text}
    calls = [{"id": request.id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _make_result_body(session_id: str, request: ToolCall, result: ToolCallResult) -> JsonValue:
    """Return a result as the body of a request that stores a tool result."""
    return {
        "toolName": request.name,
        "toolCallId": request.id,
        "sessionId": session_id,
        "success": not result.is_error,
        "result": {"content": [*result.content]},
    }
