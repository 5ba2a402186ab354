"""The JSON of every error response: a problem document (RFC 9457).

Before a problem is built, `without_lone_surrogates` makes its texts encodable as UTF-8, and
`build_problem_faults` limits its faults. So its length does not depend on the request.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from pagefault_dialects.errors import Fault
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.base import WireModel
from pagefault_dialects.text_windows import without_lone_surrogates

MAX_FAULTS = 20
"""The limit of the number of faults in a problem."""
MAX_FAULTS_BYTES = 6 * 1024
"""The limit of the size of all faults together, so that a problem stays below 8 KB."""
_MAX_POINTER_LENGTH = 200
_MAX_FAULT_DETAIL_LENGTH = 400

PROBLEM_MEDIA_TYPE = "application/problem+json"
PROBLEM_REFERENCE = {"$ref": "#/components/schemas/Problem"}
OPENAI_PROBLEM_REFERENCE = {"$ref": "#/components/schemas/OpenAIProblem"}


class ProblemFault(WireModel):
    """A fault of the request, and the part of the request that has it."""

    pointer: Annotated[str, Field(examples=["/toolName", "/query/limit"])]
    """JSON pointer into the request body; for a parameter, `/query/`, `/path/`, `/header/` or
    `/cookie/` and its name."""
    detail: str


class Problem(WireModel):
    """An error, for programs (`code`, `errors`) and for people (`title`, `detail`)."""

    type: Annotated[str, Field(examples=["/docs/errors#not-found"])]
    """The type of problem: a link to its documentation in this service."""
    title: str
    """The type of problem in words; the same for all problems of a type."""
    status: Annotated[int, Field(examples=[404])]
    """The HTTP status."""
    detail: str
    """The cause of this error, and its remedy."""
    instance: str
    """The path of the request, without its query."""
    code: Annotated[str, Field(examples=["not-found"])]
    """The code for programs, which is stable: that of the type, or a narrower one."""
    request_id: str
    """The id of the request in the service's log."""
    errors: tuple[ProblemFault, ...] = ()
    """The faults of the request, at most 20; absent if there are none."""
    cause: Annotated[str | None, Field(examples=["wrong-password"])] = None
    """The reason why a store refuses requests or does not answer, if it is known."""
    violated_policies: Annotated[
        tuple[str, ...] | None, Field(alias="violated-policies", examples=[["requests"]])
    ] = None
    """The quotas that were exceeded; only in a 429 of a quota."""

    seq: Annotated[int | None, Field(examples=[4])] = None
    """The number of the first stored entry that differs; only with `history-diverged`."""

    def json_bytes(self, further: Mapping[str, object]) -> bytes:
        """Return the document as UTF-8, with further members at its end (RFC 9457 §3.2).

        `errors` is left out when there are none.
        """
        text = self.model_dump_json(by_alias=True, exclude_defaults=True)
        if further:
            text = f"{text[:-1]},{json_text(further)[1:]}"
        return text.encode()


class OpenAIError(WireModel):
    """An error in the form that OpenAI's clients read, with the values of the problem."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: str | None
    """The pointer of the first fault."""
    code: str


class OpenAIProblem(Problem):
    """An error of a route of OpenAI's API."""

    error: OpenAIError


class PageFaultProblem(Problem):
    """A page fault that failed, with a tool message for the model that requested the page.

    The tool message consists of `role`, `tool_call_id` and `content`.
    """

    # `Literal[False]` would be the text "false" in Python clients of openapi-generator.
    success: bool
    """False."""
    page_id: Annotated[str, Field(alias="page_id")]
    """The id as it was sent, cut if long."""
    error: str
    """The message for the model, with the call to send instead."""
    role: Literal["tool"]
    tool_call_id: Annotated[str | None, Field(alias="tool_call_id")]
    content: str
    """JSON with `success`, `page_id` and `error`."""


class PageFaultRefusal(Problem):
    """An invalid page fault, with a tool message if the call of the model was the cause.

    The members have the same meaning as in `PageFaultProblem`.
    """

    success: bool | None = None
    page_id: Annotated[str | None, Field(alias="page_id")] = None
    error: str | None = None
    role: Literal["tool"] | None = None
    tool_call_id: Annotated[str | None, Field(alias="tool_call_id")] = None
    content: str | None = None


def build_problem_components() -> dict[str, dict[str, Any]]:
    """Return the OpenAPI component schemas of problems, by name."""
    shapes = (Problem, OpenAIProblem, PageFaultProblem, PageFaultRefusal)
    _, definitions = TypeAdapter.json_schemas(
        [(shape.__name__, "serialization", TypeAdapter(shape)) for shape in shapes],
        ref_template="#/components/schemas/{model}",
    )
    schemas: dict[str, dict[str, Any]] = definitions["$defs"]
    return schemas


def build_problem_faults(
    faults: Iterable[Fault], *, every: bool = False
) -> tuple[ProblemFault, ...]:
    """Return the first faults, at most 20 and at most 6 KB of JSON, with short encodable texts.

    A pointer that is too long is replaced by the longest ancestor that is short enough.

    Args:
        faults: The faults of the request.
        every: True to return all faults; only their texts are shortened.
    """
    limited: list[ProblemFault] = []
    remaining_bytes = MAX_FAULTS_BYTES
    for fault in faults if every else islice(faults, MAX_FAULTS):
        shortened = ProblemFault(
            pointer=without_lone_surrogates(_shorten_pointer(fault.pointer)),
            detail=without_lone_surrogates(fault.detail[:_MAX_FAULT_DETAIL_LENGTH]),
        )
        remaining_bytes -= len(shortened.model_dump_json().encode()) + 1
        if remaining_bytes < 0 and not every:
            break
        limited.append(shortened)
    return tuple(limited)


def _shorten_pointer(pointer: str) -> str:
    if len(pointer) <= _MAX_POINTER_LENGTH:
        return pointer
    # With one character more, a name that ends exactly at the limit is kept.
    return pointer[: _MAX_POINTER_LENGTH + 1].rpartition("/")[0]
