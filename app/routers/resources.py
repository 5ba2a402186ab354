"""`/api/resources`: uploads, descriptors, bytes, texts, posters and signed links of resources."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.routing import APIRoute

from app.errors import (
    ConflictError,
    ForbiddenLinkError,
    InvalidCursorError,
    MalformedRequestError,
    NotFoundError,
    OverloadedError,
    RangeNotSatisfiableError,
    StoreUnavailableError,
    UnsupportedMediaError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.conditions import make_strong_etag
from app.http.content_headers import HTML, Disposition, build_app_headers, parse_repr_digest
from app.http.content_response import (
    build_content_response,
    build_resource_content,
    build_wav_content,
    build_whole_response,
)
from app.http.dependencies import BearerDep, authenticate, service
from app.http.form_files import read_form_file
from app.http.openapi_operations import (
    CONTENT_HEADERS,
    CONTENT_REQUEST_HEADERS,
    FILE_RESPONSE,
    JPEG,
    PLAIN_TEXT,
    RANGE_REQUEST_HEADERS,
    RANGES_RESPONSE,
    describe_file_body,
    describe_json_body,
)
from app.http.parameters import CursorQuery, FilenameQuery, LimitQuery, UriPath
from app.http.problem_types import BODY_ERRORS, describe_errors, describe_read_responses
from app.http.record_responses import (
    build_list_response,
    build_not_modified_response,
    build_record_response,
    build_text_response,
    build_written_response,
    wants_text,
)
from app.models.identity import utc_now
from app.services.access.callers import LinkGrant, LinkSigner, link_expiry
from app.services.access.published_content import PublishedContent, ResourcePolicy
from app.services.images.posters import Posters
from app.services.resources.content_sources import ContentSources
from app.services.resources.resources import Resources, Upload
from app.services.resources.texts import ResourceTexts, TextQuery
from app.wire.resource_texts import TextPiece, encode_text_piece
from app.wire.resources import (
    ResourcePage,
    ResourceRecord,
    SignedUrl,
    SignedUrlRequest,
    encode_resource,
)
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.media.file_names import disposition_filename
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.text_windows import LineRange, parse_line_range
from pagefault_dialects.texts.excerpts import format_plain_text

router = APIRouter(prefix="/api/resources", tags=["resources"], route_class=ApiRoute)

ResourcesDep = Annotated[Resources, Depends(service(Resources))]
PublishedContentDep = Annotated[PublishedContent, Depends(service(PublishedContent))]
LinkSignerDep = Annotated[LinkSigner, Depends(service(LinkSigner))]
ResourceTextsDep = Annotated[ResourceTexts, Depends(service(ResourceTexts))]
PostersDep = Annotated[Posters, Depends(service(Posters))]
ContentSourcesDep = Annotated[ContentSources, Depends(service(ContentSources))]

# curl sends this type with `--data-binary`, whatever the file is.
_DEFAULT_CURL_TYPE = "application/x-www-form-urlencoded"

AliasQuery = Annotated[
    str | None,
    Query(description="The file's name in another system; see `PUT /api/aliases/{alias}`."),
]


@router.post(
    "",
    response_model=ResourceRecord,
    status_code=201,
    openapi_extra=describe_file_body(),
    responses={
        200: {"model": ResourceRecord, "description": "The same file was stored before."},
        **describe_errors(ConflictError, NotFoundError, *BODY_ERRORS),
    },
)
async def create_resource(
    api_request: ApiRequestDep,
    resources: ResourcesDep,
    filename: FilenameQuery = None,
    alias: AliasQuery = None,
    repr_digest: Annotated[
        str | None,
        Header(
            description="RFC 9530: `sha-256=:…:`, the digest of the file; it is verified. If the "
            "project has bytes with this digest, the body may be empty."
        ),
    ] = None,
) -> Response:
    """Store a file: a raw body, or the only file of a multipart form. The body is not buffered.

    The type is detected from the bytes. The same file again returns the same resource, with 200.
    With `alias` the resource gets this alias as well. If another resource has the alias, nothing is
    stored.

    If the project has bytes with the digest in `Repr-Digest`, the body may be empty; if it has not,
    an empty body is a 404. With `Expect: 100-continue`, the server requests the body only if the
    project does not have these bytes.
    """
    chunks = api_request.stream_body()
    upload_name = filename or disposition_filename(
        api_request.request.headers.get("content-disposition", "")
    )
    digest = None
    if repr_digest:
        digest = parse_repr_digest(", ".join(api_request.request.headers.getlist("repr-digest")))
        if digest is None:
            # A digest that cannot be verified must not be ignored.
            raise MalformedRequestError("Repr-Digest is verified for sha-256: send `sha-256=:…:`.")
    content_type = api_request.request.headers.get("content-type", "")
    upload = Upload(
        None if content_type == _DEFAULT_CURL_TYPE else content_type, upload_name, digest, alias
    )
    existing = None
    if content_type.lower().startswith("multipart/form-data"):
        file = await read_form_file(content_type, chunks)
        upload = Upload(file.mime_type, filename or file.filename, digest, alias)
        chunks = file.chunks
    elif api_request.request.headers.get("expect", "").lower() == "100-continue":
        # The server requests the body when it is first read.
        existing = await resources.upload_by_digest(api_request.project_id, upload)
    uploaded, is_new = existing or await resources.upload(api_request.project_id, upload, chunks)
    return build_written_response(
        api_request.request,
        encode_resource(uploaded),
        path=f"/api/resources/{uploaded.resource_id}",
        is_new=is_new,
    )


@router.get(
    "",
    response_model=ResourcePage,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_resources(
    api_request: ApiRequestDep,
    resources: ResourcesDep,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List resources, newest first."""
    stored, next_cursor = await resources.list(api_request.project_id, cursor=cursor, limit=limit)
    return build_list_response(api_request.request, map(encode_resource, stored), next_cursor)


