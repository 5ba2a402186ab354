"""The lines of text that replace media or describe them, and the target `text`, which has no media.

Source: design document `providers.md`, degradation ladder: `[Video: demo.mp4 (5.2 MB)]`.
"""

from collections.abc import Sequence

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.conversation import (
    Address,
    BlockLabel,
    MediaItem,
    Medium,
    ResolvedTurn,
    TurnCall,
)
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.model.resource import ResourceKind
from pagefault_dialects.pages.line_formats import escape_bracketed_name, escape_line_breaks
from pagefault_dialects.targets.base64_leaves import Node, join_texts, text_of
from pagefault_dialects.targets.profile import Profile

ERROR_LINE = "[The tool reported an error.]"

_KIND_NAMES: dict[ResourceKind, str] = {"image": "Image", "audio": "Audio", "video": "Video"}
# A name or a URL is not repeated before a text if it is in this many first characters of the text.
_HEAD_CHARS = 8_192
_MAX_LABEL_CHARS = 2_048
_UNITS = ("kB", "MB", "GB", "TB")


def format_size(size_bytes: int) -> str:
    """Return a size for people: `312 B`, `5.2 MB`."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    size, unit = size_bytes / 1_000, _UNITS[0]
    for larger in _UNITS[1:]:
        if size < 999.95:
            break
        size, unit = size / 1_000, larger
    return f"{size:.1f} {unit}"


def format_medium_name(medium: Medium) -> str:
    """Return the description of a medium: `Video: demo.mp4 (5.2 MB)`; without a name, its type."""
    name = escape_bracketed_name(medium.filename) if medium.filename else medium.mime_type
    return f"{_KIND_NAMES.get(medium.kind, 'File')}: {name}{_describe_size(medium)}"


def format_placeholder(medium: Medium) -> str:
    """Return the line that replaces a medium: `[Video: demo.mp4 (5.2 MB)]`."""
    return f"[{format_medium_name(medium)}]"


def format_attachment_line(attachment: MediaItem, location: str) -> str:
    """Return the line in a result whose medium is sent elsewhere: `[Image: a.png (3.0 kB), …]`.

    Args:
        attachment: The medium.
        location: The end of the line, such as `attached after the tool messages`.
    """
    return f"[{format_medium_name(attachment.medium)}, {location}]"


def format_origin_line(turn: ResolvedTurn, attachment: MediaItem, call_id: str) -> str:
    """Return the line before a medium of a result that is sent in a later message."""
    tool = escape_line_breaks(turn.tool_name) or "without a name"
    return f"{format_medium_name(attachment.medium)}, from the tool {tool}, call {call_id}:"


def format_label_line(label: BlockLabel, text: str) -> str | None:
    """Return the line before a text with its name and URL.

    The result is `None` if the beginning of the text has both already, as the text of a link does.
    """
    head = text[:_HEAD_CHARS]
    labels = [
        escape_bracketed_name(item)[:_MAX_LABEL_CHARS]
        for item in (label.name, label.uri)
        if item and item not in head
    ]
    return f"[{', '.join(dict.fromkeys(labels))}]" if labels else None


def write_text(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages of the target `text`: one text for each turn.

    The messages are for people, and for models that accept only text. A medium is replaced by its
    line. A result follows a heading with its tool and call. A call is always one line.

    Args:
        turns: The turns, which have no media.
        profile: The target.
        detail: Not used; this target has no images.
    """
    return [{"role": turn.role, "content": _write_turn(turn, profile)} for turn in turns]


def _write_turn(turn: ResolvedTurn, profile: Profile) -> str:
    words = join_texts(map(text_of, turn.items))
    if turn.role != "tool":
        return join_texts((words, "\n".join(_call_line(call, profile) for call in turn.calls)))
    name = escape_line_breaks(profile.tool_name.fit(turn.tool_name))
    heading = f"Tool {name} (call {escape_line_breaks(profile.call_id.fit(turn.call_id))}):"
    return f"{heading}\n{words}" if words else heading


def _call_line(call: TurnCall, profile: Profile) -> str:
    name = escape_line_breaks(profile.tool_name.fit(call.name))
    return f"[calls {name} {escape_line_breaks(json_text(call.arguments))}]"


def _describe_size(medium: Medium) -> str:
    if medium.size_bytes is not None:
        return f" ({format_size(medium.size_bytes)})"
    return (
        f" ({escape_line_breaks(medium.source.url)})" if isinstance(medium.source, Address) else ""
    )
