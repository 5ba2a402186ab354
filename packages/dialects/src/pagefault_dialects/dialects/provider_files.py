"""Blocks that refer to files which only their provider has; tools may return them."""

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


def _matches(form: ResultShape) -> Check:
    return lambda value: isinstance(value, dict) and form.read(value) is not None


_ID = {"file_id": string}
_DOCUMENT = shape(
    {
        "type": one_of("document", "image"),
        "source": _matches(shape({"type": one_of("file"), **_ID})),
    },
    {
        **dict.fromkeys(("title", "context"), string),
        **dict.fromkeys(("citations", "cache_control"), anything),
    },
)
_INPUT = shape({"type": string, **_ID}, dict.fromkeys(("detail", "filename"), string))
_UPLOAD = shape({"type": string, **_ID}, {"cache_control": anything})
_CHAT_FILE = shape({"type": string, "file": _matches(shape(_ID, {"filename": string}))})
_BY_TYPE = {
    "document": ("anthropic", _DOCUMENT),
    "image": ("anthropic", _DOCUMENT),
    "container_upload": ("anthropic", _UPLOAD),
    "file": ("openai-chat", _CHAT_FILE),
    "input_file": ("openai-responses", _INPUT),
    "input_image": ("openai-responses", _INPUT),
}
_S3_BLOCK = shape(
    {"format": string, "source": _matches(shape({"s3Location": record}))},
    {"name": string, "context": string, "citations": anything},
)
_URI = ("source", "s3Location", "uri")
_TYPE_MEMBERS = ("type", "block_type", "kind")
_LABEL_MEMBERS = ("title", "name", "filename", "url", "uri")
_BEDROCK_KINDS = frozenset({"image", "document", "video", "audio"})


class DescribedBlock(NamedTuple):
    """The description of a block that only its own provider understands."""

    kind: str
    """The type of the block."""
    text: str
    """Its title, name and URL; the type if it has none of them."""
    dialect: str | None = None
    """The dialect of the provider, if the block determines it."""


def find_provider_file(block: Object) -> DescribedBlock | None:
    """Return the description of a block that refers to such a file; `None` for other blocks."""
    kind = block.get("type")
    if isinstance(kind, str):
        dialect, form = _BY_TYPE.get(kind, ("", None))
        if form is None or form.read(block) is None:
            return None
        labels = [block.get("title"), block.get("filename"), value_at(block, ("file", "filename"))]
    else:
        dialect = "bedrock"
        kind, inner = next(iter(block.items()), ("", None))
        if len(block) > 1 or kind not in _BEDROCK_KINDS or not _matches(_S3_BLOCK)(inner):
            return None
        labels = [value_at(inner, path) for path in (("name",), _URI)]
    return DescribedBlock(kind, _label_text(kind, labels), dialect)


def describe_block(block: Object) -> DescribedBlock | None:
    """Return a description of any block with a type; `None` for data."""
    kind = next(
        (value for name in _TYPE_MEMBERS if isinstance(value := block.get(name), str)), None
    )
    return (
        None
        if kind is None
        else DescribedBlock(kind, _label_text(kind, map(block.get, _LABEL_MEMBERS)))
    )


def _label_text(kind: str, labels: Iterable[object]) -> str:
    words = [item for item in labels if isinstance(item, str) and item]
    return "\n".join(words) or f"[block: {kind}]"
