"""`/api/resolve`: content in the place of references, for the arguments of the next tool call."""

from fastapi import APIRouter, Request, Response

from app.errors import (
    InvalidPayloadError,
    MalformedRequestError,
    NotFoundError,
    PayloadTooLargeError,
    SlowBodyError,
    UnsupportedMediaError,
)
from app.http.api_route import ApiRoute
from app.http.authenticate import ProjectDep
from app.http.bodies import limited_body, require_json
from app.http.dependencies import ContainerDep, ReferencesDep
from app.http.openapi import json_body
from app.http.problem_types import problem_responses
from app.http.record_responses import rendered_response
from app.services.resources.reference_requests import ResolveRequest
from app.wire.references import ResolvedArguments

router = APIRouter(prefix="/api", tags=["references"], route_class=ApiRoute)


@router.post(
    "/resolve",
    response_model=ResolvedArguments,
    openapi_extra=json_body(ResolveRequest),
    responses=problem_responses(
        MalformedRequestError,
        NotFoundError,
        SlowBodyError,
        PayloadTooLargeError,
        UnsupportedMediaError,
        InvalidPayloadError,
    ),
)
async def resolve_references(
    request: Request, container: ContainerDep, project_id: ProjectDep, references: ReferencesDep
) -> Response:
    """Replace `@blob:` references anywhere in a JSON value by what they stand for.

    Only resources of the named session are given out; other references stay as they are, and
    `unresolved` says why. Nothing is written.
    """
    require_json(request)
    limits = container.limits
    small = limits.model_copy(update={"body_bytes": min(limits.body_bytes, limits.message_bytes)})
    body = await references.resolve(project_id, limited_body(request, small))
    return rendered_response(request, body)
