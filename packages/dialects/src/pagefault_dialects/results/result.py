"""The whole result: an MCP CallToolResult, or any other JSON value, in whatever envelope.

Any value is read as content: strings, blocks and lists of them become parts, in order. A list is
content if it has a text, a block or a carrier of media, at any depth of lists; a list of plain data
becomes one JSON text. That is known only after its items are read, so every item is read once and
kept in both forms until then.

Lists and blocks may be nested as deeply as JSON, so they are walked with a stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pagefault_dialects.dialects.envelope import Dialect
from pagefault_dialects.dialects.registry import find_dialect, open_results
from pagefault_dialects.dialects.tool_output import Content, ToolOutput
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.media.base64_runs import decode_undeclared
from pagefault_dialects.media.block_shapes import MediaClaim, is_handle
from pagefault_dialects.media.data_uris import is_data_uri
from pagefault_dialects.media.line_lists import joined_lines
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
    read_dialect_block,
    read_provider_file,
    read_unknown_block,
    with_provenance,
)
from pagefault_dialects.results.parts import (
    ReadContext,
    declared_parts,
    extracted_parts,
    json_part,
    json_parts,
    medium_part,
    text_parts,
)
from pagefault_dialects.results.structures import Rewriting, rewrite_value

# What SDKs return for a tool that returned nothing.
# The result of SDKs for a tool that returned nothing.
_NOTHING = {"result": None}


@dataclass(frozen=True, slots=True)
class Data:
    """Data without text to read and without media, ready to be written."""

    value: object


ValueOutcome = list[NormalizedPart] | Data


@dataclass(slots=True)
class _List:
    """A list being read. With `is_content` all its items are parts."""

    items: Iterator[tuple[object, ReadContext]]
    is_content: bool
    following: list[NormalizedPart] = field(default_factory=list)
    carried: Provenance = NO_PROVENANCE
    outcomes: list[ValueOutcome] = field(default_factory=list)

    def outcome(self) -> ValueOutcome:
        """Return the outcome of the whole list."""
        plain = [outcome.value for outcome in self.outcomes if isinstance(outcome, Data)]
        if not self.is_content and len(plain) == len(self.outcomes):
            return Data(plain)
        parts: list[NormalizedPart] = []
        for outcome in self.outcomes:
            parts += data_parts(outcome)
        return with_provenance(parts, self.carried) + self.following


def read_content(value: object, place: ReadContext) -> list[NormalizedPart]:
    """Return the parts of any value: text, media, links, and JSON text for plain data."""
    outcome = _read(value, place, is_content=False)
    return [json_part(outcome.value)] if isinstance(outcome, Data) else outcome


def read_content_list(items: list[object], place: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a list that is content by definition, such as MCP's."""
    return data_parts(_read(items, place, is_content=True))


def data_parts(outcome: ValueOutcome) -> list[NormalizedPart]:
    """Return the parts of an item within content; that of `null` is the text "null"."""
    return [json_part(outcome.value)] if isinstance(outcome, Data) else outcome


def _read(value: object, place: ReadContext, *, is_content: bool) -> ValueOutcome:
    # The value is the only item of an outer list, whose outcome is then that of the value.
    outer = _List(iter(()), is_content=False)
    stack = [outer]
    _enter(value, place, stack, is_content=is_content)
    while len(stack) > 1:
        current = stack[-1]
        item = next(current.items, None)
        if item is None:
            stack.pop()
            stack[-1].outcomes.append(current.outcome())
        else:
            _enter(*item, stack, is_content=False)
    return outer.outcomes[0]


def _enter(value: object, place: ReadContext, stack: list[_List], *, is_content: bool) -> None:
    if isinstance(value, list):
        lines = joined_lines(value) if len(value) > 1 else None
        if lines is None or not (is_data_uri(lines) or decode_undeclared(lines)):
            stack.append(_List(_items(value, place), is_content))
            return
        value = lines
    outcome = _read_item(value, place)
    if not isinstance(outcome, NestedContent):
        stack[-1].outcomes.append(outcome)
        return
    nested, there = outcome.content, outcome.place
    if isinstance(nested, list):
        items = _items(nested, there)
    else:
        items = iter(() if nested is None else ((nested, there),))
    following, carried = outcome.following, outcome.carried
    stack.append(_List(items, is_content=True, following=following, carried=carried))


