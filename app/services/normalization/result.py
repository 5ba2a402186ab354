"""The whole result: an MCP CallToolResult, or any other JSON value, in whatever envelope."""

from app.models.normalized import NormalizedPart, NormalizedText, NormalizedToolResult
from app.services.normalization.call_tool_results import CallToolResult, read_call_tool_result
from app.services.normalization.collector import Collector, Pointer
from app.services.normalization.content import read_content, read_content_list
from app.services.normalization.envelopes import Opened, open_envelope
from app.services.normalization.parts import (
    ReadContext,
    extracted_parts,
    json_part,
    json_parts,
    text_parts,
)
from app.services.normalization.structures import Rewriting, rewrite_value

# What SDKs return for a tool that returned nothing.
_NOTHING = {"result": None}


def normalize_tool_result(result: object) -> NormalizedToolResult:
    """A tool result as typed parts and the media found in them.

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
    """The parts of what is no CallToolResult."""
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
