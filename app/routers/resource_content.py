"""`/api/resources/{uri}/…`: the bytes, the texts and the posters of resources."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.routing import APIRoute

from app.errors import (
    ForbiddenLinkError,
    NotFoundError,
    OverloadedError,
    RangeNotSatisfiableError,
    StoreUnavailableError,
    UnsupportedMediaError,
)
from app.http.api_route import ApiRoute
from app.http.calls import CallDep
from app.http.conditions import strong_etag
from app.http.content_headers import Disposition
from app.http.content_response import ContentToSend, content_response
from app.http.dependencies import BearerDep, authenticate, service
from app.http.openapi_operations import (
    CONTENT_CONDITIONS,
    CONTENT_HEADERS,
    CONTENT_RANGES,
    FILE_RESPONSE,
    JPEG,
    PLAIN_TEXT,
    RANGES_RESPONSE,
)
from app.http.parameters import FilenameQuery, UriPath
from app.http.problem_types import problem_responses, read_responses
from app.http.record_responses import (
    answer_record,
    answer_text,
    answer_unchanged,
    wants_text,
)
from app.models.identity import utc_now
from app.services.access.callers import LinkSigner
from app.services.access.published_content import PublishedContent, ResourcePolicy
from app.services.images.posters import Posters
from app.services.resources.content_sources import ContentSources
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts, TextQuery
from app.wire.resource_texts import TextPiece, text_record
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.model.resource import Resource, parse_resource_id
from pagefault_dialects.text_windows import LineRange, parse_line_range
from pagefault_dialects.texts.excerpts import text_alone

router = APIRouter(prefix="/api/resources", tags=["resources"], route_class=ApiRoute)

ResourcesDep = Annotated[Resources, Depends(service(Resources))]
PublishedContentDep = Annotated[PublishedContent, Depends(service(PublishedContent))]
LinkSignerDep = Annotated[LinkSigner, Depends(service(LinkSigner))]
ResourceTextsDep = Annotated[ResourceTexts, Depends(service(ResourceTexts))]
PostersDep = Annotated[Posters, Depends(service(Posters))]
ContentSourcesDep = Annotated[ContentSources, Depends(service(ContentSources))]


@dataclass(frozen=True, slots=True)
class ContentAccess:
    """The content that a request may read, by a signed link or by a key."""

    project_id: str
    disposition: Disposition
    filename: str | None
    resource_policy: ResourcePolicy


async def get_content_access(
    request: Request,
    _: BearerDep,
    signer: LinkSignerDep,
    published: PublishedContentDep,
    uri: UriPath,
    token: Annotated[str | None, Query(max_length=2_048, description="Of a signed URL.")] = None,
    download: Annotated[bool, Query(description="Send it as an attachment.")] = False,
    filename: FilenameQuery = None,
) -> ContentAccess:
    """Verify the link of a request, or its key if it has no link.

    Raises:
        ForbiddenLinkError: The link is not valid.
        UnauthorizedError: There is no link and no valid key.
        QuotaExceededError: The key has sent too many requests.
    """
    disposition: Disposition = "attachment" if download else "inline"
    if token is None:
        project_id = await authenticate(request)
        return ContentAccess(project_id, disposition, filename, published.resource_policy)
    # A link contains the project and the file name.
    grant = signer.verify(token, parse_resource_id(uri) or "", utc_now())
    if grant.disposition == "attachment":
        disposition = "attachment"
    return ContentAccess(
        grant.project_id, disposition, grant.filename, published.link_resource_policy
    )


ContentAccessDep = Annotated[ContentAccess, Depends(get_content_access)]

_CONTENT_ERRORS = (
    ForbiddenLinkError,
    NotFoundError,
    RangeNotSatisfiableError,
    InvalidPayloadError,
)


@router.get(
    "/{uri}/content",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_CONDITIONS, *CONTENT_RANGES]},
    responses={
        200: {"description": "The whole content.", **FILE_RESPONSE},
        206: RANGES_RESPONSE,
        307: {"description": "Where the content is, if the store, or another host, sends it."},
        **read_responses(*_CONTENT_ERRORS),
    },
)
@router.head(
    "/{uri}/content",
    name="head_resource_content",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_CONDITIONS]},
    responses={
        200: {"description": "The headers of the whole content.", "headers": CONTENT_HEADERS},
        307: {"description": "Where they are, if another host sends the content."},
        **read_responses(*_CONTENT_ERRORS),
    },
)
async def get_resource_content(
    request: Request,
    resources: ResourcesDep,
    sources: ContentSourcesDep,
    uri: UriPath,
    access: ContentAccessDep,
) -> Response:
    """Read the bytes: whole, in ranges, or only if they changed (RFC 9110)."""
    resource = await resources.get(access.project_id, uri)
    content = _content(resource, access.disposition, access.filename or resource.filename)
    source = sources.of(access.project_id, resource.digest)
    return content_response(
        request.headers,
        request.method,
        content,
        open_range=source.open,
        source=source,
        resource_policy=access.resource_policy,
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
    """Return the requested part of a text."""
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
    """Read a part of a text: a range of lines, the lines that match a text, or a value of its JSON.

    An answer has 64 KiB of text at most, and `nextLine` is the line to continue with. Instead of a
    value that is too large, the answer has its shape, and pointers to its members.
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
        206: RANGES_RESPONSE,
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

    It is created by the first request, if the optional package `av` is installed, and kept until
    the video is deleted. Videos of more than 3840x2160 pixels have no poster.
    """
    video = await resources.get(call.project_id, uri)
    poster = await (posters.get_if_any if optional else posters.get)(call.project_id, video)
    if poster is None:
        return Response(status_code=204)
    content = _content(poster.resource, "inline", None)
    source = sources.of(call.project_id, poster.resource.digest)
    return content_response(call.request.headers, "GET", content, open_range=source.open)
