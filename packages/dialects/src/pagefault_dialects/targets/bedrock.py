"""The messages of `bedrock`: messages of the Converse API as JSON, in which bytes are base64.

Roles have to alternate, so consecutive turns of one role are written as one message. All results
of a turn come first in it. They are followed by media that results may not have: audio, and all
media of a failed tool, since some models accept only text with `error`. Each of these media follows
a line that names its call.

A message with a document has to have a text as well. The name of a document is limited to some
characters, and has to be unique in the request. It ends in digits that are derived from the
document's position in its session, so that the name does not depend on other documents. If the file
name has other characters, a line before the document has both names.

Source: design document `providers.md`, `bedrock`; service model of botocore 1.44; the service's
error `Messages can't contain duplicate document names`.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from types import MappingProxyType

from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.media.types import canonical_mime_type, mime_type_for_filename
from pagefault_dialects.model.conversation import (
    DataItem,
    MediaItem,
    NativeMessage,
    ProviderBlock,
    ResolvedItem,
    ResolvedTurn,
    TurnRole,
    is_cache_mark,
)
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.model.resource import resource_kind
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    copy_provider_block,
    text_of,
)
from pagefault_dialects.targets.media_lines import (
    ERROR_LINE,
    format_attachment_line,
    format_origin_line,
)
from pagefault_dialects.targets.native_messages import select_request_members
from pagefault_dialects.targets.profile import MediaClass, Profile, media_class
from pagefault_dialects.targets.request_shapes import Shape, fits_members

_REQUEST_MEMBERS = frozenset({"role", "content"})

_SOURCE_SHAPE: Shape = (
    {"bytes": str},
    {"s3Location": {"uri": str}},
    {"text": str},
    {"content": list},
)
_BLOCK_SHAPES: Mapping[str, Shape] = {
    "text": str,
    "image": {"format": str, "source": _SOURCE_SHAPE},
    "document": {"name": str, "source": _SOURCE_SHAPE},
    "audio": {"format": str, "source": _SOURCE_SHAPE},
    "video": {"format": str, "source": _SOURCE_SHAPE},
    "toolUse": {"toolUseId": str, "name": str, "input": dict},
    "toolResult": {"toolUseId": str, "content": list},
    "cachePoint": {"type": str},
    "reasoningContent": ({"reasoningText": {"text": str}}, {"redactedContent": str}),
}

_OPENXML = "application/vnd.openxmlformats-officedocument"
FORMATS: Mapping[MediaClass, Mapping[str, str]] = MappingProxyType(
    {
        "image": {f"image/{name}": name for name in ("png", "jpeg", "gif", "webp")},
        "document": {
            "application/pdf": "pdf",
            "text/csv": "csv",
            "application/msword": "doc",
            f"{_OPENXML}.wordprocessingml.document": "docx",
            "application/vnd.ms-excel": "xls",
            f"{_OPENXML}.spreadsheetml.sheet": "xlsx",
            "text/html": "html",
            "text/plain": "txt",
            "text/markdown": "md",
        },
        "audio": {
            "audio/mpeg": "mp3",
            "audio/x-matroska": "mka",
            **{
                f"audio/{name}": name
                for name in ("opus", "wav", "aac", "flac", "mp4", "ogg", "webm")
            },
        },
        "video": {
            "video/x-matroska": "mkv",
            "video/quicktime": "mov",
            "video/x-flv": "flv",
            "video/x-ms-wmv": "wmv",
            "video/3gpp": "three_gp",
            **{f"video/{name}": name for name in ("mp4", "webm", "mpeg")},
        },
    }
)
"""The name of each accepted MIME type in requests, by class."""

_MEDIA_LOCATION = "attached after the tool results"
_DEFAULT_NAME = "document"
_MAX_NAME_CHARS = 180
_MAX_READ_CHARS = 1_000
_SESSION_PREFIX = re.compile(r"\A/api/sessions/[^/]++")
_NAME_DIGITS = 6
# Categories of Unicode whose characters may be omitted from a name: marks, punctuation, separators
# and control characters.
_DROPPED_CATEGORIES = "MPZC"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9()\[\]-]+")


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` is not used, since these messages have no member for it.
    """
    writer = _Writer(profile)
    # The role and the blocks of each turn, or of all results of a turn.
    written: list[tuple[str, list[Node]]] = []
    for is_copied, run in groupby(turns, lambda turn: turn.copied_messages is not None):
        for are_results, group in groupby(run, lambda turn: turn.role == "tool"):
            if is_copied:
                written += (item for turn in group for item in writer.copy_messages(turn))
            elif are_results:
                written.append(("user", writer.write_results(group)))
            else:
                written += ((turn.role, writer.write_turn(turn)) for turn in group)
    nonempty: list[tuple[str, list[Node]]] = []
    for role, blocks in written:
        # An empty turn is left out. A turn with only cache marks is left out too, unless its marks
        # can be appended to a message of the same role.
        extends_message = bool(blocks and nonempty) and nonempty[-1][0] == role
        if extends_message or not all(map(_is_cache_mark, blocks)):
            nonempty.append((role, blocks))
    return [
        {"role": role, "content": [block for _, blocks in run for block in blocks]}
        for role, run in groupby(nonempty, lambda item: item[0])
    ]


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as requests have it; `None` if they do not accept it."""
    sent = native.message
    content = sent.get("content")
    is_message = native.dialect in (None, "bedrock") and sent.get("role") in ("user", "assistant")
    if not is_message or not isinstance(content, list) or not all(map(_is_converse_block, content)):
        return None
    are_results = ["toolResult" in block for block in content if isinstance(block, dict)]
    has_results_first = are_results == sorted(are_results, reverse=True)
    if not has_results_first or not all(map(_is_valid_result, content)):
        return None
    return select_request_members(sent, _REQUEST_MEMBERS, frozenset())


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether requests accept a block in a rewritten message."""
    return _is_converse_block(block)


