"""Tool results whose media are stored, and that are ready to be written in a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from app.models.event import NewEvent
from app.models.session import TOOL_RESULT
from app.models.tool_result import StoredToolResult
from app.services.calls.answer_positions import repeats_open_call
from app.services.requests.validation import require_found
from app.services.sessions.messages import PreparedMessage
from app.services.tool_results.tool_result_requests import NormalizedRequest, find_result_position
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.model.resource import Resource


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """The outcome of a request to store a tool result."""

    result: StoredToolResult
    is_new: bool
    """False if an earlier, equal request has stored the result."""


@dataclass(frozen=True, slots=True)
class PreparedResult:
    """A tool result that is ready to be written, with everything that its transaction needs."""

    result: StoredToolResult
    """The record, still without a `seq`."""
    resources: Sequence[Resource]
    """The resources to which the record refers."""
    success: bool
    """False if the tool failed."""
    request: NormalizedRequest
    call_message: PreparedMessage | None = None
    """The message with the call, if the request also appends the call."""

    @property
    def is_long(self) -> bool:
        """True if the result needs a commit of its own, so that other writes do not wait for it."""
        return self.call_message is not None and self.call_message.is_long

    def find_answer_number(self, unit: UnitOfWork) -> int:
        """Return the number, from 1, of the result among the answers to calls with the same id.

        The caller has to lock the session first.

        Raises:
            AlreadyAnsweredError: The call has this result already.
            ConflictError: The call has another answer.
        """
        position = find_result_position(unit, self.request.request, self.request.identity)
        if position.existing is not None:
            existing = unit[ToolResultRecords].find(position.existing.entry_id)
            raise AlreadyAnsweredError(require_found(existing, "tool result"))
        return position.number

    def mark_as_list_item(self) -> Self:
        """Return a copy that is marked as one of several entries that are appended together.

        Renderings keep the order of such entries.
        """
        return replace(self, result=replace(self.result, is_apart=False))

    def append(self, unit: UnitOfWork) -> IngestOutcome:
        """Write the message with the call, then the record, its history entry and its resources.

        Without a session, only the record and its resources are written.

        Raises:
            AlreadyAnsweredError: The call has this result already.
            ConflictError: The call has another answer.
        Source: spec 002, "Event Flow & Consumers".
        """
        result, digest = self.result, self.request.identity.digest
        session_id = result.session_id
        if session_id is None:
            unit[ToolResultRecords].add(result, success=self.success, request_digest=digest)
        else:
            unit[SessionRecords].ensure(session_id, result.created_at)
            # `ensure` has locked the session, so an equal request that was committed since this
            # request was prepared is found here.
            result = replace(result, answer_number=self.find_answer_number(unit))
            call = self.call_message
            if call is not None and not repeats_open_call(unit, session_id, call.message):
                call.append(unit)
            seq = unit[SessionRecords].append(
                session_id,
                TOOL_RESULT,
                result.tool_result_id,
                size_bytes=len(result.sanitized),
                row=unit[ToolResultRecords].row(
                    result, success=self.success, request_digest=digest
                ),
            )
            result = replace(result, seq=seq)
        unit[ResourceRecords].ensure_linked(
            self.resources,
            owner_kind=TOOL_RESULT,
            owner_id=result.tool_result_id,
            session_id=result.session_id,
        )
        event = NewEvent(
            "llmservice:toolResult",
            result.tool_result_id,
            result.created_at,
            session_id=result.session_id,
            seq=result.seq,
            size_bytes=len(result.sanitized),
            members={
                "toolName": result.tool_name,
                "callId": result.tool_call_id,
                "success": self.success,
            },
        )
        unit.add_event(event)
        return IngestOutcome(result, is_new=True)


@dataclass(eq=False)
class AlreadyAnsweredError(Exception):
    """The call has this result already, so nothing was written."""

    existing: StoredToolResult
    """The stored result."""
