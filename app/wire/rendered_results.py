"""The shape of a tool result that is rendered in the answer to its request."""

from typing import Annotated

from msgspec import Raw

from app.wire.renders import RenderedRecord
from app.wire.shape import ShownAs
from app.wire.tool_results import ToolResultRecord


class RenderedToolResult(ToolResultRecord, kw_only=True):
    """A stored tool result, with its rendering where one is asked for."""

    rendering: Annotated[Raw | None, ShownAs(RenderedRecord | None)] = None
    """Only with `render`; null where the rendering failed: all is stored."""
