"""`/api/resources/{uri}/content`: the bytes, to callers with a key or a signed link."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from app.deps import AccessDep, BearerDep, ContainerDep, LinksDep, ResourcesDep
from app.errors import (
    ForbiddenLinkError,
    InvalidPayloadError,
    NotFoundError,
    RangeNotSatisfiableError,
)
from app.models.identity import utc_now
from app.models.resource import parse_resource_id
from app.routers.answers import read_responses
from app.routers.content_headers import Disposition
from app.routers.content_response import ContentToSend, content_response
from app.routers.openapi import BINARY
from app.routers.resources import FilenameQuery, UriPath

router = APIRouter(prefix="/api/resources", tags=["resources"])

_REFUSALS = read_responses(
    ForbiddenLinkError, NotFoundError, RangeNotSatisfiableError, InvalidPayloadError
)


@dataclass(frozen=True, slots=True)
class ContentGrant:
    """Whose content may be read, and how it is to be presented."""

    project_id: str
    disposition: Disposition
    filename: str | None


async def get_content_grant(
    request: Request,
    uri: UriPath,
    access: AccessDep,
    links: LinksDep,
    _: BearerDep,
    token: Annotated[str | None, Query(max_length=2_048, description="Of a signed URL.")] = None,
    download: Annotated[bool, Query(description="Send it as an attachment.")] = False,
    filename: FilenameQuery = None,
) -> ContentGrant:
    """What the caller may read: by a signed link's token, else by its key."""
    if token is None:
        project_id = await access.project_of(request.headers.get("authorization"))
        return ContentGrant(project_id, "attachment" if download else "inline", filename)
    grant = links.verify(token, parse_resource_id(uri) or "", utc_now())
    is_attachment = download or grant.disposition == "attachment"
    return ContentGrant(
        grant.project_id, "attachment" if is_attachment else "inline", grant.filename
    )


# HEAD is a route of its own: on one route with GET, both would carry one operation id.
@router.get(
    "/{uri}/content",
    name="get_resource_content",
    response_class=Response,
    responses={
        200: {"description": "The whole content.", "content": BINARY},
        206: {"description": "The asked ranges.", "content": BINARY},
        **_REFUSALS,
    },
)
@router.head(
    "/{uri}/content",
    name="head_resource_content",
    response_class=Response,
    responses={200: {"description": "The headers of the whole content."}, **_REFUSALS},
)
async def get_resource_content(
    request: Request,
    container: ContainerDep,
    uri: UriPath,
    grant: Annotated[ContentGrant, Depends(get_content_grant)],
    resources: ResourcesDep,
) -> Response:
    """Read the bytes: whole, in ranges, or only if they changed (RFC 9110)."""
    resource = await resources.get(grant.project_id, uri)
    content = ContentToSend(
        digest=resource.digest,
        size_bytes=resource.size_bytes,
        mime_type=resource.mime_type,
        filename=grant.filename or resource.filename,
        disposition=grant.disposition,
        created_at=resource.created_at,
    )
    return content_response(
        request.headers,
        request.method,
        content,
        open_range=partial(resources.open, grant.project_id, resource.digest),
        resource_policy=container.cross_origin_resource_policy,
    )
