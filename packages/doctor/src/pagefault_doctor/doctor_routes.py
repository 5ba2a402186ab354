"""`/api/doctor`, diagnoses and repairs of histories, and transcripts of sessions."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import Doc

from app.errors import NotFoundError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.content_headers import build_safe_headers, format_content_disposition
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import SessionIdPath
from app.http.problem_types import (
    BODY_ERRORS,
    RECORD_ERRORS,
    describe_errors,
    describe_read_responses,
)
from app.http.render_queries import OptionsQuery
from app.http.rendered_responses import build_rendered_response
from app.wire.renders import Target
from pagefault_dialects.dialects.foreign_message import Dialect
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import ClientId, WireModel
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import MaxTokens
from pagefault_doctor.doctor import Doctor, DoctorQuery
from pagefault_doctor.transcript_exports import (
    TranscriptExports,
    TranscriptQuery,
    make_transcript_id,
)
from pagefault_doctor.transcript_files import Host

_EXAMPLE_REQUEST: JsonDict = {
    "messages": [
        {"role": "user", "content": "What is on the page?"},
        {"role": "tool", "tool_call_id": "call_1", "content": "A picture of a cat."},
    ]
}
_EXAMPLE: JsonDict = {
    "target": "openai-chat",
    "profile": "openai-chat/2026-11-29",
    "dialect": "openai-chat",
    "findings": [
        {
            "pointer": "/messages/1",
            "rule": "no-call",
            "demands": "A result answers a call.",
            "fix": "a call without arguments is written before it",
            "source": "every provider",
        }
    ],
    "loss": [
        {
            "pointer": "/messages/1",
            "from": "nothing",
            "to": "call",
            "code": "no-call",
            "reason": "The history has no call that this answers; one without arguments stands "
            "before it.",
            "restore": "/messages/1",
        }
    ],
    "tokensEst": 30,
}


class Examination(WireModel):
    """A history: a request that a provider refused, a list of messages, or a session.

    Messages may be of any dialect, and of several. `input` and `contents` are read like `messages`,
    and the system prompt from the member of each dialect.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE_REQUEST]})

    messages: list[Any] | None = None
    """In any dialect."""
    session_id: ClientId | None = None
    """Instead: a session kept here."""


class Diagnosis(WireModel):
    """The findings of a history, and the repaired history."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    target: Target
    profile: str
    """Target and version of its limits and rules."""
    dialect: str | None
    """The dialect of most messages, if it can be detected."""
    findings: tuple[Finding, ...]
    """In the order of the messages; empty for a sound history."""
    loss: tuple[LossEntry, ...]
    """Content that the repaired history lacks, and content that the repair added."""
    tokens_est: int
    """An estimate of the tokens of the repaired history."""
    system: str | None = None
    """With `apply`: the system prompt, if the target has it outside the messages."""
    messages: tuple[JsonObject, ...] | None = None
    """With `apply`: the repaired history, ready for the provider."""


class ExaminationQuery(OptionsQuery):
    """The options of an examination."""

    target: Annotated[
        Target | None,
        Doc("The target of the history; by default, its own dialect."),
    ] = None
    apply: Annotated[bool, Doc("Include the repaired history in the answer.")] = False
    dialect: Annotated[
        Dialect | None,
        Doc("The intended dialect; by default, that of most messages."),
    ] = None
    max_tokens: MaxTokens = None


router = APIRouter(prefix="/api", tags=["doctor"], route_class=ApiRoute)

DoctorDep = Annotated[Doctor, Depends(service(Doctor))]


@router.post(
    "/doctor",
    response_model=Diagnosis,
    openapi_extra=describe_json_body(Examination),
    responses=describe_errors(NotFoundError, *BODY_ERRORS),
)
async def examine_history(
    api_request: ApiRequestDep,
    doctor: DoctorDep,
    examination: Annotated[ExaminationQuery, Query()],
) -> Response:
    """Diagnose a history of any dialect, and repair it.

    Nothing is stored, and nothing is fetched. The repaired history is the rendering for the target;
    `loss` lists the changes.
    """
    query = DoctorQuery(
        examination.target,
        examination.dialect,
        examination.max_tokens,
        applies=examination.apply,
    )
    limit = api_request.limits.history_bytes
    body = await doctor.examine(api_request.project_id, api_request.stream_json(limit), query)
    return build_rendered_response(api_request.request, body)


class TranscriptOptions(OptionsQuery):
    """The options of a transcript."""

    host: Annotated[Host, Doc("The host that resumes the session.")]
    folder: Annotated[str, Field(max_length=4_096), Doc("The folder that the host works in.")] = "/"
    max_tokens: MaxTokens = None


@router.get(
    "/sessions/{session_id}/transcript",
    response_class=Response,
    responses={
        200: {
            "description": "The transcript: JSON lines.",
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        },
        **describe_read_responses(*RECORD_ERRORS),
    },
)
async def export_transcript(
    api_request: ApiRequestDep,
    exports: Annotated[TranscriptExports, Depends(service(TranscriptExports))],
    session_id: SessionIdPath,
    options: Annotated[TranscriptOptions, Query()],
) -> Response:
    """Read a session as a transcript that Claude Code or Codex resumes.

    Its messages are those of a rendering for the provider of the host, media included. The system
    prompt is left out: the host has its own.
    """
    query = TranscriptQuery(options.host, options.folder, options.max_tokens)
    body = await exports.export(api_request.project_id, session_id, query)
    name = f"{make_transcript_id(api_request.project_id, session_id)}.jsonl"
    headers = {
        "Content-Type": "application/x-ndjson",
        "Content-Disposition": format_content_disposition("attachment", name),
        **build_safe_headers(),
    }
    return build_rendered_response(api_request.request, body, headers)
