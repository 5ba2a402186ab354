"""The whole result: an MCP CallToolResult, or any other JSON value, in whatever envelope.

Any value is read as content: strings, blocks and lists of them become parts, in order. A list is
content if anything in it is a text, a block or a carrier of media, at any depth of lists; a list of
plain data is one value and becomes one JSON text. Which of the two it is shows only after its items
have been read, so that every item is read once and kept in both forms until then.

Lists and blocks may nest as deep as JSON may, so they are walked with a stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pagefault_dialects.media.base64_runs import decode_undeclared
from pagefault_dialects.media.block_shapes import MediaClaim, is_handle
from pagefault_dialects.media.data_uris import is_data_uri
from pagefault_dialects.media.line_lists import joined_lines
from pagefault_dialects.model.normalized import NormalizedPart, NormalizedText, NormalizedToolResult
from pagefault_dialects.results.blocks import NestedContent, read_block
from pagefault_dialects.results.collector import Collector, Pointer
from pagefault_dialects.results.envelopes import (
    CallToolResult,
    Opened,
    open_envelope,
    read_call_tool_result,
)
from pagefault_dialects.results.parts import (
    ReadContext,
    extracted_parts,
    json_part,
    json_parts,
    medium_part,
    text_parts,
)
from pagefault_dialects.results.structures import Rewriting, rewrite_value

# What SDKs return for a tool that returned nothing.
_NOTHING = {"result": None}


@dataclass(frozen=True, slots=True)
class Data:
    """A value without text to read and without media: plain data, ready to be written."""

    value: object


ValueOutcome = list[NormalizedPart] | Data


@dataclass(slots=True)
class _List:
    """A list being read. `is_content` says that its items are parts whatever they are."""

    items: Iterator[tuple[object, ReadContext]]
    is_content: bool
    following: list[NormalizedPart] = field(default_factory=list)
    outcomes: list[ValueOutcome] = field(default_factory=list)

    def outcome(self) -> ValueOutcome:
        """Return what the whole list turned out to be."""
        plain = [outcome.value for outcome in self.outcomes if isinstance(outcome, Data)]
        if not self.is_content and len(plain) == len(self.outcomes):
            return Data(plain)
        parts: list[NormalizedPart] = []
        for outcome in self.outcomes:
            parts += data_parts(outcome)
        return parts + self.following


def read_content(value: object, place: ReadContext) -> list[NormalizedPart]:
    """Return the parts of any value: text, media, links, and JSON text for plain data.

    `null` as a whole is the text "null"; among other content it is skipped.
    """
    outcome = _read(value, place, is_content=False)
    return [json_part(outcome.value)] if isinstance(outcome, Data) else outcome


def read_content_list(items: list[object], place: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a list that is content by definition, as MCP's; none if it is empty."""
    return data_parts(_read(items, place, is_content=True))


def data_parts(outcome: ValueOutcome) -> list[NormalizedPart]:
    """Return an item's parts within content."""
    if not isinstance(outcome, Data):
        return outcome
    return [] if outcome.value is None else [json_part(outcome.value)]


def _read(value: object, place: ReadContext, *, is_content: bool) -> ValueOutcome:
    # The value is read as the only item of a list around it, whose outcome is then the value's.
    around = _List(iter(()), is_content=False)
    stack = [around]
    _enter(value, place, stack, is_content=is_content)
    while len(stack) > 1:
        current = stack[-1]
        item = next(current.items, None)
        if item is None:
            stack.pop()
            stack[-1].outcomes.append(current.outcome())
        else:
            _enter(*item, stack, is_content=False)
    return around.outcomes[0]


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
    items = _items(nested, there) if isinstance(nested, list) else iter([(nested, there)])
    stack.append(_List(items, is_content=True, following=outcome.following))


def _items(values: list[object], place: ReadContext) -> Iterator[tuple[object, ReadContext]]:
    return ((value, place.inside(index)) for index, value in enumerate(values))


