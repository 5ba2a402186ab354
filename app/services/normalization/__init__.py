"""Stage one: any JSON value becomes typed parts and the media found in them; pure."""

from pagefault_dialects import NormalizedToolResult, normalize


def normalize_tool_result(
    result: object, *, call_id: str | None = None, tool_name: str | None = None
) -> NormalizedToolResult:
    """Return a tool result as typed parts and the media found in them.

    The library does the work; this is its place in the service, before persistence and packaging.

    Args:
        result: Any JSON value; any string in it may be a `MediaSource` already, which then stands
            for the medium.
        call_id: The call that it answers. Of several answers in it, that of this call is taken.
        tool_name: The tool that was called.

    Raises:
        InvalidPayloadError: There are several answers in it, and not one to this call.

    Source: spec 002, "Sanitization Pipeline", step 1.
    """
    return normalize(result, call_id=call_id, tool_name=tool_name)
