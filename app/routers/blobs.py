"""`/api/blobs`: stored bytes, addressed by their SHA-256."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from app.errors import NotFoundError, RangeNotSatisfiableError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.content_response import build_content_response, build_resource_content
from app.http.dependencies import service
from app.http.openapi_operations import (
    CONTENT_HEADERS,
    CONTENT_REQUEST_HEADERS,
    FILE_RESPONSE,
    RANGE_REQUEST_HEADERS,
    RANGES_RESPONSE,
)
from app.http.parameters import FilenameQuery
from app.http.problem_types import describe_read_responses
from app.services.access.published_content import PublishedContent
from app.services.resources.content_sources import ContentSources
from app.services.resources.resources import Resources

router = APIRouter(prefix="/api/blobs", tags=["resources"], route_class=ApiRoute)

_ADDRESS = re.compile(r"sha256-([0-9a-f]{64})\Z")
_ADDRESS_SYNTAX = (
    "The address of a blob is `sha256-` and the SHA-256 of its bytes as 64 lower-case hex digits."
)

AddressPath = Annotated[
    str, Path(description="`sha256-` and the SHA-256 of the bytes, 64 lower-case hex digits.")
]


@router.get(
    "/{address}",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_REQUEST_HEADERS, *RANGE_REQUEST_HEADERS]},
    responses={
        200: {"description": "All bytes.", **FILE_RESPONSE},
        206: RANGES_RESPONSE,
        307: {"description": "The address of the bytes, if the store sends them."},
        **describe_read_responses(NotFoundError, RangeNotSatisfiableError),
    },
)
@router.head(
    "/{address}",
    name="head_blob",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_REQUEST_HEADERS]},
    responses={
        200: {"description": "The headers of all bytes.", "headers": CONTENT_HEADERS},
        **describe_read_responses(NotFoundError),
    },
)
async def get_blob(
    api_request: ApiRequestDep,
    resources: Annotated[Resources, Depends(service(Resources))],
    sources: Annotated[ContentSources, Depends(service(ContentSources))],
    published: Annotated[PublishedContent, Depends(service(PublishedContent))],
    address: AddressPath,
    download: Annotated[bool, Query(description="Send the bytes as an attachment.")] = False,
    filename: FilenameQuery = None,
) -> Response:
    """Read the bytes with this digest.

    The type and the file name are those of the project's first resource with these bytes. If the
    project has no such resource, the response is a 404. A client can compute the address before the
    upload.
    """
    match = _ADDRESS.match(address)
    if match is None:
        raise NotFoundError("blob", detail=_ADDRESS_SYNTAX)
    resource = await resources.get_by_digest(api_request.project_id, match[1])
    source = sources.make_source(api_request.project_id, resource.digest)
    return build_content_response(
        api_request.request.headers,
        api_request.request.method,
        build_resource_content(resource, "attachment" if download else "inline", filename),
        open_range=source.open,
        source=source,
        resource_policy=published.resource_policy,
    )
