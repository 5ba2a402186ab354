"""`/api/resources`: uploads, descriptors and signed links of resources."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Response

from app.errors import (
    ConflictError,
    InvalidCursorError,
    MalformedRequestError,
    NotFoundError,
)
from app.http.api_route import ApiRoute
from app.http.calls import CallDep
from app.http.content_headers import parse_repr_digest
from app.http.dependencies import service
from app.http.form_files import form_file
from app.http.openapi_operations import (
    file_body,
    json_body,
)
from app.http.parameters import CursorQuery, FilenameQuery, LimitQuery, UriPath
from app.http.problem_types import BODY_ERRORS, problem_responses, read_responses
from app.http.record_responses import (
    answer_page,
    answer_record,
    answer_written,
)
from app.models.identity import utc_now
from app.services.access.callers import LinkGrant, LinkSigner, link_expiry
from app.services.access.published_content import PublishedContent
from app.services.resources.resources import Resources, Upload
from app.wire.resources import (
    ResourcePage,
    ResourceRecord,
    SignedUrl,
    SignedUrlRequest,
    resource_record,
)
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.media.file_names import disposition_filename

router = APIRouter(prefix="/api/resources", tags=["resources"], route_class=ApiRoute)

ResourcesDep = Annotated[Resources, Depends(service(Resources))]
PublishedContentDep = Annotated[PublishedContent, Depends(service(PublishedContent))]
LinkSignerDep = Annotated[LinkSigner, Depends(service(LinkSigner))]

# The type that curl sends with any `--data-binary` is independent of the file.
_NO_CLAIM = "application/x-www-form-urlencoded"

AliasQuery = Annotated[
    str | None,
    Query(description="What another system calls the file; see `PUT /api/aliases/{alias}`."),
]


@router.post(
    "",
    response_model=ResourceRecord,
    status_code=201,
    openapi_extra=file_body(),
    responses={
        200: {"model": ResourceRecord, "description": "The same file, kept before."},
        **problem_responses(ConflictError, *BODY_ERRORS),
    },
)
async def create_resource(
    call: CallDep,
    resources: ResourcesDep,
    filename: FilenameQuery = None,
    alias: AliasQuery = None,
    repr_digest: Annotated[
        str | None, Header(description="RFC 9530: `sha-256=:…:`, verified.")
    ] = None,
) -> Response:
    """Store a file: a raw body, or the one file of a multipart form. It is streamed to the store.

    The type is detected from the bytes. The same file again returns the same resource, with 200.
    With `alias` the resource gets that name as well. If another resource has it, nothing is stored.
    """
    chunks = call.body()
    named = filename or disposition_filename(call.request.headers.get("content-disposition", ""))
    digest = None
    if repr_digest:
        digest = parse_repr_digest(", ".join(call.request.headers.getlist("repr-digest")))
        if digest is None:
            # One that cannot be verified is refused rather than ignored.
            raise MalformedRequestError("Repr-Digest is verified for sha-256: send `sha-256=:…:`.")
    content_type = call.request.headers.get("content-type", "")
    upload = Upload(None if content_type == _NO_CLAIM else content_type, named, digest, alias)
    if content_type.lower().startswith("multipart/form-data"):
        file = await form_file(content_type, chunks)
        upload = Upload(file.mime_type, filename or file.filename, digest, alias)
        chunks = file.chunks
    uploaded, is_new = await resources.upload(call.project_id, upload, chunks)
    return answer_written(
        call.request,
        resource_record(uploaded),
        path=f"/api/resources/{uploaded.resource_id}",
        is_new=is_new,
    )


@router.get(
    "",
    response_model=ResourcePage,
    responses=read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_resources(
    call: CallDep, resources: ResourcesDep, limit: LimitQuery = 50, cursor: CursorQuery = None
) -> Response:
    """List resources, newest first."""
    page, next_cursor = await resources.list(call.project_id, cursor=cursor, limit=limit)
    return answer_page(call.request, map(resource_record, page), next_cursor)


@router.get("/{uri}", response_model=ResourceRecord, responses=read_responses(NotFoundError))
@router.head(
    "/{uri}", name="head_resource", response_class=Response, responses=read_responses(NotFoundError)
)
async def get_resource(call: CallDep, resources: ResourcesDep, uri: UriPath) -> Response:
    """Read a descriptor."""
    resource = await resources.get(call.project_id, uri)
    return answer_record(call.request, resource_record(resource))


@router.delete("/{uri}", status_code=204, responses=problem_responses(NotFoundError, ConflictError))
async def delete_resource(call: CallDep, resources: ResourcesDep, uri: UriPath) -> None:
    """Delete a resource without references; a 409 lists the records that refer to it."""
    await resources.delete(call.project_id, uri)


@router.post(
    "/{uri}/signed-url",
    openapi_extra=json_body(SignedUrlRequest, required=False),
    responses=problem_responses(NotFoundError, *BODY_ERRORS),
)
async def create_signed_url(
    call: CallDep,
    resources: ResourcesDep,
    published: PublishedContentDep,
    signer: LinkSignerDep,
    uri: UriPath,
) -> SignedUrl:
    """Create a link that needs no key and expires soon, for `<img>`, `<video>` and the like."""
    link_request = await call.model(SignedUrlRequest)
    resource = await resources.get(call.project_id, uri)
    expires_at = link_expiry(utc_now(), link_request.expires_in_seconds)
    grant = LinkGrant(
        call.project_id,
        resource.resource_id,
        link_request.disposition,
        link_request.filename,
        expires_at,
    )
    url = published.content_base_url + signer.content_path(grant)
    return SignedUrl(url=url, expires_at=expires_at)