def _is_converse_block(block: JsonValue) -> bool:
    if not isinstance(block, dict) or "type" in block:
        return False
    return any(value is not None for value in block.values()) and fits_members(block, _BLOCK_SHAPES)


def _is_valid_result(block: JsonValue) -> bool:
    """Return whether the result of a failed call has only text; true for all other blocks."""
    result = block.get("toolResult") if isinstance(block, dict) else None
    if not isinstance(result, dict) or result.get("status") != "error":
        return True
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    return bool(blocks) and all(isinstance(item, dict) and "text" in item for item in blocks)


def mark_cached(message: Node) -> Node:
    """Return a message with the block that marks its end as cached."""
    if not isinstance(message, dict) or not isinstance(content := message["content"], list):
        return message
    mark: Node = {"cachePoint": {"type": "default"}}
    return {**message, "content": [*content, mark]}


class _Writer:
    """Writes the blocks of messages, and keeps the names of documents unique."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._names: set[str] = set()

    def copy_messages(self, turn: ResolvedTurn) -> Iterator[tuple[str, list[Node]]]:
        """Yield the role and the blocks of each message that is copied as it was sent."""
        for message in turn.copied_messages or ():
            for block in message["content"]:
                document = block.get("document")
                if isinstance(document, dict) and isinstance(name := document.get("name"), str):
                    self._names.add(name.lower())
            yield message["role"], message["content"]

    def write_turn(self, turn: ResolvedTurn) -> list[Node]:
        """Return the blocks of a turn that is not a result."""
        # The calls of a turn follow its items, so cache marks at the end of a message are the last
        # items. They are written after the calls again.
        end = len(turn.items) - sum(1 for _ in takewhile(is_cache_mark, reversed(turn.items)))
        blocks = self._write_blocks(turn.items[:end], turn.origin)
        marks = [copy_provider_block(item) for item in turn.items[end:] if is_cache_mark(item)]
        for call in turn.calls:
            use: Node = {
                "toolUseId": self._profile.call_id.fit(call.call_id),
                "name": self._profile.tool_name.fit(call.name),
                "input": JsonLeaf(call.arguments),
            }
            blocks.append({"toolUse": use})
        return [*blocks, *marks]

    def write_results(self, group: Iterable[ResolvedTurn]) -> list[Node]:
        """Return the blocks of all results of a turn, and then those of media outside of them."""
        results: list[Node] = []
        media: list[Node] = []
        for turn in group:
            call_id = self._profile.call_id.fit(turn.call_id)
            inner_items: list[ResolvedItem | str] = []
            marks: list[Node] = []
            for item in turn.items:
                if is_cache_mark(item):
                    marks.append(copy_provider_block(item))
                elif isinstance(item, MediaItem) and (turn.is_error or _class_of(item) == "audio"):
                    inner_items.append(format_attachment_line(item, _MEDIA_LOCATION))
                    is_document = _class_of(item) == "document"
                    medium = _write_medium(
                        item, self._choose_name(item, turn.origin) if is_document else None
                    )
                    media += [*_write_text(format_origin_line(turn, item, call_id)), medium]
                else:
                    inner_items.append(item)
            content = self._write_blocks(inner_items, turn.origin, is_result=True)
            if turn.is_error:
                content = content or _write_text(ERROR_LINE)
            status = "error" if turn.is_error else "success"
            result: Node = {"toolUseId": call_id, "content": content, "status": status}
            results += {"toolResult": result}, *marks
        return [*results, *media]

    def _write_blocks(
        self, items: Sequence[ResolvedItem | str], origin: str, *, is_result: bool = False
    ) -> list[Node]:
        blocks: list[Node] = []
        documents: list[MediaItem] = []
        has_text = False
        for item in items:
            if isinstance(item, MediaItem) and _class_of(item) == "document":
                name = self._choose_name(item, origin)
                if not _has_plain_name(item.filename or ""):
                    blocks += _write_text(format_attachment_line(item, f'attached as "{name}"'))
                    has_text = True
                blocks.append(_write_medium(item, name))
                documents.append(item)
            elif isinstance(item, MediaItem):
                blocks.append(_write_medium(item))
            elif isinstance(item, ProviderBlock):
                blocks.append(copy_provider_block(item))
            elif is_result and isinstance(item, DataItem) and isinstance(item.value, dict):
                blocks.append({"json": JsonLeaf(item.value)})
            else:
                text = _write_text(item if isinstance(item, str) else text_of(item))
                has_text = has_text or bool(text)
                blocks += text
        if documents and not has_text:
            blocks = [*_write_text(format_attachment_line(documents[0], "attached")), *blocks]
        return blocks

    def _choose_name(self, attachment: MediaItem, origin: str) -> str:
        """Return the name of a document, which no other document of the request has.

        Args:
            attachment: The document.
            origin: The HTTP path of its record.
        """
        # A fork of a session has the same names as the session.
        location = f"{_SESSION_PREFIX.sub('', origin)}#{attachment.medium.pointer}"
        digits = hashlib.sha256(location.encode("utf-8", "surrogatepass")).hexdigest()
        base = f"{_plain_name(attachment.filename or '')} {digits[:_NAME_DIGITS]}"
        name, number = base, 1
        while name.lower() in self._names:
            number += 1
            name = f"{base} ({number})"
        self._names.add(name.lower())
        return name


def _is_cache_mark(block: Node) -> bool:
    return isinstance(block, dict) and "cachePoint" in block


def _write_medium(attachment: MediaItem, name: str | None = None) -> Node:
    kind = _class_of(attachment)
    medium: dict[str, Node] = {
        "format": FORMATS[kind][_type_of(attachment)],
        "source": {"bytes": base64_leaf(attachment)},
    }
    return {kind: medium if name is None else {**medium, "name": name}}


def _plain_name(filename: str) -> str:
    """Return a file name with only the characters that the service accepts, without extension."""
    return (
        _NOT_IN_NAMES.sub(" ", _remove_accents(filename))[:_MAX_NAME_CHARS].strip() or _DEFAULT_NAME
    )


def _has_plain_name(filename: str) -> bool:
    """Return whether `_plain_name` of a file name differs only in accents, signs and spaces."""
    return all(
        sign.isascii() or unicodedata.category(sign)[0] in _DROPPED_CATEGORIES
        for sign in _remove_accents(filename)
    )


def _remove_accents(filename: str) -> str:
    """Return a file name without its extension, and without accents."""
    has_extension = mime_type_for_filename(filename) is not None
    stem = (has_extension and filename.rpartition(".")[0]) or filename
    # Without this, letters with accents would be replaced by spaces.
    decomposed = unicodedata.normalize("NFKD", stem[:_MAX_READ_CHARS])
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))


def _write_text(text: str | None) -> list[Node]:
    return [{"text": text}] if text and not text.isspace() else []


def _class_of(attachment: MediaItem) -> MediaClass:
    # The class of the type that is sent, since that type determines the format.
    return media_class(resource_kind(_type_of(attachment)))


def _type_of(attachment: MediaItem) -> str:
    return canonical_mime_type(attachment.mime_type) or attachment.mime_type
