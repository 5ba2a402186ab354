"""Normalizes a whole tool result: an MCP CallToolResult or any JSON value, in any envelope.

Strings, blocks and lists of them become parts, in order. A list becomes several parts if it has a
text, a block or a medium at any depth of lists; a list of plain data becomes one JSON text. All
items have to be read to decide this, so plain items are kept as `PlainData` until then.

Lists and blocks may be nested as deeply as JSON, so they are walked with a stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pagefault_dialects.dialects.envelope import DialectTables
from pagefault_dialects.dialects.registry import find_dialect, find_results
from pagefault_dialects.dialects.tool_output import Content, ToolOutput
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.media.base64_runs import decode_undeclared
from pagefault_dialects.media.block_shapes import MediaClaim, is_media_source
from pagefault_dialects.media.data_uris import is_data_uri
from pagefault_dialects.media.line_lists import join_base64_lines
from pagefault_dialects.model.normalized import (
    NO_PROVENANCE,
    NormalizedPart,
    NormalizedText,
    NormalizedToolResult,
    Provenance,
)
from pagefault_dialects.results.blocks import NestedContent, read_block
from pagefault_dialects.results.call_tool_results import CallToolResult, read_call_tool_result
from pagefault_dialects.results.collector import Collector, Pointer
from pagefault_dialects.results.dialect_blocks import (
    add_provenance,
    read_dialect_block,
    read_provider_file,
    read_unknown_block,
)
from pagefault_dialects.results.parts import (
    ReadContext,
    add_medium_part,
    make_json_part,
    make_media_parts,
    read_as_json,
    read_payload,
    read_string,
)
from pagefault_dialects.results.structures import MediaExtractor, extract_media

# The structured content that SDKs write for a tool that returned nothing.
_EMPTY_STRUCTURED_CONTENT = {"result": None}


@dataclass(frozen=True, slots=True)
class PlainData:
    """A value without texts and media that would be parts of their own. It becomes JSON text."""

    value: object


ValueOutcome = list[NormalizedPart] | PlainData
"""The parts of a value that was read; or the value, if it is plain data."""


@dataclass(slots=True)
class _List:
    """A list that is being read."""

    items: Iterator[tuple[object, ReadContext]]
    """The items that are still to be read, each with its context."""
    is_content: bool
    """True if each item is a part, even if all are plain data."""
    following: list[NormalizedPart] = field(default_factory=list)
    """The parts after those of the items."""
    provenance: Provenance = NO_PROVENANCE
    """The provenance of the first part."""
    outcomes: list[ValueOutcome] = field(default_factory=list)
    """The parts or the plain data of each item that was read."""

    def make_outcome(self) -> ValueOutcome:
        """Return the parts or the plain data of the whole list, once all items were read."""
        plain = [outcome.value for outcome in self.outcomes if isinstance(outcome, PlainData)]
        if not self.is_content and len(plain) == len(self.outcomes):
            return PlainData(plain)
        parts: list[NormalizedPart] = []
        for outcome in self.outcomes:
            parts += _make_parts(outcome)
        return add_provenance(parts, self.provenance) + self.following


def read_content(value: object, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of any value: text, media, links, and JSON text for plain data."""
    return _make_parts(_read(value, context, is_content=False))


