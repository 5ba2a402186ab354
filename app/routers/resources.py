"""`/api/resources`: files in, descriptors and signed links out."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from app.errors import (
    ConflictError,
    InvalidCursorError,
    InvalidPayloadError,
    MalformedRequestError,
    NotFoundError,
    PayloadTooLargeError,
    SlowBodyError,
    UnsupportedMediaError,
)
from app.http.api_route import ApiRoute
from app.http.authenticate import ProjectDep, authenticate
from app.http.bodies import form_file, limited_body, read_model
from app.http.content_headers import parse_repr_digest
from app.http.dependencies import ContainerDep, LinksDep, ResourcesDep, container_of
from app.http.openapi import file_body, json_body
from app.http.parameters import (
    AliasQuery,
    CursorQuery,
    FilenameQuery,
    LimitQuery,
    Parameters,
    UriPath,
)
from app.http.problem_types import problem_responses
from app.http.record_responses import answer_page, answer_record, answer_written, read_responses
from app.models.identity import utc_now
from app.rendering.names.content_disposition import disposition_filename
from app.services.access.signed_links import LinkGrant, link_expiry
from app.services.resources.resources import Upload
from app.wire.links import SignedUrl, SignedUrlRequest
from app.wire.resources import ResourcePage, ResourceRecord, resource_record

router = APIRouter(prefix="/api/resources", tags=["resources"], route_class=ApiRoute)

# What curl puts on any `--data-binary` says nothing about the file.
_NO_CLAIM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class _Named(Parameters):
    uri: UriPath


@router.post(
    "",
    status_code=201,
    response_model=ResourceRecord,
    openapi_extra=file_body(),
    responses={
        200: {"model": ResourceRecord, "description": "The same file, kept before."},
        **problem_responses(
            MalformedRequestError,
            SlowBodyError,
            ConflictError,
            PayloadTooLargeError,
            UnsupportedMediaError,
            InvalidPayloadError,
        ),
    },
)
async def create_resource(
    request: Request,
    container: ContainerDep,
    project_id: ProjectDep,
    resources: ResourcesDep,
    filename: FilenameQuery = None,
    alias: AliasQuery = None,
    repr_digest: Annotated[
        str | None, Header(description="RFC 9530: `sha-256=:…:`, verified.")
    ] = None,
) -> Response:
    """Keep a file: a raw body, or the one file of a multipart form. It is streamed to the store.

    The bytes decide the type. The same file again is the same resource, with 200. With `alias` the
    resource gets that name as well; if it is another resource's, nothing is stored.
    """
    chunks = limited_body(request, container.limits)
    named = filename or disposition_filename(request.headers.get("content-disposition", ""))
    digest = _announced_digest(request) if repr_digest else None
    content_type = request.headers.get("content-type", "")
    upload = Upload(None if content_type == _NO_CLAIM else content_type, named, digest, alias)
    if content_type.lower().startswith("multipart/form-data"):
        file = await form_file(content_type, chunks)
        upload = Upload(file.mime_type, filename or file.filename, digest, alias)
        chunks = file.chunks
    uploaded = await resources.upload(project_id, upload, chunks)
    return answer_written(
        request,
        resource_record(uploaded.resource),
        path=f"/api/resources/{uploaded.resource.resource_id}",
        is_new=uploaded.is_new,
    )


def _announced_digest(request: Request) -> str:
    """The digest to verify; one that cannot be verified is refused rather than ignored."""
    digest = parse_repr_digest(", ".join(request.headers.getlist("repr-digest")))
    if digest is None:
        raise MalformedRequestError("Repr-Digest is verified for sha-256: send `sha-256=:…:`.")
    return digest


@router.get(
    "",
    response_model=ResourcePage,
    responses=read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_resources(
    request: Request,
    project_id: ProjectDep,
    resources: ResourcesDep,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List resources, newest first."""
    page, next_cursor = await resources.page(project_id, cursor=cursor, limit=limit)
    return answer_page(request, map(resource_record, page), next_cursor)


# HEAD is a route of its own: on one route with GET, both would carry one operation id.
@router.get(
    "/{uri}",
    name="get_resource",
    dependencies=_Named.documented(),
    response_model=ResourceRecord,
    responses=read_responses(NotFoundError),
)
@router.head(
    "/{uri}",
    name="head_resource",
    dependencies=_Named.documented(),
    response_class=Response,
    responses=read_responses(NotFoundError),
)
async def get_resource(request: Request) -> Response:
    """Read a descriptor."""
    project_id = await authenticate(request)
    resource = await container_of(request).resources.get(project_id, _Named.of(request).uri)
    return answer_record(request, resource_record(resource))


@router.delete("/{uri}", status_code=204, responses=problem_responses(NotFoundError, ConflictError))
async def delete_resource(uri: UriPath, project_id: ProjectDep, resources: ResourcesDep) -> None:
    """Remove a resource that nothing refers to; a 409 names what does."""
    await resources.delete(project_id, uri)


@router.post(
    "/{uri}/signed-url",
    openapi_extra=json_body(SignedUrlRequest, required=False),
    responses=problem_responses(
        MalformedRequestError,
        NotFoundError,
        SlowBodyError,
        PayloadTooLargeError,
        UnsupportedMediaError,
        InvalidPayloadError,
    ),
)
async def create_signed_url(
    request: Request,
    container: ContainerDep,
    uri: UriPath,
    project_id: ProjectDep,
    resources: ResourcesDep,
    links: LinksDep,
) -> SignedUrl:
    """Make a link that needs no key and soon expires, for `<img>`, `<video>` and the like."""
    wish = await read_model(request, container.limits, SignedUrlRequest)
    resource = await resources.get(project_id, uri)
    expires_at = link_expiry(utc_now(), wish.expires_in_seconds)
    grant = LinkGrant(project_id, resource.resource_id, wish.disposition, wish.filename, expires_at)
    url = container.content_base_url + links.content_path(grant)
    return SignedUrl(url=url, expires_at=expires_at)