def _read_item(value: object, place: ReadContext) -> ValueOutcome | NestedContent:
    if isinstance(value, str):
        return text_parts(value, place)
    if is_handle(value):
        return [medium_part(value, MediaClaim(), place)]
    if isinstance(value, dict):
        block = read_block(value, place)
        if block is not None:
            return block
    rewriting = Rewriting(place.collector)
    rewritten = rewrite_value(value, place.pointer, rewriting)
    if not rewriting.slots:
        return Data(rewritten)
    return [json_part(rewritten), *extracted_parts(rewriting.slots)]


def normalize(result: object) -> NormalizedToolResult:
    """Return a tool result as typed parts and the media found in them.

    Pure and total: it does no I/O, raises on no JSON value, leaves its input alone, drops nothing,
    and gives the same output for the same input.

    Args:
        result: Any JSON value as `parse_json` gives it. Any string in it may be a `MediaSource`
            already, which then stands for the medium.

    Returns:
        Parts in display order, at least one; media wherever they stood, each decoded once;
        warnings with JSON pointers into `result`.

    Source: spec 002, "Sanitization Pipeline", step 1.
    """
    return _Normalizing().run(result)


class _Normalizing:
    """One result being read."""

    def __init__(self) -> None:
        self._collector = Collector()
        self._whole = ReadContext(self._collector, Pointer())
        # Takes the media of what is beside the parts; they are shown behind these.
        self._aside = Rewriting(self._collector)

    def run(self, result: object) -> NormalizedToolResult:
        display, display_place, shown = _without_display(result, self._whole)
        opened = open_envelope(shown)
        place = self._whole.inside(*opened.path)
        shown = opened.value
        if display is None:
            display, display_place, shown = _without_display(shown, place)
        if opened.is_error is not None:
            self._collector.report_error(opened.is_error)
        read = read_call_tool_result(shown) if isinstance(shown, dict) else None
        parts = _content_parts(shown, place, opened) if read is None else _parts(read, place)
        structured = self._structured_content(read, place)
        if structured and not parts and structured[0] != _NOTHING:
            parts = [json_part(structured[0])]
        parts += json_parts(read.extras, place) if read and read.extras else []
        meta = self._meta(read, place, opened)
        if display is not None:
            display = self._rewritten(display, display_place)
        return NormalizedToolResult(
            parts=(*(parts or [NormalizedText(("",))]), *extracted_parts(self._aside.slots)),
            media=tuple(self._collector.media),
            is_error=self._collector.is_error,
            structured_content=structured,
            display=display,
            meta=meta,
            warnings=self._collector.warnings(),
        )

    def _structured_content(
        self, read: CallToolResult | None, place: ReadContext
    ) -> tuple[object] | None:
        if read is None or "structuredContent" not in read.members:
            return None
        key, value = read.members["structuredContent"]
        return (self._rewritten(value, place.inside(key)),)

    def _meta(
        self, read: CallToolResult | None, place: ReadContext, opened: Opened
    ) -> dict[str, object] | None:
        key, own = read.members.get("_meta", ("_meta", None)) if read else ("_meta", None)
        meta = self._rewritten(own, place.inside(key))
        beside = self._rewritten(opened.beside, self._whole.inside(*opened.beside_path))
        if isinstance(beside, dict) and beside:
            # The tool's own keys win over what the message around its result said.
            return beside | meta if isinstance(meta, dict) else beside
        return meta if isinstance(meta, dict) else None

    def _rewritten(self, value: object, place: ReadContext) -> object:
        return rewrite_value(value, place.pointer, self._aside) if value else value


def _without_display(result: object, place: ReadContext) -> tuple[object, ReadContext, object]:
    there = place.inside("_display")
    if not isinstance(result, dict) or result.get("_display") is None:
        return None, there, result
    return result["_display"], there, {key: result[key] for key in result if key != "_display"}


def _content_parts(value: object, place: ReadContext, opened: Opened) -> list[NormalizedPart]:
    """Return the parts of what is no CallToolResult."""
    if value is None:
        return []
    if opened.is_protocol_error and isinstance(value, dict):
        data, there = value.get("data"), place.inside("data")
        words = text_parts(str(value["message"]), place.inside("message"))
        return words if data is None else words + read_content(data, there)
    if opened.is_content and isinstance(value, list):
        return read_content_list(value, place)
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
