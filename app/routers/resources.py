"""`/api/resources`: files in; descriptors, signed links, bytes, texts and posters out."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.routing import APIRoute

from app.errors import (
    ConflictError,
    ForbiddenLinkError,
    MalformedRequestError,
    NotFoundError,
    OverloadedError,
    RangeNotSatisfiableError,
    StoreUnavailableError,
    UnsupportedMediaError,
)
from app.http.api_router import WRITE_FAULTS, ApiRouter
from app.http.authenticate import authenticate
from app.http.calls import CallDep, call_of
from app.http.conditions import strong_etag
from app.http.content_headers import Disposition, parse_repr_digest
from app.http.content_response import ContentToSend, content_response
from app.http.dependencies import service, services_of
from app.http.form_files import form_file
from app.http.openapi_operations import (
    ANY_FILE,
    CONTENT_CONDITIONS,
    CONTENT_HEADERS,
    CONTENT_RANGES,
    JPEG,
    PLAIN_TEXT,
    RANGE_HEADERS,
    file_body,
    json_body,
)
from app.http.parameters import CursorQuery, LimitQuery, Parameters
from app.http.problem_types import problem_responses, read_responses
from app.http.record_responses import (
    answer_page,
    answer_record,
    answer_text,
    answer_unchanged,
    answer_written,
    wants_text,
)
from app.models.identity import utc_now
from app.services.access.callers import LinkGrant, LinkSigner, link_expiry
from app.services.access.published_content import PublishedContent
from app.services.images.posters import Posters
from app.services.resources.content_sources import ContentSources
from app.services.resources.resources import Resources, Upload
from app.services.resources.texts import ResourceTexts, TextQuery
from app.wire.resource_texts import TextPiece, text_record
from app.wire.resources import (
    ResourcePage,
    ResourceRecord,
    SignedUrl,
    SignedUrlRequest,
    resource_record,
)
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.media.file_names import disposition_filename
from pagefault_dialects.model.resource import Resource, parse_resource_id
from pagefault_dialects.text_windows import LineRange, parse_line_range
from pagefault_dialects.texts.excerpts import text_alone

router = ApiRouter("/api/resources", "resources")

ResourcesDep = Annotated[Resources, Depends(service(Resources))]
PublishedContentDep = Annotated[PublishedContent, Depends(service(PublishedContent))]
LinkSignerDep = Annotated[LinkSigner, Depends(service(LinkSigner))]
ResourceTextsDep = Annotated[ResourceTexts, Depends(service(ResourceTexts))]
PostersDep = Annotated[Posters, Depends(service(Posters))]
ContentSourcesDep = Annotated[ContentSources, Depends(service(ContentSources))]

# What curl puts on any `--data-binary` says nothing about the file.
_NO_CLAIM = "application/x-www-form-urlencoded"

UriPath = Annotated[
    str, Path(description="The `blob:` URI, percent-encoded, or its 32 hex digits alone.")
]
FilenameQuery = Annotated[str | None, Query(max_length=1_024)]
AliasQuery = Annotated[
    str | None,
    Query(description="What another system calls the file; see `PUT /api/aliases/{alias}`."),
]


@dataclass(frozen=True, slots=True)
class _ResourceParameters(Parameters):
    uri: UriPath


@router.writes(
    "POST",
    "",
    ResourceRecord,
    ConflictError,
    openapi_extra=file_body(),
    responses={200: "The same file, kept before."},
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
    """Keep a file: a raw body, or the one file of a multipart form. It is streamed to the store.

    The bytes decide the type. The same file again is the same resource, with 200. With `alias` the
    resource gets that name as well; if it is another resource's, nothing is stored.
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


@router.lists("", ResourcePage)
async def list_resources(
    call: CallDep, resources: ResourcesDep, limit: LimitQuery = 50, cursor: CursorQuery = None
) -> Response:
    """List resources, newest first."""
    page, next_cursor = await resources.list(call.project_id, cursor=cursor, limit=limit)
    return answer_page(call.request, map(resource_record, page), next_cursor)