@router.get(
    "/{uri}", response_model=ResourceRecord, responses=describe_read_responses(NotFoundError)
)
@router.head(
    "/{uri}",
    name="head_resource",
    response_class=Response,
    responses=describe_read_responses(NotFoundError),
)
async def get_resource(
    api_request: ApiRequestDep, resources: ResourcesDep, uri: UriPath
) -> Response:
    """Read the descriptor of a resource: its type, size, digest and names, without its bytes."""
    resource = await resources.get(api_request.project_id, uri)
    return build_record_response(api_request.request, encode_resource(resource))


@router.delete("/{uri}", status_code=204, responses=describe_errors(NotFoundError, ConflictError))
async def delete_resource(
    api_request: ApiRequestDep, resources: ResourcesDep, uri: UriPath
) -> None:
    """Delete a resource. If records refer to it, the response is a 409 with a list of them."""
    await resources.delete(api_request.project_id, uri)


@router.post(
    "/{uri}/signed-url",
    openapi_extra=describe_json_body(SignedUrlRequest, required=False),
    responses=describe_errors(NotFoundError, ConflictError, *BODY_ERRORS),
)
async def create_signed_url(
    api_request: ApiRequestDep,
    resources: ResourcesDep,
    published: PublishedContentDep,
    signer: LinkSignerDep,
    uri: UriPath,
) -> SignedUrl:
    """Create a link to the content that expires and needs no key, for instance for `<img>`."""
    link_request = await api_request.read_model(SignedUrlRequest)
    resource = await resources.get(api_request.project_id, uri)
    if link_request.app is not None:
        _check_app(resource.mime_type, published)
    expires_at = link_expiry(utc_now(), link_request.expires_in_seconds)
    grant = LinkGrant(
        api_request.project_id,
        resource.resource_id,
        link_request.disposition,
        link_request.filename if link_request.app is None else None,
        expires_at,
        link_request.app,
    )
    url = published.content_base_url + signer.content_path(grant)
    return SignedUrl(url=url, expires_at=expires_at)


def _check_app(mime_type: str, published: PublishedContent) -> None:
    """Check that a resource can be shown as the page of an MCP App.

    Raises:
        InvalidPayloadError: The resource is not HTML.
        ConflictError: The service has no host for content.
    """
    if mime_type != HTML:
        raise InvalidPayloadError(
            "Only a page of HTML is shown as an app.",
            faults=[Fault("/app", f"is for {HTML}, and the resource is {mime_type}")],
        )
    if not published.has_content_host:
        raise ConflictError(
            "Apps are shown from a host of their own: set PAGEFAULT_CONTENT_URL to a second name "
            "of the service.",
            code="no-content-host",
        )


@dataclass(frozen=True, slots=True)
class ContentAccess:
    """The access to the content of a resource that a signed link or an API key permits."""

    project_id: str
    disposition: Disposition
    filename: str | None
    resource_policy: ResourcePolicy
    """The value of `Cross-Origin-Resource-Policy`."""
    page_headers: Mapping[str, str] | None = None
    """The headers for HTML that is shown as the page of an MCP App; `None` for other content."""


