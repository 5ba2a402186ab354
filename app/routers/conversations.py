"""`/api/sessions/{session_id}/history`: append the new entries of a whole conversation."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from app.errors import ConflictError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import SessionIdPath
from app.http.problem_types import BODY_ERRORS, describe_errors
from app.http.render_queries import SessionOptionsQuery, SinceQuery
from app.http.rendered_responses import build_rendered_response
from app.services.agents.conversation_puts import ConversationPuts, ConversationQuery
from app.services.agents.conversation_units import join_lines
from app.services.renders.queries import RenderQuery
from app.wire.agents import Conversation, HistoryReceipt
from app.wire.renders import Target
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import ClientId, Count

router = APIRouter(
    prefix="/api/sessions/{session_id}/history", tags=["sessions"], route_class=ApiRoute
)

ConversationPutsDep = Annotated[ConversationPuts, Depends(service(ConversationPuts))]
_JSON_LINES_TYPES = frozenset(
    {"application/x-ndjson", "application/jsonl", "application/x-jsonlines"}
)


@router.put(
    "",
    response_model=HistoryReceipt,
    openapi_extra=describe_json_body(Conversation),
    responses=describe_errors(ConflictError, *BODY_ERRORS),
)
async def put_history(  # noqa: PLR0913, PLR0917 - the parameters of the query
    api_request: ApiRequestDep,
    puts: ConversationPutsDep,
    session_id: SessionIdPath,
    query: Annotated[SessionOptionsQuery, Query()],
    render: Annotated[
        Target | None, Query(description="Render the session for this target afterwards.")
    ] = None,
    since: SinceQuery = 0,
    on_divergence: Annotated[
        Literal["refuse", "fork"],
        Query(
            alias="onDivergence",
            description="If the session and the conversation differ: `refuse` with a 409, or "
            "`fork` the session after the last equal entry.",
        ),
    ] = "refuse",
    fork_id: Annotated[
        ClientId | None, Query(alias="as", description="The id of the fork, if there is one.")
    ] = None,
    expected_seq: Annotated[
        Count | None,
        Query(
            alias="expectedSeq",
            description="The last `seq` that the client has; if the session has another, a 409.",
        ),
    ] = None,
) -> Response:
    """Append the entries of this conversation that the session does not have yet.

    The body is a request to any provider, a list of messages, a response, or a transcript, whose
    lines may be sent as `application/x-ndjson`. Its messages are compared with the stored messages,
    without ids, times, usage and cache markers. New messages are appended in one transaction. Later
    renderings use the newest system prompt, tools and model. The same body again appends nothing.
    """
    if (on_divergence == "fork") != (fork_id is not None):
        raise InvalidPayloadError(
            "A fork needs an id: send `onDivergence=fork&as=NEWID`.",
            faults=[Fault("/query/as", "belongs to `onDivergence=fork`")],
        )
    rendering = RenderQuery(render, query.options()) if render else None
    content_type = (
        api_request.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    )
    is_json_lines = content_type in _JSON_LINES_TYPES
    body = await puts.put(
        api_request.project_id,
        session_id,
        join_lines(api_request.stream_body()) if is_json_lines else api_request.stream_json(),
        ConversationQuery(expected_seq, fork_id, rendering, since),
    )
    return build_rendered_response(api_request.request, body)