def _items(values: list[object], place: ReadContext) -> Iterator[tuple[object, ReadContext]]:
    return ((value, place.inside(index)) for index, value in enumerate(values))


def _read_item(value: object, place: ReadContext) -> ValueOutcome | NestedContent:
    if isinstance(value, str):
        return text_parts(value, place)
    if is_handle(value):
        return [medium_part(value, MediaClaim(), place)]
    if isinstance(value, dict):
        block = read_dialect_block(value, place) if place.forms else None
        block = read_block(value, place) if block is None else block
        if block is None and not place.is_message:
            block = read_provider_file(value, place)
        block = read_unknown_block(value, place) if block is None and place.is_closed else block
        if block is not None:
            return block
    rewriting = Rewriting(place.collector)
    rewritten = rewrite_value(value, place.pointer, rewriting)
    if not rewriting.slots:
        return Data(rewritten)
    return [json_part(rewritten), *extracted_parts(rewriting.slots)]


def normalize(
    result: object,
    *,
    call_id: str | None = None,
    tool_name: str | None = None,
    is_message: bool = False,
) -> NormalizedToolResult:
    """Return a tool result as typed parts and the media found in them.

    It does no I/O, does not change its input, drops nothing, and is deterministic. Without a call
    it accepts every JSON value.

    Args:
        result: Any JSON value of `parse_json`. Any string in it may be the `MediaSource` of its
            medium.
        call_id: The call that it answers. If it has several answers, that of this call is read.
        tool_name: The tool that was called.
        is_message: Whether it is part of a message, whose files by id are reported elsewhere.

    Returns:
        Parts in display order, at least one; all media, each decoded once; warnings with JSON
        pointers into `result`.

    Raises:
        InvalidPayloadError: It has several answers, but not one to this call.

    Source: spec 002, "Sanitization Pipeline", step 1.
    """
    return _Normalizing(call_id, tool_name, is_message=is_message).run(result)


