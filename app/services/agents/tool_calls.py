"""Runs one call of a memory tool: appends the call and its answer, and renders the answer.

If the arguments are wrong, the answer names the call to make instead. It is appended like any other
answer. If a store fails, nothing is appended. The answer then asks the model to repeat the call or,
if the store is full, to tell the user.

Source: design document `agents.md`, "Tools for models".
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial

from app.errors import ConflictError, OverloadedError, StoreFullError, StoreUnavailableError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.agents.prepared_calls import AnsweredCallError, CallPreparer, identify_call
from app.services.calls.answer_positions import find_answer_position
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.tool_result_renders import ToolResultRenders
from app.services.requests.idempotency import Idempotency
from app.services.requests.validation import read_object, validate_model
from app.services.requests.whole_bodies import RequestBodies
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.agents import ToolCallRequest
from pagefault_dialects.errors import InvalidPayloadError

_NOT_STORED = (
    "The memory did not answer, and nothing was stored. Make the same call again in a moment."
)
_NO_ROOM = (
    "There is no room left for what this call stores, and nothing was stored; reading still works. "
    "Tell the user: whoever runs this memory has to make room."
)


@dataclass(frozen=True, slots=True, eq=False)
class ToolCalls:
    """Runs calls of the memory tools."""

    records: Records
    calls: CallPreparer
    """Runs calls."""
    renders: ToolResultRenders
    """Renders answers."""
    bodies: RequestBodies
    """Reads the bodies of requests."""
    limits: Limits

    async def run(
        self, project_id: str, session_id: str, body: AsyncIterator[bytes]
    ) -> RenderedBody:
        """Run a call, and return its answer as a message of the target.

        A call that was run before is not run again. Its stored answer is returned.

        Args:
            project_id: The caller's project.
            session_id: The session to which the call and the answer are appended.
            body: The bytes of a `ToolCallRequest` as JSON.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid, or the
                service cannot sign URLs.
            ConflictError: Another call of the session has this id, or the call is still running.
        """
        async with self.bodies.read(body, partial(read_tool_call, limits=self.limits)) as request:
            return await self.run_request(project_id, session_id, request)

    async def run_request(
        self, project_id: str, session_id: str, request: ToolCallRequest
    ) -> RenderedBody:
        """Run a parsed call; see `run`."""
        # The tools return long texts in pieces, which the rendering must not cut again.
        options = replace(request.options(), max_text=None)
        query = RenderQuery(request.target, options)
        try:
            seq = await self._run_once(project_id, session_id, request)
            return await self.renders.render_entry(project_id, session_id, seq, query)
        except (StoreUnavailableError, OverloadedError) as exc:
            reason = _NO_ROOM if isinstance(exc, StoreFullError) else _NOT_STORED
            text = f"{reason} ({exc.problem_code})"
            return await self.renders.render_text(project_id, request.id, request.name, text, query)

    async def _run_once(self, project_id: str, session_id: str, request: ToolCallRequest) -> int:
        """Run a call, unless it was run before; return the `seq` of its answer.

        Raises:
            ConflictError: Another call of the session has this id, or the call is still running.
        """
        # Providers may use an id again, so the number of the call among those with its id is part
        # of the idempotency key.
        position = await self.records.read(
            project_id, lambda unit: find_answer_position(unit, session_id, request.id)
        )
        call = identify_call(project_id, session_id, request, position.number)
        try:
            async with Idempotency(self.records).claim(call, utc_now()) as stored_seq:
                if stored_seq is not None:
                    return int(stored_seq)
                prepared = await self.calls.prepare(project_id, session_id, request, request)

                def append(unit: UnitOfWork) -> int:
                    seq = prepared.append(unit)
                    Idempotency(self.records).record_answer(unit, call, str(seq))
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


def read_tool_call(body: bytes, *, limits: Limits) -> ToolCallRequest:
    """Parse and validate the body of a request. Call this in a thread if the body is long.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid.
    """
    value = read_object(body, limits)
    return validate_model(ToolCallRequest, value, "The body is not a call; `errors` says where.")
