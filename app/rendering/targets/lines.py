"""The lines that stand for media, or beside them: what a model is told of what it does not see.

Source: `providers`, degradation ladder: `[Video: demo.mp4 (5.2 MB)]`.
"""

from app.models.conversation import Address, Attachment, Medium, SettledTurn
from app.models.resource import ResourceKind
from app.rendering.pages.lines import one_line

ERROR_LINE = "[The tool reported an error.]"

_NAMES: dict[ResourceKind, str] = {
    "image": "Image",
    "audio": "Audio",
    "video": "Video",
    "binary": "File",
    "text": "File",
}
# A name that closes our brackets could go on as a line of ours.
_ROUND = str.maketrans("[]", "()")
_UNITS = ("kB", "MB", "GB", "TB")


def size_words(size_bytes: int) -> str:
    """A size as people say it: `312 B`, `5.2 MB`."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    size, unit = size_bytes / 1_000, _UNITS[0]
    for larger in _UNITS[1:]:
        if size < 999.95:
            break
        size, unit = size / 1_000, larger
    return f"{size:.1f} {unit}"


def medium_words(medium: Medium) -> str:
    """What a medium is called: `Video: demo.mp4 (5.2 MB)`; without a name, its type."""
    name = one_line(medium.filename).translate(_ROUND) if medium.filename else medium.mime_type
    return f"{_NAMES[medium.kind]}: {name}{_size(medium)}"


def placeholder(medium: Medium) -> str:
    """The one line in the place of a medium."""
    return f"[{medium_words(medium)}]"


def attached_line(attachment: Attachment, where: str) -> str:
    """The line in a tool's answer that says where its medium is: `[Image: a.png (3.0 kB), …]`."""
    return f"[{medium_words(attachment.medium)}, {where}]"


def frame_line(turn: SettledTurn, attachment: Attachment, call_id: str) -> str:
    """The line before a medium that stands outside of the answer it belongs to."""
    tool = one_line(turn.tool_name) or "without a name"
    return f"{medium_words(attachment.medium)}, from the tool {tool}, call {call_id}:"


def _size(medium: Medium) -> str:
    if medium.size_bytes is not None:
        return f" ({size_words(medium.size_bytes)})"
    return f" ({one_line(medium.source.url)})" if isinstance(medium.source, Address) else ""
