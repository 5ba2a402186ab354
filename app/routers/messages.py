"""`/api/sessions/{session_id}/messages`: the history, and messages appended to it."""

import hashlib
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from app.errors import ConflictError, InvalidCursorError, NotFoundError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.conditions import make_strong_etag
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import (
    LARGEST_SEQ,
    AfterSeqQuery,
    CursorQuery,
    IdempotencyKeyHeader,
    LimitQuery,
    SessionIdPath,
)
from app.http.problem_types import (
    BODY_ERRORS,
    RECORD_ERRORS,
    describe_errors,
    describe_read_responses,
)
from app.http.record_responses import (
    build_list_body_response,
    build_next_link,
    build_record_response,
    build_written_response,
)
from app.http.rendered_responses import build_rendered_response
from app.http.response_memory import build_response_with_memory
from app.services.sessions.history import History
from app.services.sessions.message_requests import HistoryMessageDraft
from app.services.sessions.messages import SessionMessages
from app.wire.history import (
    HistoryEntry,
    HistoryMessage,
    MessagePage,
    encode_appended_message,
    encode_history_entry,
)
from pagefault_dialects.errors import InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.model.page import MediaForm

router = APIRouter(
    prefix="/api/sessions/{session_id}/messages", tags=["sessions"], route_class=ApiRoute
)

SessionMessagesDep = Annotated[SessionMessages, Depends(service(SessionMessages))]
HistoryDep = Annotated[History, Depends(service(History))]

HistoryMediaQuery = Annotated[
    MediaForm,
    Query(
        description="`inline` returns messages with their media, as they were sent. Tool results "
        "keep their references."
    ),
]


@router.get(
    "",
    response_model=MessagePage,
    responses=describe_read_responses(
        InvalidCursorError, NotFoundError, PayloadTooLargeError, InvalidPayloadError
    ),
)
async def list_messages(
    api_request: ApiRequestDep,
    history: HistoryDep,
    session_id: SessionIdPath,
    media: HistoryMediaQuery = "reference",
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
    after: AfterSeqQuery = None,
) -> Response:
    """List the history of a session in the order of `seq`, each entry as it was written.

    Entries are tool results, page faults, messages, interactions and their outputs. Writes of the
    session's pages take numbers of the same sequence, and appear only in the session's events.
    """
    request = api_request.request
    if media == "inline":
        body, next_cursor = await history.list_inline(
            api_request.project_id, session_id, cursor=cursor, after_seq=after, limit=limit
        )
        return build_response_with_memory(
            lambda: build_rendered_response(request, body, build_next_link(request, next_cursor)),
            body.memory,
        )
    page = await history.list(
        api_request.project_id, session_id, cursor=cursor, after_seq=after, limit=limit
    )
    return build_response_with_memory(
        lambda: build_list_body_response(
            request, page.body, page.next_cursor, etag=make_strong_etag(page.digest)
        ),
        page.memory,
    )


@router.post(
    "",
    response_model=HistoryMessage,
    status_code=201,
    openapi_extra=describe_json_body(HistoryMessageDraft),
    responses={
        200: {"model": HistoryMessage, "description": "The same message, appended before."},
        **describe_errors(NotFoundError, ConflictError, *BODY_ERRORS),
    },
)
async def append_message(
    api_request: ApiRequestDep,
    messages: SessionMessagesDep,
    session_id: SessionIdPath,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Response:
    """Append a message as an SDK, a framework or a provider writes it, in any of the dialects.

    All members are stored. If a message has only `role`, `content`, `name`, `tool_calls` and
    `tool_call_id`, its entry has these members. Otherwise the entry has the whole message in
    `message`, and its `dialect` and `role`. Media of 1,024 bytes or more are moved to the resources
    and replaced by `@blob:` references. A tool call has one result: if the same message with
    results is sent again, the stored message is returned with 200.
    """
    appended = await messages.append(
        api_request.project_id,
        session_id,
        api_request.stream_json(),
        idempotency_key=idempotency_key,
    )
    entry = appended.message
    return build_written_response(
        api_request.request,
        encode_appended_message(entry, appended.warnings),
        path=f"/api/sessions/{session_id}/messages/{entry.seq}",
        is_new=appended.is_new,
        etag=make_strong_etag(hashlib.sha256(encode_history_entry(entry)).hexdigest()),
    )


@router.get(
    "/{seq}", response_model=HistoryEntry, responses=describe_read_responses(*RECORD_ERRORS)
)
async def get_message(
    api_request: ApiRequestDep,
    history: HistoryDep,
    session_id: SessionIdPath,
    seq: Annotated[int, Path(ge=1, le=LARGEST_SEQ)],
    media: HistoryMediaQuery = "reference",
) -> Response:
    """Read one entry of a session's history, of any kind, by its number."""
    if media == "inline":
        body = await history.inline_entry(api_request.project_id, session_id, seq)
        return build_response_with_memory(
            lambda: build_rendered_response(api_request.request, body), body.memory
        )
    entry, memory = await history.entry(api_request.project_id, session_id, seq)
    return build_response_with_memory(
        lambda: build_record_response(api_request.request, encode_history_entry(entry)), memory
    )
