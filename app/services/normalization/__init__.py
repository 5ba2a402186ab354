"""Stage one: any JSON value becomes typed parts and the media found in them; pure."""

from pagefault_dialects import NormalizedToolResult, normalize


def normalize_tool_result(result: object) -> NormalizedToolResult:
    """Return a tool result as typed parts and the media found in them.

    The library does the work; this is its place in the service, before persistence and packaging.

    Args:
        result: Any JSON value; any string in it may be a `MediaSource` already, which then stands
            for the medium.

    Source: spec 002, "Sanitization Pipeline", step 1.
    """
    return normalize(result)