async def get_content_access(
    request: Request,
    _: BearerDep,
    signer: LinkSignerDep,
    published: PublishedContentDep,
    uri: UriPath,
    token: Annotated[
        str | None, Query(max_length=2_048, description="The token of a signed URL.")
    ] = None,
    download: Annotated[bool, Query(description="Send the content as an attachment.")] = False,
    filename: FilenameQuery = None,
) -> ContentAccess:
    """Verify the signed link of a request. If the request has no `token`, verify its key.

    Raises:
        ForbiddenLinkError: The link is not valid.
        UnauthorizedError: The request has neither a link nor a valid key.
        QuotaExceededError: The key has sent too many requests.
    """
    disposition: Disposition = "attachment" if download else "inline"
    if token is None:
        project_id = await authenticate(request)
        return ContentAccess(project_id, disposition, filename, published.resource_policy)
    # The token contains the project, the disposition and the file name.
    grant = signer.verify(token, parse_resource_id(uri) or "", utc_now())
    if grant.disposition == "attachment":
        disposition = "attachment"
    page_headers = None
    if grant.app is not None and published.has_content_host:
        page_headers = build_app_headers(grant.app, published.viewer_origin)
    return ContentAccess(
        grant.project_id,
        disposition,
        grant.filename,
        published.link_resource_policy,
        page_headers,
    )


ContentAccessDep = Annotated[ContentAccess, Depends(get_content_access)]
AudioFormatQuery = Annotated[
    Literal["wav"] | None,
    Query(alias="as", description="Send samples without a header as a WAV file."),
]

_CONTENT_ERRORS = (
    ForbiddenLinkError,
    NotFoundError,
    RangeNotSatisfiableError,
    InvalidPayloadError,
    UnsupportedMediaError,
)


@router.get(
    "/{uri}/content",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_REQUEST_HEADERS, *RANGE_REQUEST_HEADERS]},
    responses={
        200: {"description": "The whole content.", **FILE_RESPONSE},
        206: RANGES_RESPONSE,
        307: {"description": "The location of the content, if the store or another host sends it."},
        **describe_read_responses(*_CONTENT_ERRORS),
    },
)
@router.head(
    "/{uri}/content",
    name="head_resource_content",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_REQUEST_HEADERS]},
    responses={
        200: {"description": "The headers of the whole content.", "headers": CONTENT_HEADERS},
        307: {"description": "The location of the content, if another host sends it."},
        **describe_read_responses(*_CONTENT_ERRORS),
    },
)
async def get_resource_content(
    request: Request,
    resources: ResourcesDep,
    sources: ContentSourcesDep,
    uri: UriPath,
    access: ContentAccessDep,
    audio_format: AudioFormatQuery = None,
) -> Response:
    """Read the bytes of a resource, with ranges and conditions of RFC 9110.

    With `as=wav`, samples without a header, such as `audio/pcm;rate=24000`, are sent as a WAV file,
    which browsers play. The stored bytes are not changed.
    """
    resource = await resources.get(access.project_id, uri)
    content = build_resource_content(resource, access.disposition, access.filename)
    if audio_format == "wav":
        wav = sources.make_wav_source(access.project_id, resource)
        return build_content_response(
            request.headers,
            request.method,
            build_wav_content(content, wav.wav.size_bytes),
            open_range=wav.open,
            resource_policy=access.resource_policy,
        )
    source = sources.make_source(access.project_id, resource.digest)
    if access.page_headers is not None and resource.mime_type == HTML:
        size_bytes = resource.size_bytes
        return build_whole_response(request.method, size_bytes, source.open, access.page_headers)
    return build_content_response(
        request.headers,
        request.method,
        content,
        open_range=source.open,
        source=source,
        resource_policy=access.resource_policy,
    )


CONTENT_ROUTE = next(
    route
    for route in router.routes
    if isinstance(route, APIRoute) and route.name == "get_resource_content"
)
"""The route of signed links, the only one that `app.http.content_host` serves."""

_LINE_RANGES = "`10-50`, `10-`, `10`, or `-50` for the last fifty; counted from 1, both included"


