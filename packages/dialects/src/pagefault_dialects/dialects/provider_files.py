"""Blocks of files that only their provider has; tools return them without an envelope."""

from collections.abc import Iterable
from typing import NamedTuple

from pagefault_dialects.dialects.shapes import (
    Check,
    Object,
    ResultShape,
    anything,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.media.block_shapes import value_at


def _of(form: ResultShape) -> Check:
    return lambda value: isinstance(value, dict) and form.read(value) is not None


_ID = {"file_id": string}
_DOCUMENT = shape(
    {"type": one_of("document", "image"), "source": _of(shape({"type": one_of("file"), **_ID}))},
    {
        **dict.fromkeys(("title", "context"), string),
        **dict.fromkeys(("citations", "cache_control"), anything),
    },
)
_INPUT = shape({"type": string, **_ID}, dict.fromkeys(("detail", "filename"), string))
_UPLOAD = shape({"type": string, **_ID}, {"cache_control": anything})
_OF_CHAT = shape({"type": string, "file": _of(shape(_ID, {"filename": string}))})
_BY_TYPE = {
    "document": ("anthropic", _DOCUMENT),
    "image": ("anthropic", _DOCUMENT),
    "container_upload": ("anthropic", _UPLOAD),
    "file": ("openai-chat", _OF_CHAT),
    "input_file": ("openai-responses", _INPUT),
    "input_image": ("openai-responses", _INPUT),
}
_IN_BUCKET = shape(
    {"format": string, "source": _of(shape({"s3Location": record}))},
    {"name": string, "context": string, "citations": anything},
)
_URI = ("source", "s3Location", "uri")
_TYPES = ("type", "block_type", "kind")
_WORDS = ("title", "name", "filename", "url", "uri")
_OF_BEDROCK = frozenset({"image", "document", "video", "audio"})


class OwnBlock(NamedTuple):
    """A block that only its own provider understands, described for others."""

    kind: str
    text: str
    """Its title, name and address; else its kind."""
    dialect: str | None = None
    """The provider's dialect, if the block alone identifies it."""


def find_provider_file(block: Object) -> OwnBlock | None:
    """Return a description of a block with such a file; `None` for other blocks."""
    kind = block.get("type")
    if isinstance(kind, str):
        dialect, form = _BY_TYPE.get(kind, ("", None))
        if form is None or form.read(block) is None:
            return None
        named = [block.get("title"), block.get("filename"), value_at(block, ("file", "filename"))]
    else:
        dialect = "bedrock"
        kind, inner = next(iter(block.items()), ("", None))
        if len(block) > 1 or kind not in _OF_BEDROCK or not _of(_IN_BUCKET)(inner):
            return None
        named = [value_at(inner, path) for path in (("name",), _URI)]
    return OwnBlock(kind, _text(kind, named), dialect)


def describe_block(block: Object) -> OwnBlock | None:
    """Return a description of any block with a type; `None` for data."""
    kind = next((value for name in _TYPES if isinstance(value := block.get(name), str)), None)
    return None if kind is None else OwnBlock(kind, _text(kind, map(block.get, _WORDS)))


def _text(kind: str, named: Iterable[object]) -> str:
    words = [item for item in named if isinstance(item, str) and item]
    return "\n".join(words) or f"[block: {kind}]"
