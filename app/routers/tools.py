"""`/api/tools` and `…/tool-calls`: the definitions of the memory's tools, and calls of them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from app.errors import ConflictError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import PLAIN_TEXT, describe_json_body
from app.http.parameters import SessionIdPath
from app.http.problem_types import BODY_ERRORS, describe_errors, describe_read_responses
from app.http.record_responses import build_record_response, build_text_response
from app.http.render_queries import TargetQuery
from app.http.rendered_responses import build_rendered_response
from app.services.agents.tool_calls import ToolCalls
from app.wire.agents import ToolCallRequest, ToolDefinitions
from app.wire.renders import RenderedRecord
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import json_text
from pagefault_dialects.pages.instructions import InstructionStyle, instructions
from pagefault_dialects.targets.tool_definitions import write_tools
from pagefault_dialects.tools.tool_arguments import TOOLS
from pagefault_dialects.tools.tool_catalogue import list_definitions

router = APIRouter(prefix="/api", tags=["tools"], route_class=ApiRoute)

ToolCallsDep = Annotated[ToolCalls, Depends(service(ToolCalls))]


OnlyQuery = Annotated[
    str | None,
    Query(
        max_length=512,
        description="The names of tools, separated by commas; by default all.",
        examples=["page_fault,search_pages"],
    ),
]
StyleQuery = Annotated[
    InstructionStyle,
    Query(
        description="`strict`: the model must answer from pages and cite them. `relaxed`: it may."
    ),
]


@router.get(
    "/tools", response_model=ToolDefinitions, responses=describe_read_responses(InvalidPayloadError)
)
async def list_tools(
    api_request: ApiRequestDep, target: TargetQuery, only: OnlyQuery = None
) -> Response:
    """Read the definitions of the memory's tools, in the dialect of a provider.

    Send the definitions to the provider in `tools` of a request. Send a model's calls of these
    tools to `POST /api/sessions/{session_id}/tool-calls`, which returns the messages to append.
    """
    names = None if only is None else [name.strip() for name in only.split(",")]
    if unknown := [name for name in names or () if name not in TOOLS]:
        raise InvalidPayloadError(
            "The query is not what the route takes.",
            faults=[Fault("/query/only", f"has {len(unknown)} names beside {', '.join(TOOLS)}")],
        )
    tools = write_tools(target, list_definitions(names))
    return build_record_response(
        api_request.request, json_text({"target": target, "tools": tools}).encode()
    )


@router.get(
    "/tools/instructions",
    response_class=Response,
    responses={
        200: {"content": PLAIN_TEXT, "description": "The rules, one on each line."},
        **describe_read_responses(InvalidPayloadError),
    },
)
async def get_tool_instructions(
    api_request: ApiRequestDep, style: StyleQuery = "strict"
) -> Response:
    """Read the rules for using the memory, as a prompt for a model."""
    return build_text_response(api_request.request, instructions(style))


@router.post(
    "/sessions/{session_id}/tool-calls",
    response_model=RenderedRecord,
    openapi_extra=describe_json_body(ToolCallRequest),
    responses=describe_errors(ConflictError, *BODY_ERRORS),
)
async def run_tool_call(
    api_request: ApiRequestDep, tool_calls: ToolCallsDep, session_id: SessionIdPath
) -> Response:
    """Run a model's call of one of the memory's tools, and return the `messages` to append.

    The response is a 200 even if the call fails. For wrong arguments and missing records, the
    message for the model has the remedy, and the provider's mark for errors. Call and result are
    appended to the session's history. The same call again is not run again, and returns the same
    result.
    """
    body = await tool_calls.run(api_request.project_id, session_id, api_request.stream_json())
    return build_rendered_response(api_request.request, body)