@router.reads(
    "/{uri}", ResourceRecord, NotFoundError, parameters=_ResourceParameters, with_head=True
)
async def get_resource(request: Request) -> Response:
    """Read a descriptor."""
    call = await call_of(request)
    resource = await services_of(request)[Resources].get(
        call.project_id, _ResourceParameters.read(request).uri
    )
    return answer_record(request, resource_record(resource))


@router.removes("/{uri}", NotFoundError, ConflictError)
async def delete_resource(call: CallDep, resources: ResourcesDep, uri: UriPath) -> None:
    """Remove a resource that nothing refers to; a 409 names what does."""
    await resources.delete(call.project_id, uri)


@router.post(
    "/{uri}/signed-url",
    openapi_extra=json_body(SignedUrlRequest, required=False),
    responses=problem_responses(NotFoundError, *WRITE_FAULTS),
)
async def create_signed_url(
    call: CallDep,
    resources: ResourcesDep,
    published: PublishedContentDep,
    signer: LinkSignerDep,
    uri: UriPath,
) -> SignedUrl:
    """Make a link that needs no key and soon expires, for `<img>`, `<video>` and the like."""
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


@dataclass(frozen=True, slots=True)
class _ContentParameters(Parameters):
    uri: UriPath
    token: Annotated[str | None, Query(max_length=2_048, description="Of a signed URL.")] = None
    download: Annotated[bool, Query(description="Send it as an attachment.")] = False
    filename: FilenameQuery = None


@router.sends(
    "/{uri}/content",
    "whole content",
    ForbiddenLinkError,
    NotFoundError,
    RangeNotSatisfiableError,
    InvalidPayloadError,
    names=("get_resource_content", "head_resource_content"),
    parameters=_ContentParameters,
    offload_location=(
        "Where the content is, if the store, or another host, sends it.",
        "Where they are, if another host sends the content.",
    ),
)
async def get_resource_content(request: Request) -> Response:
    """Read the bytes: whole, in ranges, or only if they changed (RFC 9110)."""
    parameters = _ContentParameters.read(request)
    services = services_of(request)
    is_attachment = parameters.download
    # A link says by itself whose content may be read, and under which name.
    if parameters.token is None:
        project_id, filename = await authenticate(request), parameters.filename
        policy = services[PublishedContent].resource_policy
    else:
        grant = services[LinkSigner].verify(
            parameters.token, parse_resource_id(parameters.uri) or "", utc_now()
        )
        project_id, filename = grant.project_id, grant.filename
        policy = services[PublishedContent].link_resource_policy
        is_attachment |= grant.disposition == "attachment"
    resource = await services[Resources].get(project_id, parameters.uri)
    content = _content(
        resource, "attachment" if is_attachment else "inline", filename or resource.filename
    )
    source = services[ContentSources].of(project_id, resource.digest)
    return content_response(
        request.headers,
        request.method,
        content,
        open_range=source.open,
        source=source,
        resource_policy=policy,
    )


def _content(resource: Resource, disposition: Disposition, filename: str | None) -> ContentToSend:
    return ContentToSend(
        digest=resource.digest,
        size_bytes=resource.size_bytes,
        mime_type=resource.mime_type,
        filename=filename,
        disposition=disposition,
        created_at=resource.created_at,
    )


CONTENT_ROUTE = next(
    route
    for route in router.routes
    if isinstance(route, APIRoute) and route.name == "get_resource_content"
)
"""The route that links lead to, for `app.http.content_host`."""

_LINES = "`10-50`, `10-`, `10`, or `-50` for the last fifty; counted from 1, both included"


