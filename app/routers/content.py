"""`/api/resources/{uri}/content`: the bytes, to callers with a key or a signed link."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.routing import APIRoute

from app.errors import (
    ForbiddenLinkError,
    InvalidPayloadError,
    NotFoundError,
    RangeNotSatisfiableError,
)
from app.http.api_route import ApiRoute
from app.http.authenticate import authenticate
from app.http.content_headers import Disposition, ResourcePolicy
from app.http.content_response import ContentToSend, content_response
from app.http.dependencies import container_of
from app.http.openapi import BINARY
from app.http.parameters import FilenameQuery, Parameters, UriPath
from app.http.record_responses import read_responses
from app.models.identity import utc_now
from app.models.resource import parse_resource_id

router = APIRouter(prefix="/api/resources", tags=["resources"], route_class=ApiRoute)

_REFUSALS = read_responses(
    ForbiddenLinkError, NotFoundError, RangeNotSatisfiableError, InvalidPayloadError
)


@dataclass(frozen=True, slots=True)
class _Asked(Parameters):
    uri: UriPath
    token: Annotated[str | None, Query(max_length=2_048, description="Of a signed URL.")] = None
    download: Annotated[bool, Query(description="Send it as an attachment.")] = False
    filename: FilenameQuery = None


@dataclass(frozen=True, slots=True)
class _Grant:
    """Whose content may be read, and how it is to be presented."""

    project_id: str
    disposition: Disposition
    filename: str | None
    resource_policy: ResourcePolicy
    """Who may embed it."""


async def _grant(request: Request, asked: _Asked) -> _Grant:
    """What the caller may read: by a signed link's token, else by its key."""
    container = container_of(request)
    if asked.token is None:
        return _Grant(
            await authenticate(request),
            "attachment" if asked.download else "inline",
            asked.filename,
            container.cross_origin_resource_policy,
        )
    grant = container.links.verify(asked.token, parse_resource_id(asked.uri) or "", utc_now())
    is_attachment = asked.download or grant.disposition == "attachment"
    return _Grant(
        grant.project_id,
        "attachment" if is_attachment else "inline",
        grant.filename,
        container.link_resource_policy,
    )


# HEAD is a route of its own: on one route with GET, both would carry one operation id.
@router.get(
    "/{uri}/content",
    name="get_resource_content",
    dependencies=_Asked.documented(),
    response_class=Response,
    responses={
        200: {"description": "The whole content.", "content": BINARY},
        206: {"description": "The asked ranges.", "content": BINARY},
        307: {"description": "Where the content is, if the store, or another host, sends it."},
        **_REFUSALS,
    },
)
@router.head(
    "/{uri}/content",
    name="head_resource_content",
    dependencies=_Asked.documented(),
    response_class=Response,
    responses={
        200: {"description": "The headers of the whole content."},
        307: {"description": "Where they are, if another host sends the content."},
        **_REFUSALS,
    },
)
async def get_resource_content(request: Request) -> Response:
    """Read the bytes: whole, in ranges, or only if they changed (RFC 9110)."""
    asked = _Asked.of(request)
    grant = await _grant(request, asked)
    container = container_of(request)
    resource = await container.resources.get(grant.project_id, asked.uri)
    content = ContentToSend(
        digest=resource.digest,
        size_bytes=resource.size_bytes,
        mime_type=resource.mime_type,
        filename=grant.filename or resource.filename,
        disposition=grant.disposition,
        created_at=resource.created_at,
    )
    source = container.content_sources.of(grant.project_id, resource.digest)
    return content_response(
        request.headers,
        request.method,
        content,
        open_range=source.open,
        ways=source,
        resource_policy=grant.resource_policy,
    )


CONTENT_ROUTE = next(route for route in router.routes if isinstance(route, APIRoute))
"""The route that links lead to, for `app.http.content_host`."""
