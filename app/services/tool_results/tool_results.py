"""Stores tool results as canonical records, and reads the records.

This is the only module that chains the three stages: normalization, persistence and packaging.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from app.crash_points import CrashPoint, reach_crash_point
from app.models.identity import decode_cursor, encode_cursor, is_id, new_id, utc_now
from app.models.limits import Limits
from app.models.tool_result import PersistedToolResult, StoredToolResult
from app.services.concurrency.large_work import LargeWork, is_quick, run_in_loop_if
from app.services.events.raw_results import RawResults
from app.services.media.media_keeper import MediaKeepers
from app.services.packaging import build_sanitized_tool_result, encode_sanitized
from app.services.persistence import persist_tool_media
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.streamed_bodies import ReceivedBody, StreamedBodies
from app.services.requests.validation import require_found
from app.services.requests.whole_bodies import chunks_of
from app.services.sessions.messages import PreparedMessage, SessionMessages
from app.services.tool_results.prepared_results import (
    AlreadyAnsweredError,
    IngestOutcome,
    PreparedResult,
)
from app.services.tool_results.tool_result_requests import (
    NormalizedRequest,
    ParsedToolResult,
    ToolResultRequest,
    find_result_position,
    load_whole_request,
    normalize_streamed,
    read_tool_result_request,
)
from app.stores.blobs.store import BlobDraft
from app.stores.records.answered_calls import AnsweredCallRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.tool_results import ToolResultRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.telemetry.service_metrics import IngestMetrics
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import json_bytes
from pagefault_dialects.model.normalized import NormalizedReference
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.streams.json_stream import JsonStream

IDEMPOTENT_ROUTE = "POST /api/tool-results"
_NO_RESOURCES: Mapping[str, Resource] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Received(NormalizedRequest):
    """A normalized request, with its body."""

    json: JsonStream[BlobDraft]
    """The body, with its long strings in drafts."""
    body_bytes: int
    """The size of the body."""

    @property
    def needs_stores(self) -> bool:
        """True if the result has media to store, references to look up, or long text."""
        return (
            not is_quick(*self.json.texts)
            or bool(self.normalized.media)
            or any(isinstance(part, NormalizedReference) for part in self.normalized.parts)
        )


@dataclass(frozen=True, slots=True, eq=False)
class ToolResults:
    """Stores raw tool results as canonical records."""

    records: Records
    keepers: MediaKeepers
    """Makes the object that stores the media of a request."""
    bodies: StreamedBodies
    """Receives the bodies of requests."""
    messages: SessionMessages
    """Prepares the messages with calls."""
    work: LargeWork
    """Runs work on large bodies in threads."""
    limits: Limits
    metrics: IngestMetrics
    raw_results: RawResults
    """Passes raw results to listeners in debug mode."""

    async def ingest(
        self,
        project_id: str,
        body: AsyncIterator[bytes],
        *,
        idempotency_key: str | None,
        new_call: bool = False,
    ) -> IngestOutcome:
        """Store a raw tool result.

        Args:
            project_id: The caller's project.
            body: The bytes of a `ToolResultRequest` as JSON, as they arrive. The caller limits
                their number.
            idempotency_key: The key that the client has chosen for the request. It makes a retry
                safe if the result has no session.
            new_call: True to treat the call as new, even if `newCall` is not set in the body.

        Returns:
            The committed record. If the call of the session has an equal result already, the
            existing record.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid or too
                large. Nothing was stored.
            ConflictError: This call of the session has another result.
            StoreUnavailableError: A store did not answer. No record was written, so the request can
                be sent again.
        Source: spec 002, "Storage & History".
        """
        async with self._receive(project_id, body) as received:
            if new_call:
                request = received.request.model_copy(update={"new_call": True})
                received = replace(received, request=request)  # noqa: PLW2901
            if idempotency_key is None:
                return await self._ingest(project_id, received, None)
            call = IdempotentCall(project_id, IDEMPOTENT_ROUTE, idempotency_key, received.identity)
            idempotency = Idempotency(self.records)
            async with idempotency.claim(call, utc_now()) as answer_id:
                if answer_id is not None:
                    return IngestOutcome(await self.get(project_id, answer_id), is_new=False)
                outcome = await self._ingest(project_id, received, call)
                if not outcome.is_new:
                    # The session had this result already, so no commit has recorded the key.
                    await idempotency.record_existing_answer(call, outcome.result.tool_result_id)
                return outcome

    async def prepare(
        self,
        project_id: str,
        body: AsyncIterator[bytes],
        *,
        further_resources: Mapping[str, Resource] = _NO_RESOURCES,
    ) -> PreparedResult:
        """Run the three stages for a result, and return it. The caller appends it in a transaction.

        Args:
            project_id: The caller's project.
            body: See `ingest`.
            further_resources: Resources of the project, by id, to which the result may refer in
                addition to the resources of its session.

        Raises:
            Exception: See `ingest`.
        """
        async with self._receive(project_id, body) as received:
            resources = await self.records.read(
                project_id, lambda unit: _find_session_resources(unit, received)
            )
            return await self._persist_and_package(
                project_id, received, {**further_resources, **resources}
            )

    @asynccontextmanager
    async def _receive(
        self, project_id: str, body: AsyncIterator[bytes]
    ) -> AsyncIterator[_Received]:
        """Receive a body and normalize its result; discard its drafts at the end of the block."""
        async with self.bodies.receive(project_id, body) as received:
            if received.is_quick:
                yield self._normalize(received)
            else:
                yield await self.work.run(received.bytes_in_memory, self._normalize, received)

    async def get(self, project_id: str, tool_result_id: str) -> StoredToolResult:
        """Return a record by its id.

        Raises:
            NotFoundError: The project has no such record.
        """
        stored = None
        if is_id(tool_result_id):
            stored = await self.records.read(
                project_id, lambda unit: unit[ToolResultRecords].find(tool_result_id)
            )
        return require_found(stored, "tool result")

    async def has_result(self, project_id: str, session_id: str, tool_call_id: str) -> bool:
        """Return True if a tool call of a session has a result."""
        newest = await self.records.read(
            project_id,
            lambda unit: unit[AnsweredCallRecords].newest_answer(session_id, tool_call_id),
        )
        return newest is not None and newest.is_result

    async def list(
        self, project_id: str, *, session_id: str | None, cursor: str | None, limit: int
    ) -> tuple[Sequence[StoredToolResult], str | None]:
        """Return up to `limit` records, the newest first, and the cursor for the next records.

        Args:
            project_id: The caller's project.
            session_id: The session of the records; `None` for all records of the project.
            cursor: The cursor that the call for the records before these has returned.
            limit: The maximum number of records.

        Returns:
            The records, and the cursor; `None` if there are no further records.

        Raises:
            InvalidCursorError: The cursor belongs to another list.
        """
        before_id = None
        if cursor is not None:
            before_id = str(decode_cursor("tool-results", cursor, (str,))[0])
        results = await self.records.read(
            project_id,
            lambda unit: unit[ToolResultRecords].list_tool_results(
                session_id, before_id=before_id, limit=limit + 1
            ),
        )
        if len(results) <= limit:
            return results, None
        return results[:limit], encode_cursor("tool-results", results[limit - 1].tool_result_id)

    def _normalize(self, body: ReceivedBody) -> _Received:
        """Run stage one on a received body."""
        json = body.finish()
        with self.metrics.stage("normalization"):
            result = normalize_streamed(json, self._parse, body.reserve_text)
        return _Received(result.request, result.normalized, result.identity, json, body.size_bytes)

    def _parse(self, body: bytes) -> ParsedToolResult:
        limits = self.limits
        return read_tool_result_request(
            body, max_depth=limits.json_depth, max_nodes=limits.json_nodes
        )

    async def _ingest(
        self, project_id: str, received: _Received, call: IdempotentCall | None
    ) -> IngestOutcome:
        """Run stages two and three, and write the record in one transaction; see `ingest`."""
        session_resources: Mapping[str, Resource] = {}
        if received.needs_stores:
            # If the result exists already, its media are not stored again.
            existing, session_resources = await self.records.read(
                project_id,
                lambda unit: (
                    _find_existing(unit, received),
                    _find_session_resources(unit, received),
                ),
            )
            if existing is not None:
                return IngestOutcome(existing, is_new=False)
        prepared = await self._persist_and_package(project_id, received, session_resources)

        def write(unit: UnitOfWork) -> IngestOutcome:
            outcome = prepared.append(unit)
            if call is not None:
                record_answer = Idempotency(self.records).record_answer
                record_answer(unit, call, prepared.result.tool_result_id)
            return outcome

        with self.metrics.stage("commit"):
            try:
                outcome = await self.records.write(project_id, write, is_alone=prepared.is_long)
            except AlreadyAnsweredError as exc:
                outcome = IngestOutcome(exc.existing, is_new=False)
            else:
                reach_crash_point(CrashPoint.RESULT_COMMITTED)
        self.metrics.count_saved(
            bytes_in=received.body_bytes, bytes_kept=len(outcome.result.sanitized)
        )
        return outcome

    async def _persist_and_package(
        self,
        project_id: str,
        received: _Received,
        session_resources: Mapping[str, Resource],
    ) -> PreparedResult:
        """Run stages two and three, and keep the raw result for listeners in debug mode."""
        call_message = await self._prepare_call_message(project_id, received.request)
        now = utc_now()
        with self.metrics.stage("persistence"):
            persisted = await persist_tool_media(
                received.normalized,
                self.keepers.keeper(project_id, now=now),
                session_resources=session_resources,
                limits=self.limits,
            )
        prepared = await run_in_loop_if(
            is_quick(*received.json.texts), self._package, persisted, received, now
        )
        if call_message is not None:
            prepared = replace(prepared, call_message=call_message)
        size_bytes = received.body_bytes
        if self.raw_results.is_wanted(project_id, size_bytes=size_bytes):
            # Listeners get the result as the tool returned it, so the body is parsed again without
            # placeholders.
            request = await self.work.run(
                size_bytes, load_whole_request, received.json, received.request, self._parse
            )
            self.raw_results.offer(
                project_id, prepared.result.tool_result_id, request.result, size_bytes=size_bytes
            )
        return prepared

    async def _prepare_call_message(
        self, project_id: str, request: ToolResultRequest
    ) -> PreparedMessage | None:
        """Prepare the message with the call, if the request has one."""
        if request.call_message is None or request.session_id is None:
            return None
        text = json_bytes(request.call_message)
        try:
            return await self.messages.prepare(project_id, request.session_id, chunks_of(text))
        except InvalidPayloadError as exc:
            faults = [Fault(f"/callMessage{fault.pointer}", fault.detail) for fault in exc.faults]
            raise InvalidPayloadError(
                f"{exc.detail} Nothing was stored.", faults=faults, code=exc.problem_code
            ) from exc

    def _package(
        self, persisted: PersistedToolResult, received: _Received, now: datetime
    ) -> PreparedResult:
        """Run stage three: build the record and its bytes."""
        request = received.request
        with self.metrics.stage("packaging"):
            sanitized = build_sanitized_tool_result(
                persisted,
                tool_name=request.tool_name,
                tool_call_id=request.tool_call_id,
                success=request.success,
            )
            result = StoredToolResult(
                tool_result_id=new_id(),
                session_id=request.session_id,
                seq=None,
                created_at=now,
                tool_name=request.tool_name,
                tool_call_id=request.tool_call_id,
                sanitized=encode_sanitized(sanitized),
            )
        return PreparedResult(result, persisted.resources, sanitized.meta.success, received)


def _find_existing(unit: UnitOfWork, received: _Received) -> StoredToolResult | None:
    """Return the record of an equal request; see `find_result_position` for the error."""
    existing = find_result_position(unit, received.request, received.identity).existing
    return None if existing is None else unit[ToolResultRecords].find(existing.entry_id)


def _find_session_resources(unit: UnitOfWork, received: _Received) -> dict[str, Resource]:
    """Return those resources of the session to which the result refers, by id."""
    session_id = received.request.session_id
    resource_ids = {
        part.resource_id
        for part in received.normalized.parts
        if isinstance(part, NormalizedReference) and part.resource_id
    }
    if session_id is None or not resource_ids:
        return {}
    return unit[ResourceRecords].find_in_session(resource_ids, session_id)
