"""`/api/resources/{uri}/text`: long text in pieces that fit an answer, for a model to read."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from app.errors import (
    Fault,
    InvalidPayloadError,
    NotFoundError,
    OverloadedError,
    PayloadTooLargeError,
    StoreUnavailableError,
    UnsupportedMediaError,
)
from app.http.api_route import ApiRoute
from app.http.authenticate import ProjectDep
from app.http.conditions import strong_etag
from app.http.dependencies import ResourceTextsDep
from app.http.parameters import UriPath
from app.http.problem_types import problem_responses
from app.http.record_responses import (
    answer_record,
    answer_text,
    answer_unchanged,
    read_responses,
    wants_text,
)
from app.models.json_pointer import parse_json_pointer
from app.models.line_range import LineRange, parse_line_range
from app.rendering.texts import text_alone
from app.services.resources.texts import TextQuery
from app.wire.resource_texts import TextPiece, text_record

router = APIRouter(prefix="/api/resources", tags=["resources"], route_class=ApiRoute)

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
    """What is asked of a text."""
    if pointer is None:
        if grep is None and (ignore_case or context):
            raise _refused("grep", "has to be there for `ignoreCase` and `context`")
        return TextQuery(_line_range(lines), grep, ignore_case, context)
    if lines is not None or grep is not None or ignore_case or context:
        raise _refused("pointer", "stands alone: `lines` and `grep` are asked for apart from it")
    if parse_json_pointer(pointer) is None:
        raise _refused("pointer", "must be empty, or names that each begin with `/`")
    return TextQuery(pointer=pointer)


def _line_range(lines: str | None) -> LineRange:
    wanted = LineRange() if lines is None else parse_line_range(lines)
    if wanted is None:
        raise _refused("lines", f"must be {_LINES}")
    return wanted


def _refused(name: str, sentence: str) -> InvalidPayloadError:
    return InvalidPayloadError(
        "The text cannot be read like that; `errors` says why.",
        faults=[Fault(f"/query/{name}", sentence)],
    )


@router.get(
    "/{uri}/text",
    response_model=TextPiece,
    responses={
        200: {
            "content": {"text/plain": {"schema": {"type": "string"}}},
            "description": "The piece; its text alone with `Accept: text/plain`.",
        },
        **read_responses(NotFoundError, InvalidPayloadError),
        **problem_responses(
            PayloadTooLargeError, UnsupportedMediaError, OverloadedError, StoreUnavailableError
        ),
    },
)
async def get_resource_text(
    request: Request,
    uri: UriPath,
    project_id: ProjectDep,
    texts: ResourceTextsDep,
    query: Annotated[TextQuery, Depends(get_text_query)],
) -> Response:
    """Read a piece of a text: some lines, the lines that hold something, or a value of its JSON.

    An answer has 64 KiB of text at most, and `nextLine` says where to go on. A value that is too
    large is answered with its shape, and the pointers that lead into it.
    """
    text = await texts.find(project_id, uri, query)
    is_alone = wants_text(request)
    etag = strong_etag(text.digest_alone if is_alone else text.digest)
    if unchanged := answer_unchanged(request, etag=etag):
        return unchanged
    answer = await text.read()
    if is_alone:
        return answer_text(request, text_alone(answer.found), etag=etag)
    record = text_record(answer.resource, answer.total_lines, answer.found)
    response = answer_record(request, record, etag=etag)
    response.headers["Vary"] = "Accept"
    return response
