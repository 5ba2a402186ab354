"""`/api/resolve`: content in the place of references, for the arguments of the next tool call."""

from fastapi import APIRouter, Response

from app.errors import NotFoundError
from app.http.api_route import ApiRoute
from app.http.calls import CallDep
from app.http.openapi import json_body
from app.http.parameters import WRITE_FAULTS
from app.http.problem_types import problem_responses
from app.http.record_responses import rendered_response
from app.services.resources.references import ResolveRequest
from app.wire.resources import ResolvedArguments

router = APIRouter(prefix="/api", tags=["references"], route_class=ApiRoute)


@router.post(
    "/resolve",
    response_model=ResolvedArguments,
    openapi_extra=json_body(ResolveRequest),
    responses=problem_responses(NotFoundError, *WRITE_FAULTS),
)
async def resolve_references(call: CallDep) -> Response:
    """Replace `@blob:` references anywhere in a JSON value by what they stand for.

    Only resources of the named session are given out; other references stay as they are, and
    `unresolved` says why. Nothing is written.
    """
    limits = call.container.limits
    arguments = call.json_body(min(limits.body_bytes, limits.message_bytes))
    body = await call.container.references.resolve(call.project_id, arguments)
    return rendered_response(call.request, body)
