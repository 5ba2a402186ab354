"""Describes blocks that only one provider understands, such as references to its files.

Tools may return such blocks. Other providers cannot read the file, so they get the description.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pagefault_dialects.dialects.shapes import (
    Check,
    Object,
    ResultShape,
    accept_any,
    is_object,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.media.block_shapes import value_at


def _has_shape(form: ResultShape) -> Check:
    """Return a check that accepts objects of a shape."""
    return lambda value: isinstance(value, dict) and form.read(value) is not None


_ID = {"file_id": is_string}
_DOCUMENT = shape(
    {
        "type": one_of("document", "image"),
        "source": _has_shape(shape({"type": one_of("file"), **_ID})),
    },
    {
        **dict.fromkeys(("title", "context"), is_string),
        **dict.fromkeys(("citations", "cache_control"), accept_any),
    },
)
_INPUT = shape({"type": is_string, **_ID}, dict.fromkeys(("detail", "filename"), is_string))
_UPLOAD = shape({"type": is_string, **_ID}, {"cache_control": accept_any})
_CHAT_FILE = shape({"type": is_string, "file": _has_shape(shape(_ID, {"filename": is_string}))})
# The dialect and the shape of a block with a file, by the type of the block.
_BY_TYPE = {
    "document": ("anthropic", _DOCUMENT),
    "image": ("anthropic", _DOCUMENT),
    "container_upload": ("anthropic", _UPLOAD),
    "file": ("openai-chat", _CHAT_FILE),
    "input_file": ("openai-responses", _INPUT),
    "input_image": ("openai-responses", _INPUT),
}
_S3_BLOCK = shape(
    {"format": is_string, "source": _has_shape(shape({"s3Location": is_object}))},
    {"name": is_string, "context": is_string, "citations": accept_any},
)
_S3_URI_PATH = ("source", "s3Location", "uri")
_TYPE_MEMBERS = ("type", "block_type", "kind")
_LABEL_MEMBERS = ("title", "name", "filename", "url", "uri")
_BEDROCK_KINDS = frozenset({"image", "document", "video", "audio"})


class DescribedBlock(NamedTuple):
    """The description of a block that only its own provider understands."""

    kind: str
    """The type of the block."""
    text: str
    """The title, name and URL of the block; the type if it has none of them."""
    dialect: str | None = None
    """The dialect of the provider, if the block determines it."""


def find_provider_file(block: Object) -> DescribedBlock | None:
    """Return the description of a block that refers to a file; `None` for any other block."""
    kind = block.get("type")
    if isinstance(kind, str):
        dialect, form = _BY_TYPE.get(kind, ("", None))
        if form is None or form.read(block) is None:
            return None
        labels = [block.get("title"), block.get("filename"), value_at(block, ("file", "filename"))]
    else:
        dialect = "bedrock"
        kind, inner = next(iter(block.items()), ("", None))
        if len(block) > 1 or kind not in _BEDROCK_KINDS or not _has_shape(_S3_BLOCK)(inner):
            return None
        labels = [value_at(inner, path) for path in (("name",), _S3_URI_PATH)]
    return DescribedBlock(kind, _format_labels(kind, labels), dialect)


def describe_block(block: Object) -> DescribedBlock | None:
    """Return the description of any block with a type; `None` for an object without a type."""
    kind = next(
        (value for name in _TYPE_MEMBERS if isinstance(value := block.get(name), str)), None
    )
    if kind is None:
        return None
    return DescribedBlock(kind, _format_labels(kind, map(block.get, _LABEL_MEMBERS)))


def _format_labels(kind: str, labels: Iterable[object]) -> str:
    """Return the labels that are texts, each on a line; without any, the type of the block."""
    texts = [item for item in labels if isinstance(item, str) and item]
    return "\n".join(texts) or f"[block: {kind}]"
