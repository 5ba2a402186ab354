"""`/v1/responses`: the routes of the Responses API that need no model."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Response

from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.problem_types import BODY_ERRORS, describe_errors
from app.services.agents.compactions import Compactions
from app.wire.responses import Compaction, InputTokenCount, ResponsesRequest
from app.wire.shape import Shape
from pagefault_dialects.json.numbers import LARGEST_COUNT

router = APIRouter(prefix="/v1/responses", tags=["responses"], route_class=ApiRoute)

CompactionsDep = Annotated[Compactions, Depends(service(Compactions))]
MaxTokensHeader = Annotated[
    int | None,
    Header(
        alias="pagefault-max-tokens",
        ge=1,
        le=LARGEST_COUNT,
        description="The maximal number of tokens to which the item is expanded.",
    ),
]


@router.post(
    "/compact",
    response_model=Compaction,
    openapi_extra=describe_json_body(ResponsesRequest),
    responses=describe_errors(*BODY_ERRORS),
)
async def compact_response(
    api_request: ApiRequestDep, compactions: CompactionsDep, max_tokens: MaxTokensHeader = None
) -> Response:
    """Store a conversation, and return its user messages and a compaction item instead of it.

    The item has a signed handle of the stored session, which is valid for 30 days in its project.
    The two routes `/v1/responses/…` and `PUT /api/sessions/{session_id}/history` expand the item.
    """
    body = api_request.stream_json(api_request.limits.history_bytes)
    return _build_shape_response(
        await compactions.compact(api_request.project_id, body, max_tokens)
    )


@router.post(
    "/input_tokens",
    response_model=InputTokenCount,
    openapi_extra=describe_json_body(ResponsesRequest),
    responses=describe_errors(*BODY_ERRORS),
)
async def count_input_tokens(api_request: ApiRequestDep, compactions: CompactionsDep) -> Response:
    """Estimate the tokens of a request. Nothing is stored."""
    body = api_request.stream_json(api_request.limits.history_bytes)
    return _build_shape_response(await compactions.count(api_request.project_id, body))


def _build_shape_response(shape: Shape) -> Response:
    return Response(shape.encode(), media_type="application/json")
