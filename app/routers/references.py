"""`/api/resolve`: content in the place of references, for the arguments of the next tool call."""

from fastapi import Response

from app.errors import NotFoundError
from app.http.api_router import ApiRouter
from app.http.calls import CallDep
from app.http.record_responses import rendered_response
from app.models.limits import Limits
from app.services.resources.references import ReferenceResolver, ResolveRequest
from app.wire.resources import ResolvedArguments

router = ApiRouter("/api", "references")


@router.writes("POST", "/resolve", ResolvedArguments, NotFoundError, body=ResolveRequest)
async def resolve_references(call: CallDep) -> Response:
    """Replace `@blob:` references anywhere in a JSON value by what they stand for.

    Only resources of the named session are given out; other references stay as they are, and
    `unresolved` says why. Nothing is written.
    """
    limits = call.services[Limits]
    arguments = call.json_body(min(limits.body_bytes, limits.message_bytes))
    body = await call.services[ReferenceResolver].resolve(call.project_id, arguments)
    return rendered_response(call.request, body)