async def get_text_query(
    lines: Annotated[str | None, Query(max_length=64, description=f"{_LINES}.")] = None,
    grep: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            pattern=r"^[^\r\n]+$",
            description="Only lines that hold this text; it is no pattern.",
        ),
    ] = None,
    ignore_case: Annotated[
        bool, Query(alias="ignoreCase", description="Of `grep`: whether `A` is `a`.")
    ] = False,
    context: Annotated[
        int, Query(ge=0, le=10, description="Of `grep`: how many lines around each match.")
    ] = 0,
    pointer: Annotated[
        str | None,
        Query(max_length=4_000, description="A JSON pointer (RFC 6901); empty for the whole."),
    ] = None,
) -> TextQuery:
    """Return what is asked of a text."""
    if pointer is None:
        if grep is None and (ignore_case or context):
            raise _query_error("grep", "has to be there for `ignoreCase` and `context`")
        line_range = LineRange() if lines is None else parse_line_range(lines)
        if line_range is None:
            raise _query_error("lines", f"must be {_LINES}")
        return TextQuery(line_range, grep, ignore_case, context)
    if lines is not None or grep is not None or ignore_case or context:
        raise _query_error(
            "pointer", "stands alone: `lines` and `grep` are asked for apart from it"
        )
    if parse_json_pointer(pointer) is None:
        raise _query_error("pointer", "must be empty, or names that each begin with `/`")
    return TextQuery(pointer=pointer)


def _query_error(name: str, sentence: str) -> InvalidPayloadError:
    return InvalidPayloadError(
        "The text cannot be read like that; `errors` says why.",
        faults=[Fault(f"/query/{name}", sentence)],
    )


@router.get(
    "/{uri}/text",
    response_model=TextPiece,
    responses={
        200: {
            "content": PLAIN_TEXT,
            "description": "The piece; its text alone with `Accept: text/plain`.",
        },
        **read_responses(NotFoundError, InvalidPayloadError),
        **problem_responses(
            PayloadTooLargeError, UnsupportedMediaError, OverloadedError, StoreUnavailableError
        ),
    },
)
async def get_resource_text(
    call: CallDep,
    texts: ResourceTextsDep,
    uri: UriPath,
    query: Annotated[TextQuery, Depends(get_text_query)],
) -> Response:
    """Read a piece of a text: some lines, the lines that hold something, or a value of its JSON.

    An answer has 64 KiB of text at most, and `nextLine` says where to go on. A value that is too
    large is answered with its shape, and the pointers that lead into it.
    """
    text = await texts.find(call.project_id, uri, query)
    is_alone = wants_text(call.request)
    etag = strong_etag(text.digest_alone if is_alone else text.digest)
    if unchanged := answer_unchanged(call.request, etag=etag):
        return unchanged
    answer = await text.read()
    if is_alone:
        return answer_text(call.request, text_alone(answer.found), etag=etag)
    record = text_record(answer.resource, answer.total_lines, answer.found, answer.charset)
    return answer_record(call.request, record, etag=etag, headers={"Vary": "Accept"})


@router.get(
    "/{uri}/poster",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_CONDITIONS, *CONTENT_RANGES]},
    responses={
        200: {"description": "The poster, a JPEG.", "content": JPEG, "headers": CONTENT_HEADERS},
        204: {"description": "There is none, and `optional` was given."},
        206: {"description": "The asked ranges.", "content": ANY_FILE, "headers": RANGE_HEADERS},
        **read_responses(
            NotFoundError,
            RangeNotSatisfiableError,
            InvalidPayloadError,
            OverloadedError,
            StoreUnavailableError,
        ),
    },
)
async def get_resource_poster(
    call: CallDep,
    resources: ResourcesDep,
    posters: PostersDep,
    sources: ContentSourcesDep,
    uri: UriPath,
    optional: Annotated[
        bool,
        Query(description="Answer 204 where there is none, as browsers log every 404."),
    ] = False,
) -> Response:
    """Read the first key frame of a video as a JPEG of at most 1,280 pixels a side.

    It is made when it is first asked for, where the service has the optional package `av`, and kept
    until the video is deleted. A video of more than 3840x2160 pixels has none.
    """
    video = await resources.get(call.project_id, uri)
    poster = await (posters.get_if_any if optional else posters.get)(call.project_id, video)
    if poster is None:
        return Response(status_code=204)
    content = _content(poster.resource, "inline", None)
    source = sources.of(call.project_id, poster.resource.digest)
    return content_response(call.request.headers, "GET", content, open_range=source.open)