def read_content_list(items: list[object], context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a list each of whose items is a part, such as MCP's `content`."""
    return _make_parts(_read(items, context, is_content=True))


def _make_parts(outcome: ValueOutcome) -> list[NormalizedPart]:
    """Return parts unchanged, and plain data, also `null`, as one part with its JSON text."""
    return [make_json_part(outcome.value)] if isinstance(outcome, PlainData) else outcome


def _read(value: object, context: ReadContext, *, is_content: bool) -> ValueOutcome:
    """Return the parts of a value, or the value itself if it is plain data.

    Args:
        value: Any value.
        context: The context of the value.
        is_content: Whether each item of a list is a part, even if all are plain data.
    """
    # The value is read as the only item of an outer list.
    outer = _List(iter(()), is_content=False)
    stack = [outer]
    _read_or_push(value, context, stack, is_content=is_content)
    while len(stack) > 1:
        current = stack[-1]
        item = next(current.items, None)
        if item is None:
            stack.pop()
            stack[-1].outcomes.append(current.make_outcome())
        else:
            _read_or_push(*item, stack, is_content=False)
    return outer.outcomes[0]


def _read_or_push(
    value: object, context: ReadContext, stack: list[_List], *, is_content: bool
) -> None:
    """Read a value, and add its outcome to the list on top of the stack.

    A list, or a block with nested content, is pushed onto the stack instead.
    """
    if isinstance(value, list):
        # A list of lines may be one medium.
        lines = join_base64_lines(value) if len(value) > 1 else None
        if lines is None or not (is_data_uri(lines) or decode_undeclared(lines)):
            stack.append(_List(_iterate_items(value, context), is_content))
            return
        value = lines
    outcome = _read_item(value, context)
    if not isinstance(outcome, NestedContent):
        stack[-1].outcomes.append(outcome)
        return
    if isinstance(outcome.content, list):
        items = _iterate_items(outcome.content, outcome.context)
    else:
        items = iter(() if outcome.content is None else ((outcome.content, outcome.context),))
    stack.append(_List(items, True, outcome.following, outcome.provenance))


def _iterate_items(
    values: list[object], context: ReadContext
) -> Iterator[tuple[object, ReadContext]]:
    """Yield each value of a list with its context."""
    return ((value, context.descend(index)) for index, value in enumerate(values))


def _read_item(value: object, context: ReadContext) -> ValueOutcome | NestedContent:
    """Return the parts or the plain data of a value that is no list, or its nested content."""
    if isinstance(value, str):
        return read_string(value, context)
    if is_media_source(value):
        return [add_medium_part(value, MediaClaim(), context)]
    if isinstance(value, dict):
        outcome = read_dialect_block(value, context) if context.forms else None
        if outcome is None:
            outcome = read_block(value, context)
        if outcome is None and not context.is_message:
            outcome = read_provider_file(value, context)
        if outcome is None and context.is_closed:
            outcome = read_unknown_block(value, context)
        if outcome is not None:
            return outcome
    extractor = MediaExtractor(context.collector)
    extracted = extract_media(value, context.pointer, extractor)
    if not extractor.slots:
        return PlainData(extracted)
    return [make_json_part(extracted), *make_media_parts(extractor.slots)]


def normalize(
    result: object,
    *,
    call_id: str | None = None,
    tool_name: str | None = None,
    is_message: bool = False,
) -> NormalizedToolResult:
    """Return a tool result as typed parts and the media found in them.

    The function does no I/O, does not change its input, drops nothing, and is deterministic.

    Args:
        result: Any JSON value of `parse_json`. Any string in it may be replaced by a `MediaSource`.
        call_id: The id of the call. If the result is an envelope with the results of several calls,
            only the result of this call is read.
        tool_name: The tool that was called.
        is_message: Whether the result is part of a message. Files that only a provider has are then
            kept as data, because the reader of messages reports them.

    Returns:
        Parts in display order, at least one; all media, each decoded once; warnings with JSON
        pointers into `result`.

    Raises:
        InvalidPayloadError: The result has results of several calls, and none or several of them
            are of this call.

    Source: spec 002, "Sanitization Pipeline", step 1.
    """
    return _Normalization(call_id, tool_name, is_message=is_message).run(result)


class _Normalization:
    """Normalizes one result."""

    def __init__(self, call_id: str | None, tool_name: str | None, *, is_message: bool) -> None:
        self._call_id = call_id
        self._tool_name = tool_name
        self._collector = Collector()
        # The context of the whole result.
        self._root = ReadContext(self._collector, Pointer(), is_message=is_message)
        # Collects the media in values that are not parts. These media get parts after all others.
        self._extractor = MediaExtractor(self._collector)

    def run(self, result: object) -> NormalizedToolResult:
        """Return the normalized result."""
        # `_display` is beside the members of the result, or inside its envelope.
        display, display_context, visible = _take_display(result, self._root)
        output = self._open_envelope(visible) if isinstance(visible, dict | list) else None
        contents = output.contents if output else (Content(visible, ()),)
        if display is None and len(contents) == 1:
            content_context = self._root.descend(*contents[0].path)
            display, display_context, visible = _take_display(contents[0].value, content_context)
            contents = (replace(contents[0], value=visible),) if display is not None else contents
        if output and output.is_error is not None:
            self._collector.report_error(output.is_error)
        dialect = find_dialect(output.dialect) if output else None
        mcp_result: CallToolResult | None = None
        mcp_context = self._root
        parts: list[NormalizedPart] = []
        for content in contents:
            content_context = self._find_context(content, dialect)
            value = content.value
            inner_result = read_call_tool_result(value) if isinstance(value, dict) else None
            if inner_result is None:
                parts += _read_plain_content(content, content_context)
                continue
            mcp_result, mcp_context = mcp_result or inner_result, self._root.descend(*content.path)
            parts += _read_mcp_content(inner_result, content_context)
        structured = self._read_structured_content(mcp_result, mcp_context)
        if structured and not parts and structured[0] != _EMPTY_STRUCTURED_CONTENT:
            parts = [make_json_part(structured[0])]
        if mcp_result and mcp_result.extras:
            parts += read_as_json(mcp_result.extras, mcp_context)
        meta, envelope = self._read_meta(mcp_result, mcp_context), self._read_envelope(output)
        if display is not None:
            display = self._extract(display, display_context)
        return NormalizedToolResult(
            parts=(*(parts or [NormalizedText(("",))]), *make_media_parts(self._extractor.slots)),
            media=tuple(self._collector.media),
            is_error=self._collector.is_error,
            structured_content=structured,
            display=display,
            meta=meta,
            envelope=envelope,
            warnings=self._collector.list_warnings(),
        )

    def _find_context(self, content: Content, dialect: DialectTables | None) -> ReadContext:
        """Return the context of a content in the envelope of a dialect, if there is one."""
        if dialect is None:
            return self._root
        is_closed = dialect.has_closed_content and content.read_as == "content"
        context = replace(self._root, forms=dialect.blocks, is_closed=is_closed)
        return context.descend(*content.path)

    def _open_envelope(self, result: object) -> ToolOutput | None:
        """Return the result of the call in an envelope; `None` if there is no envelope.

        Raises:
            InvalidPayloadError: See `normalize`.
        """
        outputs = find_results(result)
        if len(outputs) < 2:
            return outputs[0] if outputs else None
        if self._call_id is None or all(output.call_id is None for output in outputs):
            return None
        outputs_of_call = [output for output in outputs if output.call_id == self._call_id]
        if len(outputs_of_call) == 1:
            self._collector.warn(
                "other-answers",
                self._root.pointer,
                f"The result holds the answers to {len(outputs) - 1} other calls as well; they are "
                "no part of this record.",
            )
            return outputs_of_call[0]
        how_many = "several" if outputs_of_call else "none"
        raise InvalidPayloadError(
            f"The result holds the answers to {len(outputs)} calls, {how_many} of them to this "
            "one. A tool result answers one call: send a message of several answers to /messages "
            "of the session.",
            faults=[Fault("/result", "holds several answers; /messages takes them")],
        )

    def _read_envelope(self, output: ToolOutput | None) -> dict[str, object] | None:
        """Return the members of the envelope besides the result; `None` without an envelope.

        The call id and the tool are left out if they are those of the request. Media in the members
        are stored, but are no parts of the result.
        """
        if output is None:
            return None
        envelope: dict[str, object] = {"dialect": output.dialect}
        for key, name, expected, path in (
            ("toolCallId", output.call_id, self._call_id, output.call_id_path),
            ("toolName", output.name, self._tool_name, output.name_path),
        ):
            if name is None or name == expected:
                continue
            context = self._root.descend(*path)
            envelope[key] = context.collector.repair_text(name, context.pointer)
            if expected is not None:
                context.collector.warn(
                    "envelope-differs",
                    context.pointer,
                    f"The {output.dialect} envelope has another {key} than the request, which "
                    "counts; that of the envelope is kept in meta.envelope.",
                )
        if not output.rest:
            return envelope
        pointer = self._root.descend(*output.rest_path).pointer
        other_members = extract_media(output.rest, pointer, MediaExtractor(self._collector))
        return envelope | other_members if isinstance(other_members, dict) else envelope

    def _read_structured_content(
        self, result: CallToolResult | None, context: ReadContext
    ) -> tuple[object] | None:
        """Return the structured content as a tuple of one value, which may be `None`."""
        if result is None or "structuredContent" not in result.members:
            return None
        key, value = result.members["structuredContent"]
        return (self._extract(value, context.descend(key)),)

    def _read_meta(
        self, result: CallToolResult | None, context: ReadContext
    ) -> dict[str, object] | None:
        """Return the `_meta` of a result, with its media moved out."""
        if result is None or "_meta" not in result.members:
            return None
        key, value = result.members["_meta"]
        meta = self._extract(value, context.descend(key))
        return meta if isinstance(meta, dict) else None

    def _extract(self, value: object, context: ReadContext) -> object:
        return extract_media(value, context.pointer, self._extractor) if value else value


def _take_display(result: object, context: ReadContext) -> tuple[object, ReadContext, object]:
    """Return the `_display` of a result, its context, and the other members.

    People see `_display`, and models get the other members.
    """
    display_context = context.descend("_display")
    if not isinstance(result, dict) or result.get("_display") is None:
        return None, display_context, result
    visible = {key: result[key] for key in result if key != "_display"}
    return result["_display"], display_context, visible


def _read_plain_content(content: Content, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a content that is not a CallToolResult."""
    value = content.value
    if content.read_as == "json":
        return (
            read_string(value, context) if isinstance(value, str) else read_as_json(value, context)
        )
    if value is None:
        return []
    if isinstance(value, list) and content.read_as == "content":
        return read_content_list(value, context)
    if isinstance(value, list) and content.read_as == "media":
        parts: list[NormalizedPart] = []
        for index, item in enumerate(value):
            item_context = context.descend(index)
            if isinstance(item, str) or is_media_source(item):
                parts += read_payload(item, MediaClaim("image"), item_context)
            else:
                parts += read_content(item, item_context)
        return parts
    return read_content(value, context)


def _read_mcp_content(result: CallToolResult, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a CallToolResult, and record its `isError`."""
    parts: list[NormalizedPart] = []
    for name in ("content", "toolResult"):
        key, value = result.members.get(name, (name, None))
        if name == "content" and isinstance(value, list):
            parts += read_content_list(value, context.descend(key))
        elif value is not None:
            parts += read_content(value, context.descend(key))
    is_error = result.get("isError")
    if isinstance(is_error, bool):
        context.collector.report_error(is_error)
    return parts
