"""Stage one: converts any JSON value into typed parts and media; pure."""

from pagefault_dialects import NormalizedToolResult, normalize


def normalize_tool_result(
    result: object, *, call_id: str | None = None, tool_name: str | None = None
) -> NormalizedToolResult:
    """Return a tool result as typed parts and media; see `pagefault_dialects.normalize`.

    Args:
        result: Any JSON value, in which strings may be replaced by a `MediaSource`.
        call_id: The call that it answers. If it has several answers, that of this call is used.
        tool_name: The tool that was called.

    Raises:
        InvalidPayloadError: It has several answers, but none to this call.

    Source: spec 002, "Sanitization Pipeline", step 1.
    """
    return normalize(result, call_id=call_id, tool_name=tool_name)
