"""Stage three of storing a tool result: builds the canonical record and its bytes."""

from typing import Any

from app.models.resource_descriptor import describe
from app.models.tool_result import (
    FilePart,
    ImagePart,
    PersistedPart,
    PersistedToolResult,
    SanitizedToolResult,
    ToolResultMeta,
    ToolResultWarning,
)
from pagefault_dialects.json.values import json_text


def build_sanitized_tool_result(
    persisted: PersistedToolResult, *, tool_name: str, tool_call_id: str, success: bool
) -> SanitizedToolResult:
    """Combine parts, descriptors of resources, and meta into the canonical record.

    Args:
        persisted: The result of stage two, whose media are stored.
        tool_name: The name of the tool.
        tool_call_id: The id of the call.
        success: The value in the request; ignored if the result is an error.

    Returns:
        The record. Each resource is in it once, in order of first use.
    Source: spec 002, "Sanitization Pipeline", step 3.
    """
    parts = _drop_repeated_extracts(persisted.parts)
    declared_types = {
        f"/parts/{index}": part.claimed_mime_type
        for index, part in enumerate(parts)
        if part.claimed_mime_type
    }
    extras: dict[str, Any] = {}
    if persisted.structured_content is not None:
        extras["structured_content"] = persisted.structured_content[0]
    return SanitizedToolResult(
        parts=tuple(part.part for part in parts),
        resources=tuple(describe(resource) for resource in persisted.resources),
        meta=ToolResultMeta(
            tool_name=tool_name,
            tool_call_id=tool_call_id,
            success=success and not persisted.is_error,
            display=persisted.display,
            meta=persisted.meta,
            envelope=persisted.envelope,
            warnings=tuple(
                ToolResultWarning(code=warning.code, pointer=warning.pointer, detail=warning.detail)
                for warning in persisted.warnings
            )
            or None,
            declared_mime_type=declared_types or None,
            **extras,
        ),
    )


def encode_sanitized(sanitized: SanitizedToolResult) -> bytes:
    """Return the bytes of a record. These bytes are stored, and sent to every reader."""
    return json_text(sanitized.wire()).encode()


def _drop_repeated_extracts(parts: tuple[PersistedPart, ...]) -> list[PersistedPart]:
    """Return the parts, except extracted parts with a medium that another part has.

    An extracted part was made from a medium inside of a text or a structure. Another part with the
    same medium shows it already.
    """
    references = {_find_reference(part) for part in parts if not part.extracted}
    kept = []
    for part in parts:
        reference = _find_reference(part)
        if part.extracted and reference in references:
            continue
        references.add(reference)
        kept.append(part)
    return kept


def _find_reference(part: PersistedPart) -> str | None:
    """Return the reference, the URL or the base64 of the medium of a part; `None` for a text."""
    match part.part:
        case ImagePart(image=reference) | FilePart(data=reference):
            return reference
        case _:
            return None
