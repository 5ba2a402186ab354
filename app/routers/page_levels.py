"""`/api/pages/{page_id}/…`: a page at a level, as typed content, as blocks or as a message."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response

from app.errors import (
    ConflictError,
    NotFoundError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.bodies import read_small_json
from app.http.dependencies import service
from app.http.openapi_operations import build_reference, describe_json_body
from app.http.parameters import LevelQuery, PageIdPath
from app.http.problem_types import (
    BODY_ERRORS,
    RECORD_ERRORS,
    describe_errors,
    describe_read_responses,
)
from app.http.rendered_responses import build_json_response, build_rendered_response
from app.services.pages.faults import FaultRequest, PageFaults, read_fault_request
from app.services.pages.page_reading import PageReading
from app.services.pages.page_views import BlocksOptions
from app.wire.pages import PageBlocksRecord, PageToolMessage
from app.wire.problem import PROBLEM_MEDIA_TYPE, PageFaultProblem, PageFaultRefusal, Problem
from pagefault_dialects.errors import InvalidPayloadError, PagefaultError
from pagefault_dialects.model.base import Count
from pagefault_dialects.model.client_ids import CLIENT_ID_PATTERN
from pagefault_dialects.model.page import MediaForm, PageContent, PageForm
from pagefault_dialects.model.render_options import ImageDetail

router = APIRouter(prefix="/api/pages", tags=["pages"], route_class=ApiRoute)

PageReadingDep = Annotated[PageReading, Depends(service(PageReading))]
PageFaultsDep = Annotated[PageFaults, Depends(service(PageFaults))]

# The pattern is only documented here. The service checks it, to return an invalid id as an error
# with a tool message for the model that sent the id.
FaultedIdPath = Annotated[
    str,
    Path(
        description="The client's id of the page.",
        json_schema_extra={"pattern": CLIENT_ID_PATTERN},
    ),
]
FormQuery = Annotated[
    PageForm | None, Query(description="`json`: `content` is one JSON string with the page in it.")
]
MediaQuery = Annotated[
    MediaForm,
    Query(description="Stored media as base64 (`inline`) or as their `@blob:` reference."),
]


async def get_blocks_options(
    media: MediaQuery = "inline",
    detail: Annotated[
        ImageDetail, Query(description="The `detail` of the image for the model.")
    ] = "low",
    max_chars: Annotated[
        int | None,
        Query(ge=1, description="The maximal number of characters of text; media are not cut."),
    ] = None,
    offset: Annotated[
        Count, Query(description="The number of characters of the text to skip.")
    ] = 0,
) -> BlocksOptions:
    """Return the options in the query of a page as blocks."""
    return BlocksOptions(media, detail, max_chars, offset)


BlocksOptionsDep = Annotated[BlocksOptions, Depends(get_blocks_options)]


def _describe_error_with_message(
    error_class: type[PagefaultError], status: int, shape: type[Problem]
) -> dict[str, Any]:
    """Return the OpenAPI response of an error that has a tool message for the model."""
    content = {PROBLEM_MEDIA_TYPE: {"schema": build_reference(shape)}}
    return {**describe_errors(error_class)[status], "content": content}


@router.get(
    "/{page_id}/content",
    response_model=PageContent,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def get_page_content(
    api_request: ApiRequestDep,
    reading: PageReadingDep,
    page_id: PageIdPath,
    level: LevelQuery,
    media: MediaQuery = "inline",
) -> Response:
    """Read the content of a page at a level, typed by its modality.

    Without `level`, the page's current level is used. Every field is present; if a value is
    unknown, it is null, and never `0.0`.
    """
    content = await reading.content(api_request.project_id, page_id, level, media)
    return build_rendered_response(api_request.request, content)


@router.get(
    "/{page_id}/blocks",
    response_model=PageBlocksRecord,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def get_page_blocks(
    api_request: ApiRequestDep,
    reading: PageReadingDep,
    page_id: PageIdPath,
    level: LevelQuery,
    options: BlocksOptionsDep,
    form: FormQuery = None,
) -> Response:
    """Read a page as the content of a tool message: an image with its annotation, or text.

    At the levels FULL and REDUCED the image is attached, if its bytes are available. `level` in the
    response is FULL if the requested level has the same content as FULL. `truncated`, `total_chars`
    and `next_offset` describe the text beyond `max_chars`.
    """
    render = reading.json_form if form == "json" else reading.blocks
    blocks = await render(api_request.project_id, page_id, level, options)
    return build_rendered_response(api_request.request, blocks)


@router.post(
    "/{page_id}/fault",
    response_model=PageToolMessage,
    openapi_extra=describe_json_body(FaultRequest, required=False),
    responses={
        **describe_errors(ConflictError, *BODY_ERRORS),
        404: _describe_error_with_message(NotFoundError, 404, PageFaultProblem),
        422: _describe_error_with_message(InvalidPayloadError, 422, PageFaultRefusal),
    },
)
async def fault_page(
    api_request: ApiRequestDep,
    faults: PageFaultsDep,
    page_id: FaultedIdPath,
    form: FormQuery = None,
) -> Response:
    """Fault a page in: return the tool message with its content, for the model.

    With `session_id`, the message is appended to the session's history. If the same `tool_call_id`
    is sent again, the same message is returned. A missing page is a 404, and an invalid id or level
    a 422. Both have a tool message about the error, for the model.
    """
    body = await read_small_json(api_request.request, api_request.limits)
    query = read_fault_request(body, page_id, form)
    message = await faults.fault(api_request.project_id, page_id, query)
    return build_json_response(api_request.request, message, {})


odd_ids_router = APIRouter(prefix="/api/pages", include_in_schema=False)
"""The route of page faults with an empty id or an id with a slash, which gets a tool message about
the error. The application matches this route last."""
odd_ids_router.add_api_route(
    "/{page_id:path}/fault", fault_page, methods=["POST"], name="fault_odd_page"
)
