"""`/api/resolve`: replace references in the arguments of a tool call by their content."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.errors import NotFoundError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.problem_types import BODY_ERRORS, describe_errors
from app.http.rendered_responses import build_rendered_response
from app.services.agents.references import ReferenceResolver, ResolveRequest
from app.wire.resources import ResolvedArguments

router = APIRouter(prefix="/api", tags=["references"], route_class=ApiRoute)

ReferenceResolverDep = Annotated[ReferenceResolver, Depends(service(ReferenceResolver))]


@router.post(
    "/resolve",
    response_model=ResolvedArguments,
    openapi_extra=describe_json_body(ResolveRequest),
    responses=describe_errors(NotFoundError, *BODY_ERRORS),
)
async def resolve_references(
    api_request: ApiRequestDep, references: ReferenceResolverDep
) -> Response:
    """Replace references anywhere in a JSON value by their content.

    A reference is an `@blob:`, an `@entry:` or an `@entries:`. Only resources and entries of the
    given session are inserted. Other references stay unchanged, and `unresolved` has the reasons.
    Nothing is written.
    """
    limits = api_request.limits
    arguments = api_request.stream_json(min(limits.body_bytes, limits.message_bytes))
    body = await references.resolve(api_request.project_id, arguments)
    return build_rendered_response(api_request.request, body)