class _Normalizing:
    """The reading of one result."""

    def __init__(self, call_id: str | None, tool_name: str | None, *, is_message: bool) -> None:
        self._call_id = call_id
        self._tool_name = tool_name
        self._collector = Collector()
        self._whole = ReadContext(self._collector, Pointer(), is_message=is_message)
        # Media of values outside of the parts, which are appended to these.
        self._aside = Rewriting(self._collector)

    def run(self, result: object) -> NormalizedToolResult:
        display, display_place, visible = _without_display(result, self._whole)
        output = self._opened(visible) if isinstance(visible, dict | list) else None
        contents = output.contents if output else (Content(visible, ()),)
        if display is None and len(contents) == 1:
            there = self._whole.inside(*contents[0].path)
            display, display_place, visible = _without_display(contents[0].value, there)
            contents = (replace(contents[0], value=visible),) if display is not None else contents
        if output and output.is_error is not None:
            self._collector.report_error(output.is_error)
        dialect = find_dialect(output.dialect) if output else None
        read: CallToolResult | None = None
        place = self._whole
        parts: list[NormalizedPart] = []
        for content in contents:
            here = self._opened_place(dialect, content)
            value = content.value
            result_of_mcp = read_call_tool_result(value) if isinstance(value, dict) else None
            if result_of_mcp is None:
                parts += _content_parts(content, here)
                continue
            read, place = read or result_of_mcp, self._whole.inside(*content.path)
            parts += _parts(result_of_mcp, here)
        structured = self._structured_content(read, place)
        if structured and not parts and structured[0] != _NOTHING:
            parts = [json_part(structured[0])]
        parts += json_parts(read.extras, place) if read and read.extras else []
        meta, envelope = self._meta(read, place), self._envelope(output)
        if display is not None:
            display = self._rewritten(display, display_place)
        return NormalizedToolResult(
            parts=(*(parts or [NormalizedText(("",))]), *extracted_parts(self._aside.slots)),
            media=tuple(self._collector.media),
            is_error=self._collector.is_error,
            structured_content=structured,
            display=display,
            meta=meta,
            envelope=envelope,
            warnings=self._collector.warnings(),
        )

    def _opened_place(self, dialect: Dialect | None, content: Content) -> ReadContext:
        if dialect is None:
            return self._whole
        is_closed = dialect.has_closed_content and content.reading == "content"
        place = replace(self._whole, forms=dialect.blocks, is_closed=is_closed)
        return place.inside(*content.path)

    def _opened(self, result: object) -> ToolOutput | None:
        """Return the single answer in a result, `None` if it has no envelope."""
        answers = open_results(result)
        if len(answers) < 2:
            return answers[0] if answers else None
        if self._call_id is None or all(answer.call_id is None for answer in answers):
            return None
        found = [answer for answer in answers if answer.call_id == self._call_id]
        if len(found) == 1:
            self._collector.warn(
                "other-answers",
                self._whole.pointer,
                f"The result holds the answers to {len(answers) - 1} other calls as well; they are "
                "no part of this record.",
            )
            return found[0]
        raise InvalidPayloadError(
            f"The result holds the answers to {len(answers)} calls, "
            f"{'several' if found else 'none'} of them to this one. A tool result answers one "
            "call: send a message of several answers to /messages of the session.",
            faults=[Fault("/result", "holds several answers; /messages takes them")],
        )

    def _envelope(self, output: ToolOutput | None) -> dict[str, object] | None:
        """Return the members of the envelope; media in them are in no part."""
        if output is None:
            return None
        envelope: dict[str, object] = {"dialect": output.dialect}
        for key, name, expected, path in (
            ("toolCallId", output.call_id, self._call_id, output.call_id_path),
            ("toolName", output.name, self._tool_name, output.name_path),
        ):
            if name is None or name == expected:
                continue
            place = self._whole.inside(*path)
            envelope[key] = place.collector.readable(name, place.pointer)
            if expected is not None:
                place.collector.warn(
                    "envelope-differs",
                    place.pointer,
                    f"The {output.dialect} envelope has another {key} than the request, which "
                    "counts; that of the envelope is kept in meta.envelope.",
                )
        if not output.rest:
            return envelope
        there = self._whole.inside(*output.rest_path).pointer
        rest = rewrite_value(output.rest, there, Rewriting(self._collector))
        return envelope | rest if isinstance(rest, dict) else envelope

    def _structured_content(
        self, read: CallToolResult | None, place: ReadContext
    ) -> tuple[object] | None:
        if read is None or "structuredContent" not in read.members:
            return None
        key, value = read.members["structuredContent"]
        return (self._rewritten(value, place.inside(key)),)

    def _meta(self, read: CallToolResult | None, place: ReadContext) -> dict[str, object] | None:
        key, own = read.members.get("_meta", ("_meta", None)) if read else ("_meta", None)
        meta = self._rewritten(own, place.inside(key))
        return meta if isinstance(meta, dict) else None

    def _rewritten(self, value: object, place: ReadContext) -> object:
        return rewrite_value(value, place.pointer, self._aside) if value else value


def _without_display(result: object, place: ReadContext) -> tuple[object, ReadContext, object]:
    there = place.inside("_display")
    if not isinstance(result, dict) or result.get("_display") is None:
        return None, there, result
    return result["_display"], there, {key: result[key] for key in result if key != "_display"}


def _content_parts(content: Content, place: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a content that is not a CallToolResult."""
    value = content.value
    if content.reading == "json":
        return text_parts(value, place) if isinstance(value, str) else json_parts(value, place)
    if value is None:
        return []
    if isinstance(value, list) and content.reading == "content":
        return read_content_list(value, place)
    if isinstance(value, list) and content.reading == "media":
        parts: list[NormalizedPart] = []
        for index, item in enumerate(value):
            there = place.inside(index)
            is_medium = isinstance(item, str) or is_handle(item)
            claim = MediaClaim("image")
            parts += declared_parts(item, claim, there) if is_medium else read_content(item, there)
        return parts
    return read_content(value, place)


def _parts(result: CallToolResult, place: ReadContext) -> list[NormalizedPart]:
    parts: list[NormalizedPart] = []
    for name in ("content", "toolResult"):
        key, value = result.members.get(name, (name, None))
        if name == "content" and isinstance(value, list):
            parts += read_content_list(value, place.inside(key))
        elif value is not None:
            parts += read_content(value, place.inside(key))
    is_error = result.get("isError")
    if isinstance(is_error, bool):
        place.collector.report_error(is_error)
    return parts