async def get_text_query(
    lines: Annotated[str | None, Query(max_length=64, description=f"{_LINE_RANGES}.")] = None,
    grep: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            pattern=r"^[^\r\n]+$",
            description="Only lines that contain this text, which is not a regular expression.",
        ),
    ] = None,
    ignore_case: Annotated[
        bool, Query(alias="ignoreCase", description="With `grep`: ignore the case of letters.")
    ] = False,
    context: Annotated[
        int,
        Query(ge=0, le=10, description="With `grep`: the lines before and after each match."),
    ] = 0,
    pointer: Annotated[
        str | None,
        Query(max_length=4_000, description="A JSON pointer (RFC 6901); empty for the whole text."),
    ] = None,
) -> TextQuery:
    """Return the part of a text that a request selects, by lines or by a JSON pointer.

    Raises:
        InvalidPayloadError: A parameter is invalid, or cannot be combined with another one.
    """
    if pointer is None:
        if grep is None and (ignore_case or context):
            raise _build_query_error("grep", "has to be there for `ignoreCase` and `context`")
        line_range = LineRange() if lines is None else parse_line_range(lines)
        if line_range is None:
            raise _build_query_error("lines", f"must be {_LINE_RANGES}")
        return TextQuery(line_range, grep, ignore_case, context)
    if lines is not None or grep is not None or ignore_case or context:
        raise _build_query_error(
            "pointer", "stands alone: `lines` and `grep` are asked for apart from it"
        )
    if parse_json_pointer(pointer) is None:
        raise _build_query_error("pointer", "must be empty, or names that each begin with `/`")
    return TextQuery(pointer=pointer)


def _build_query_error(name: str, sentence: str) -> InvalidPayloadError:
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
            "description": "The piece with its position, or with `Accept: text/plain` only its "
            "text.",
        },
        **describe_read_responses(NotFoundError, InvalidPayloadError),
        **describe_errors(
            PayloadTooLargeError, UnsupportedMediaError, OverloadedError, StoreUnavailableError
        ),
    },
)
async def get_resource_text(
    api_request: ApiRequestDep,
    texts: ResourceTextsDep,
    uri: UriPath,
    query: Annotated[TextQuery, Depends(get_text_query)],
) -> Response:
    """Read a part of a text: a range of lines, the lines with a text in them, or a JSON value.

    A response has at most 64 KiB of text, and `nextLine` is the line to continue with. A larger
    value is replaced by a description of its shape, with pointers to its members.
    """
    text = await texts.find(api_request.project_id, uri, query)
    is_plain = wants_text(api_request.request)
    etag = make_strong_etag(text.text_digest if is_plain else text.json_digest)
    if unchanged := build_not_modified_response(api_request.request, etag=etag):
        return unchanged
    piece = await text.read()
    if is_plain:
        return build_text_response(api_request.request, format_plain_text(piece.found), etag=etag)
    record = encode_text_piece(piece.resource, piece.total_lines, piece.found, piece.charset)
    return build_record_response(api_request.request, record, etag=etag, headers={"Vary": "Accept"})


@router.get(
    "/{uri}/poster",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_REQUEST_HEADERS, *RANGE_REQUEST_HEADERS]},
    responses={
        200: {"description": "The poster, a JPEG.", "content": JPEG, "headers": CONTENT_HEADERS},
        204: {"description": "The video has no poster, and `optional` is true."},
        206: RANGES_RESPONSE,
        **describe_read_responses(
            NotFoundError,
            RangeNotSatisfiableError,
            InvalidPayloadError,
            OverloadedError,
            StoreUnavailableError,
        ),
    },
)
async def get_resource_poster(
    api_request: ApiRequestDep,
    resources: ResourcesDep,
    posters: PostersDep,
    sources: ContentSourcesDep,
    uri: UriPath,
    optional: Annotated[
        bool,
        Query(description="Return 204 instead of 404 if there is no poster; browsers log a 404."),
    ] = False,
) -> Response:
    """Read the first key frame of a video as a JPEG of at most 1,280 pixels a side.

    The first request creates this poster, if the optional package `av` is installed; it is stored
    until the video is deleted. Videos of more than 3840x2160 pixels have no poster.
    """
    video = await resources.get(api_request.project_id, uri)
    poster = await (posters.get_if_any if optional else posters.get)(api_request.project_id, video)
    if poster is None:
        return Response(status_code=204)
    content = build_resource_content(poster.resource, "inline")
    source = sources.make_source(api_request.project_id, poster.resource.digest)
    return build_content_response(
        api_request.request.headers, "GET", content, open_range=source.open
    )
