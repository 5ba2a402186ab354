"""`/api/sessions/{session_id}/interactions`: user turns with files, and the agent's outputs."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from app.errors import (
    ConflictError,
    InvalidCursorError,
    MissingAttachmentError,
    NotFoundError,
    PreconditionFailedError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import (
    CursorQuery,
    IdempotencyKeyHeader,
    IfMatchHeader,
    LimitQuery,
    SessionIdPath,
)
from app.http.problem_types import BODY_ERRORS, describe_errors, describe_read_responses
from app.http.record_responses import (
    build_list_response,
    build_record_response,
    build_written_response,
)
from app.models.interaction import ChatMessage
from app.models.stored_interaction import InputKind
from app.services.sessions.interaction_requests import InteractionDraft
from app.services.sessions.interactions import Interactions, InteractionWithAttachments
from app.wire.interactions import InteractionPage, InteractionRecord, encode_interaction
from pagefault_dialects.errors import InvalidPayloadError

router = APIRouter(
    prefix="/api/sessions/{session_id}/interactions", tags=["interactions"], route_class=ApiRoute
)

InteractionsDep = Annotated[Interactions, Depends(service(Interactions))]

AttachmentsQuery = Annotated[
    Literal["known", "any"],
    Query(description="`any` accepts attachments with unknown ids, and marks them."),
]


@router.post(
    "",
    response_model=InteractionRecord,
    status_code=201,
    openapi_extra=describe_json_body(InteractionDraft),
    responses={
        200: {"model": InteractionRecord, "description": "The same request was stored before."},
        **describe_errors(NotFoundError, ConflictError, MissingAttachmentError, *BODY_ERRORS),
    },
)
async def create_interaction(
    api_request: ApiRequestDep,
    interactions: InteractionsDep,
    session_id: SessionIdPath,
    attachments: AttachmentsQuery = "known",
    idempotency_key: IdempotencyKeyHeader = None,
) -> Response:
    """Append a user's turn: text, a `MultiModalInput`, or a legacy object, which is not changed.

    An attachment names a resource of the project by its URI, bare id or alias, and stays bound to
    this resource. If resources are missing, the error lists all of them. With `attachments=any`
    such attachments are accepted, and their `status` is `unknown`. If the body has `input_kind`, an
    input of another kind is an error.
    """
    created = await interactions.create(
        api_request.project_id,
        session_id,
        api_request.stream_json(),
        idempotency_key=idempotency_key,
        accepts_unknown=attachments == "any",
    )
    stored = created.interaction
    return build_written_response(
        api_request.request,
        _encode_record(created),
        path=f"/api/sessions/{session_id}/interactions/{stored.interaction_id}",
        is_new=created.is_new,
    )


@router.get(
    "",
    response_model=InteractionPage,
    responses=describe_read_responses(InvalidCursorError, NotFoundError, InvalidPayloadError),
)
async def list_interactions(
    api_request: ApiRequestDep,
    interactions: InteractionsDep,
    session_id: SessionIdPath,
    input_kind: Annotated[
        InputKind | None, Query(description="Only interactions with an input of this kind.")
    ] = None,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List the interactions of a session in the order of `seq`, with their outputs."""
    listed, next_cursor = await interactions.list(
        api_request.project_id, session_id, input_kind=input_kind, cursor=cursor, limit=limit
    )
    return build_list_response(api_request.request, map(_encode_record, listed), next_cursor)


@router.get(
    "/{interaction_id}",
    response_model=InteractionRecord,
    responses=describe_read_responses(NotFoundError, InvalidPayloadError),
)
async def get_interaction(
    api_request: ApiRequestDep,
    interactions: InteractionsDep,
    session_id: SessionIdPath,
    interaction_id: str,
) -> Response:
    """Read an interaction, with its output if it has one."""
    return build_record_response(
        api_request.request,
        _encode_record(await interactions.get(api_request.project_id, session_id, interaction_id)),
    )


@router.put(
    "/{interaction_id}/output",
    response_model=InteractionRecord,
    openapi_extra=describe_json_body(ChatMessage),
    responses=describe_errors(NotFoundError, ConflictError, PreconditionFailedError, *BODY_ERRORS),
)
async def set_interaction_output(
    api_request: ApiRequestDep,
    interactions: InteractionsDep,
    session_id: SessionIdPath,
    interaction_id: str,
    if_match: IfMatchHeader = None,
) -> Response:
    """Set the output of an interaction. The same output again changes nothing, another is a 409.

    The output is a separate entry of the session's history.
    """
    updated = await interactions.set_output(
        api_request.project_id,
        session_id,
        interaction_id,
        api_request.stream_json(),
        condition=api_request.make_write_check(),
    )
    path = f"/api/sessions/{session_id}/interactions/{interaction_id}"
    return build_written_response(
        api_request.request, _encode_record(updated), path=path, is_new=False
    )


def _encode_record(attached: InteractionWithAttachments) -> bytes:
    return encode_interaction(attached.interaction, attached.attachments)
