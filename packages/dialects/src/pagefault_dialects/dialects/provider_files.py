"""Descriptions of blocks that refer to a file of a provider by its id, as tools may return them.

Other providers cannot read the file, so they get the description.
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


def _matches(form: ResultShape) -> Check:
    return lambda value: isinstance(value, dict) and form.read(value) is not None


_ID = {"file_id": is_string}
_DOCUMENT = shape(
    {
        "type": one_of("document", "image"),
        "source": _matches(shape({"type": one_of("file"), **_ID})),
    },
    {
        **dict.fromkeys(("title", "context"), is_string),
        **dict.fromkeys(("citations", "cache_control"), accept_any),
    },
)
_INPUT = shape({"type": is_string, **_ID}, dict.fromkeys(("detail", "filename"), is_string))
_UPLOAD = shape({"type": is_string, **_ID}, {"cache_control": accept_any})
_CHAT_FILE = shape({"type": is_string, "file": _matches(shape(_ID, {"filename": is_string}))})
_BY_TYPE = {
    "document": ("anthropic", _DOCUMENT),
    "image": ("anthropic", _DOCUMENT),
    "container_upload": ("anthropic", _UPLOAD),
    "file": ("openai-chat", _CHAT_FILE),
    "input_file": ("openai-responses", _INPUT),
    "input_image": ("openai-responses", _INPUT),
}
_S3_BLOCK = shape(
    {"format": is_string, "source": _matches(shape({"s3Location": is_object}))},
    {"name": is_string, "context": is_string, "citations": accept_any},
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
        if len(block) > 1 or kind not in _BEDROCK_KINDS or not _matches(_S3_BLOCK)(inner):
            return None
        labels = [value_at(inner, path) for path in (("name",), _URI)]
    return DescribedBlock(kind, _label_text(kind, labels), dialect)


def describe_block(block: Object) -> DescribedBlock | None:
    """Return the description of any block with a type; `None` for an object without a type."""
    kind = next(
        (value for name in _TYPE_MEMBERS if isinstance(value := block.get(name), str)), None
    )
    if kind is None:
        return None
    return DescribedBlock(kind, _label_text(kind, map(block.get, _LABEL_MEMBERS)))


def _label_text(kind: str, labels: Iterable[object]) -> str:
    texts = [item for item in labels if isinstance(item, str) and item]
    return "\n".join(texts) or f"[block: {kind}]"
