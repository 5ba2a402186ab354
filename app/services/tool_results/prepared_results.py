"""Results that are ready to be committed, and what one transaction writes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from app.models.event import NewEvent
from app.models.session import TOOL_RESULT
from app.models.tool_result import StoredToolResult
from app.services.requests.validation import require_found
from app.services.sessions.messages import PreparedMessage
from app.services.tool_results.tool_result_requests import NormalizedRequest, place_result
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.model.resource import Resource


@dataclass(frozen=True, slots=True)
class Ingested:
    """A record, and whether this request made it or an earlier one with the same JSON."""

    result: StoredToolResult
    is_new: bool


@dataclass(frozen=True, slots=True)
class PreparedResult:
    """A record ready to be committed, with everything its transaction needs."""

    result: StoredToolResult
    resources: Sequence[Resource]
    success: bool
    request: NormalizedRequest
    call_message: PreparedMessage | None = None
    """What made the call, if it is to be appended before the result."""

    @property
    def is_long(self) -> bool:
        """Whether nobody else's changes are to wait for its commit; see `PreparedMessage`."""
        return self.call_message is not None and self.call_message.is_long

    def place(self, unit: UnitOfWork) -> int:
        """Return which answer of its id the result is in its session, which is locked.

        Raises:
            AlreadyAnsweredError: The call has this result already.
            ConflictError: It was answered with something else.
        """
        place = place_result(unit, self.request.request, self.request.identity)
        if place.existing is not None:
            existing = unit[ToolResultRecords].find(place.existing.entry_id)
            raise AlreadyAnsweredError(require_found(existing, "tool result"))
        return place.number

    def join_list(self) -> Self:
        """Return the same result as one of a list, which keeps the order that it was sent in."""
        return replace(self, result=replace(self.result, is_apart=False))

    def append(self, unit: UnitOfWork) -> Ingested:
        """Write record, history entry and resources, behind the message that made the call.

        Raises:
            AlreadyAnsweredError: The call has this result already.
            ConflictError: It was answered with something else.
        Source: spec 002, "Event Flow & Consumers".
        """
        result, digest = self.result, self.request.identity.digest
        session_id = result.session_id
        if session_id is None:
            unit[ToolResultRecords].add(result, success=self.success, request_digest=digest)
        else:
            unit[SessionRecords].enter(session_id, result.created_at)
            # The session is locked, so an equal request that was faster is seen here.
            result = replace(result, answer_number=self.place(unit))
            if self.call_message is not None:
                self.call_message.append(unit)
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
        unit.note(event)
        return Ingested(result, is_new=True)


@dataclass(eq=False)
class AlreadyAnsweredError(Exception):
    """The call has this result already: nothing is written, the session's own time included."""

    existing: StoredToolResult
