"""Blocks that name a file which only its provider has; tools return them without an envelope."""

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
_BY_TYPE = {
    "document": _DOCUMENT,
    "image": _DOCUMENT,
    "container_upload": shape({"type": string, **_ID}, {"cache_control": anything}),
    "file": shape({"type": string, "file": _of(shape(_ID, {"filename": string}))}),
    "input_file": _INPUT,
    "input_image": _INPUT,
}
_IN_BUCKET = shape(
    {"format": string, "source": _of(shape({"s3Location": record}))},
    {"name": string, "context": string, "citations": anything},
)
_URI = ("source", "s3Location", "uri")
_OF_BEDROCK = frozenset({"image", "document", "video", "audio"})


def find_provider_file(block: Object) -> tuple[str, list[str]] | None:
    """Return the kind of a block that names such a file, and its title, name and address."""
    kind = block.get("type")
    if isinstance(kind, str):
        form = _BY_TYPE.get(kind)
        if form is None or form.read(block) is None:
            return None
        named = [block.get("title"), block.get("filename"), value_at(block, ("file", "filename"))]
    else:
        kind, inner = next(iter(block.items()), ("", None))
        if len(block) > 1 or kind not in _OF_BEDROCK or not _of(_IN_BUCKET)(inner):
            return None
        named = [value_at(inner, path) for path in (("name",), _URI)]
    return kind, [each for each in named if isinstance(each, str) and each]
