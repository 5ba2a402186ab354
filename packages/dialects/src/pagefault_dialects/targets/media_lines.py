"""The lines in place of media and next to them, and `text`, the target of text alone.

Source: `providers`, degradation ladder: `[Video: demo.mp4 (5.2 MB)]`.
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
from pagefault_dialects.pages.one_line import bracketed_name, one_line
from pagefault_dialects.targets.base64_leaves import Node, join_texts, text_of
from pagefault_dialects.targets.profile import Profile

ERROR_LINE = "[The tool reported an error.]"

_NAMES: dict[ResourceKind, str] = {"image": "Image", "audio": "Audio", "video": "Video"}
_HEAD_CHARS = 8_192
_LONGEST_LABEL = 2_048
_UNITS = ("kB", "MB", "GB", "TB")


def size_words(size_bytes: int) -> str:
    """Return a size for people: `312 B`, `5.2 MB`."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    size, unit = size_bytes / 1_000, _UNITS[0]
    for larger in _UNITS[1:]:
        if size < 999.95:
            break
        size, unit = size / 1_000, larger
    return f"{size:.1f} {unit}"


def medium_words(medium: Medium) -> str:
    """Return the description of a medium: `Video: demo.mp4 (5.2 MB)`; without a name, its type."""
    name = bracketed_name(medium.filename) if medium.filename else medium.mime_type
    return f"{_NAMES.get(medium.kind, 'File')}: {name}{_size(medium)}"


def placeholder(medium: Medium) -> str:
    """Return the one line in the place of a medium."""
    return f"[{medium_words(medium)}]"


def attached_line(attachment: MediaItem, where: str) -> str:
    """Return a tool answer's line with the place of its medium: `[Image: a.png (3.0 kB), …]`."""
    return f"[{medium_words(attachment.medium)}, {where}]"


def frame_line(turn: ResolvedTurn, attachment: MediaItem, call_id: str) -> str:
    """Return the line before a medium that follows the answer it belongs to."""
    tool = one_line(turn.tool_name) or "without a name"
    return f"{medium_words(attachment.medium)}, from the tool {tool}, call {call_id}:"


def label_line(label: BlockLabel, text: str) -> str | None:
    """Return the line before a text with its name and address.

    Return `None` if the text begins with them, as that of a link does.
    """
    head = text[:_HEAD_CHARS]
    named = (label.name, label.uri)
    labels = [bracketed_name(item)[:_LONGEST_LABEL] for item in named if item and item not in head]
    return f"[{', '.join(dict.fromkeys(labels))}]" if labels else None


def write_text(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages of `text`: one text for each turn.

    It is for people and for models that accept only text. A medium is replaced by its line. The
    answer of a tool follows a header with its call, and a call is one line, whatever its arguments
    are.
    """
    return [{"role": turn.role, "content": _words(turn, profile)} for turn in turns]


def _words(turn: ResolvedTurn, profile: Profile) -> str:
    words = join_texts(map(text_of, turn.items))
    if turn.role != "tool":
        return join_texts((words, "\n".join(_call_line(call, profile) for call in turn.calls)))
    name = one_line(profile.tool_name.fit(turn.tool_name))
    heading = f"Tool {name} (call {one_line(profile.call_id.fit(turn.call_id))}):"
    return f"{heading}\n{words}" if words else heading


def _call_line(call: TurnCall, profile: Profile) -> str:
    name = one_line(profile.tool_name.fit(call.name))
    return f"[calls {name} {one_line(json_text(call.arguments))}]"


def _size(medium: Medium) -> str:
    if medium.size_bytes is not None:
        return f" ({size_words(medium.size_bytes)})"
    return f" ({one_line(medium.source.url)})" if isinstance(medium.source, Address) else ""
