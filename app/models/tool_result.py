"""The canonical record (spec 002, Canonical Types) and what comes in to make one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from app.models.base import WireModel
from app.models.content import Part
from app.models.resource import ResourceDescriptor


class ToolResultWarning(WireModel):
    """Something that could not be taken as the tool meant it, at a JSON pointer into `result`."""

    code: str
    pointer: str
    detail: str


class ToolResultMeta(WireModel):
    """Which call this answers, and what belongs to the result as a whole.

    `structuredContent` is absent, not null, when the tool gave none.
    """

    nullable: ClassVar[frozenset[str]] = frozenset({"structured_content"})

    tool_name: str
    tool_call_id: str
    success: bool
    structured_content: Annotated[
        Any, Field(description="MCP structuredContent: any JSON value, media replaced by `@blob:`.")
    ] = None
    display: Annotated[Any, Field(description="The tool's own hint for a user interface.")] = None
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    warnings: tuple[ToolResultWarning, ...] | None = None
    declared_mime_type: Annotated[
        dict[str, str] | None,
        Field(
            description="Claims the bytes do not bear out: the part's JSON pointer in the record, "
            "and the MIME type the tool had claimed for it.",
            examples=[{"/parts/0": "image/png"}],
        ),
    ] = None


class SanitizedToolResult(WireModel):
    """A tool result, canonical and small: parts to show, resources they refer to, meta."""

    parts: Annotated[tuple[Part, ...], Field(min_length=1)]
    resources: tuple[ResourceDescriptor, ...]
    meta: ToolResultMeta


@dataclass(frozen=True, slots=True)
class StoredToolResult:
    """A record as the store keeps it; `sanitized` is its bytes, never serialised again."""

    tool_result_id: str
    session_id: str | None
    seq: int | None
    created_at: datetime
    tool_name: str
    tool_call_id: str
    sanitized: bytes
