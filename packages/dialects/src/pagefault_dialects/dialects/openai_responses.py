"""OpenAI's Responses API: items of its input and output that answer calls."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import (
    Dialect,
    Envelope,
    Failure,
    by_presence,
    by_word,
    says_nothing,
)
from pagefault_dialects.dialects.shapes import (
    Check,
    Members,
    anything,
    content,
    items,
    objects,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content, Reading

_BESIDE: dict[str, Check] = {
    **dict.fromkeys(("id", "call_id", "name", "namespace", "status"), string),
    "caller": record,
    "created_by": anything,
}
_FAILED = by_word("status", "failed")


def _output(
    kind: str,
    output: Check,
    *beside: str,
    member: str = "output",
    call_id: str = "call_id",
    reading: Reading = "content",
    failure: Failure = says_nothing,
    is_needed: bool = True,
) -> Envelope:
    """Return the envelope of an item that answers a call."""
    required: dict[str, Check] = {"type": one_of(kind)}
    optional = _BESIDE | dict.fromkeys(beside, anything)
    (required if is_needed else optional)[member] = output
    if call_id == "id" or kind not in ("function_call_output", "tool_search_output"):
        required[call_id] = string
        del optional[call_id]
    return Envelope(
        marks=(("type", kind),),
        shape=shape(required, optional),
        contents=((member,),),
        reading=reading,
        call_id=(call_id,),
        name=("name",),
        failure=failure,
        # Of two items with the same members, only `type` says which it is.
        frame=frozenset(),
    )


def _mcp_contents(members: Members) -> Iterable[Content]:
    error = members["error"]
    if isinstance(error, dict):
        member = "content" if error.get("content") is not None else "message"
        if error.get(member) is not None:
            yield Content(error[member], members.path("error", member))
    if "output" in members:
        yield Content(members["output"], members.path("output"))


_MCP_CALL = Envelope(
    marks=(("type", "mcp_call"),),
    shape=shape(
        {
            "type": one_of("mcp_call"),
            "id": string,
            "arguments": string,
            "name": string,
            "server_label": string,
        },
        {"approval_request_id": string, "error": anything, "output": string, "status": string},
    ),
    contents=(),
    call_id=("id",),
    name=("name",),
    failure=by_presence("error"),
    frame=frozenset(),
    accepts=lambda members: "error" in members or "output" in members,
    choose=_mcp_contents,
)

DIALECT = Dialect(
    "openai-responses",
    (
        _output("function_call_output", content),
        _output("custom_tool_call_output", content),
        _output("computer_call_output", record, "acknowledged_safety_checks", failure=_FAILED),
        _output("local_shell_call_output", string, call_id="id"),
        _output("shell_call_output", objects, "max_output_length"),
        _output("apply_patch_call_output", string, failure=_FAILED, is_needed=False),
        _output("tool_search_output", items, "execution", member="tools", reading="json"),
        _output("program_output", string, member="result"),
        _MCP_CALL,
    ),
    (
        BlockForm((("text",),), "text", ("type", "input_text")),
        BlockForm((("image_url",),), "media", ("type", "input_image"), kind="image"),
        BlockForm((("image_url",),), "media", ("type", "computer_screenshot"), kind="image"),
        BlockForm(
            (("file_data",), ("file_url",)), "media", ("type", "input_file"), name=("filename",)
        ),
        # Output of a shell; its exit code is beside it, and kept.
        BlockForm((("stdout",), ("stderr",)), "text"),
    ),
    has_closed_content=True,
)
