"""Converts tool results, without their envelope, to blocks of messages in common form."""

from collections.abc import Callable, Iterator, Sequence

from pagefault_dialects.dialects.foreign_message import medium_block, result_block, text_block
from pagefault_dialects.dialects.tool_output import BlockForm, Content, ToolOutput
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text
from pagefault_dialects.media.block_shapes import match_at, match_typed_block, value_at
from pagefault_dialects.media.block_table import TEXT_TYPES

_MAX_DEPTH = 8


ConvertBlock = Callable[[JsonObject], Sequence[JsonValue] | None]
"""Converts a block to blocks in common form; returns `None` if it is in common form."""


def convert_result(
    output: ToolOutput, forms: tuple[BlockForm, ...], convert: ConvertBlock
) -> JsonValue:
    """Return a tool result as a block in common form.

    Args:
        output: The result.
        forms: The forms of blocks that only the dialect of the result has.
        convert: Converts blocks that messages may have as well.
    """
    reader = _ContentReader(forms, convert)
    contents = [reader.read(item) for item in output.contents]
    content = contents[0] if len(contents) == 1 else [*_join_contents(contents)] or ""
    is_error = output.is_error is True
    return result_block(output.call_id or "", output.name or "", content, is_error=is_error)


def _join_contents(contents: list[JsonValue]) -> Iterator[JsonValue]:
    """Yield the blocks of all contents, without empty ones."""
    for content in contents:
        if isinstance(content, list):
            yield from content
        elif isinstance(content, str) and content:
            yield text_block(content)
        elif isinstance(content, dict) and match_typed_block(content) is None:
            # Data of the tool, which would be read as a block of a dialect in a list.
            yield text_block(json_text(content))
        elif content not in (None, ""):
            yield content


class _ContentReader:
    """Reads the contents of one result."""

    def __init__(self, forms: tuple[BlockForm, ...], convert: ConvertBlock) -> None:
        self._forms = forms
        self._convert = convert

    def read(self, content: Content) -> JsonValue:
        """Return a content in common form."""
        value: JsonValue = content.value
        if content.read_as == "json":
            return value if isinstance(value, str) else json_text(value)
        if content.read_as == "media" and isinstance(value, list):
            return [
                medium_block("image", item, None, None) if isinstance(item, str) else item
                for item in value
            ]
        if isinstance(value, list):
            return [block for item in value for block in self._read_block(item, 0)]
        if content.read_as == "content" and isinstance(value, dict):
            return [*self._read_block(value, 0)]
        return value

    def _read_block(self, block: JsonValue, depth: int) -> Iterator[JsonValue]:
        """Yield the blocks in common form for a block; other values are returned as they are."""
        if not isinstance(block, dict) or block.get("type") in TEXT_TYPES or depth > _MAX_DEPTH:
            yield block
            return
        converted = self._convert(block)
        if converted is not None:
            yield from converted
            return
        for form in self._forms:
            if form.mark is not None and block.get(form.mark[0]) != form.mark[1]:
                continue
            values = [value_at(block, path) for path in form.payloads]
            payloads = [value for value in values if value is not None]
            if payloads or form.payload_kind == "nothing":
                yield from self._read_payloads(block, form, payloads, depth)
                return
        yield block

    def _read_payloads(
        self, block: JsonObject, form: BlockForm, payloads: list[JsonValue], depth: int
    ) -> Iterator[JsonValue]:
        """Yield the blocks in common form for a block of a form, given its payloads."""
        match form.payload_kind:
            case "text":
                yield from (text_block(str(item)) for item in payloads if item != "")
            case "json":
                data = payloads[0]
                yield text_block(data if isinstance(data, str) else json_text(data))
            case "content":
                yield from _make_label_blocks(block, form)
                items = payloads[0] if isinstance(payloads[0], list) else [payloads[0]]
                for item in items:
                    inner_block = text_block(item) if isinstance(item, str) else item
                    yield from self._read_block(inner_block, depth + 1)
            case "media":
                yield _make_medium_block(block, form)


def _make_label_blocks(block: JsonObject, form: BlockForm) -> Iterator[JsonValue]:
    """Yield a text block with the title and the URI of a block, if it has any."""
    values = (value_at(block, path) for path in (form.name, form.uri) if path)
    labels = [item for item in values if isinstance(item, str) and item]
    if labels:
        yield text_block(f"[{', '.join(labels)}]")


def _make_medium_block(block: JsonObject, form: BlockForm) -> JsonValue:
    """Return the block of a medium in common form; the block itself, if it is in this form."""
    if match_typed_block(block) is not None:
        return block
    path = next(path for path in form.payloads if value_at(block, path) is not None)
    match = match_at(block, path, form.kind)
    if match is None or not isinstance(match.payload, str):
        return block
    name = value_at(block, form.name) if form.name else None
    mime_type = value_at(block, form.mime_type) if form.mime_type else None
    claim = match.claim
    claimed_type = mime_type if isinstance(mime_type, str) else claim.mime_type
    kind = claim.kind or form.kind or "file"
    return medium_block(kind, match.payload, claimed_type, name or claim.filename)
