"""Stage one of storing a tool result: converts any JSON value into typed parts and media. Pure."""

from pagefault_dialects import NormalizedToolResult, normalize


def normalize_tool_result(
    result: object, *, call_id: str | None = None, tool_name: str | None = None
) -> NormalizedToolResult:
    """Return a tool result as typed parts and media; see `pagefault_dialects.normalize`.

    Args:
        result: Any JSON value. A `MediaSource` may be in place of a long string.
        call_id: The id of the call. If the value has the results of several calls, the result of
            this call is used.
        tool_name: The name of the tool.

    Raises:
        InvalidPayloadError: The value has the results of several calls, but not of this call.

    Source: spec 002, "Sanitization Pipeline", step 1.
    """
    return normalize(result, call_id=call_id, tool_name=tool_name)
