"""The whole result: an MCP CallToolResult, or any other JSON value."""

from app.models.normalized import NormalizedPart, NormalizedText, NormalizedToolResult
from app.services.normalization.block_shapes import is_handle
from app.services.normalization.blocks import is_typed_block
from app.services.normalization.collector import Collector, Pointer
from app.services.normalization.content import read_content, read_content_list
from app.services.normalization.parts import Place, extracted_parts, json_part, json_parts
from app.services.normalization.structures import Rewriting, rewrite_value


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
    collector = Collector()
    place = Place(collector, Pointer())
    aside = Rewriting(collector)
    display, shown = _without_display(result)
    extras = _envelope_extras(shown) if isinstance(shown, dict) else None
    structured, meta = None, None
    if isinstance(shown, dict) and extras is not None:
        parts = _envelope_parts(shown, place)
        structured = _structured_content(shown, place, aside)
        if structured and not parts:
            parts = [json_part(structured[0])]
        parts += json_parts(extras, place) if extras else []
        meta = _rewritten_meta(shown, place, aside)
    else:
        parts = read_content(shown, place)
    if display is not None:
        display = rewrite_value(display, place.inside("_display").pointer, aside)
    return NormalizedToolResult(
        parts=(*(parts or [NormalizedText(("",))]), *extracted_parts(aside.slots)),
        media=tuple(collector.media),
        is_error=collector.is_error,
        structured_content=structured,
        display=display,
        meta=meta,
        warnings=collector.warnings(),
    )


def _without_display(result: object) -> tuple[object, object]:
    if not isinstance(result, dict) or result.get("_display") is None:
        return None, result
    return result["_display"], {key: result[key] for key in result if key != "_display"}


def _envelope_extras(result: dict[str, object]) -> dict[str, object] | None:
    """What an MCP result holds besides the protocol's members; `None` if it is no MCP result.

    A record may have a `content` of its own, so members beside the known ones are accepted only
    where every item of `content` is a block, or where `isError` stands beside it.
    """
    if is_typed_block(result):
        return None
    content = result.get("content")
    carries = content is not None or result.get("toolResult") is not None
    if not carries and "structuredContent" not in result:
        return None
    says_success = content is not None and isinstance(result.get("isError"), bool)
    extras = {
        key: member
        for key, member in result.items()
        if not (_is_protocol(key, member) or (says_success and key == "content"))
    }
    blocks = isinstance(content, list) and content and all(map(is_typed_block, content))
    if blocks or says_success or extras.keys() <= {"resultType"}:
        return extras
    return None


def _is_protocol(key: str, member: object) -> bool:
    if key in ("structuredContent", "toolResult"):
        return True
    if key == "content":
        return (
            member is None
            or isinstance(member, str | list)
            or is_typed_block(member)
            or is_handle(member)
        )
    if key == "isError":
        return member is None or isinstance(member, bool)
    if key == "resultType":
        # "complete" is what every result without the member is; any other value is kept.
        return member is None or member == "complete"
    # `meta` is what the Python SDK writes for `_meta` unless told otherwise.
    return (key in ("_meta", "meta") and member is None) or (
        key == "_meta" and isinstance(member, dict)
    )


def _envelope_parts(result: dict[str, object], place: Place) -> list[NormalizedPart]:
    content, legacy, is_error = (result.get(key) for key in ("content", "toolResult", "isError"))
    parts: list[NormalizedPart] = []
    if isinstance(content, list):
        parts += read_content_list(content, place.inside("content"))
    elif content is not None:
        parts += read_content(content, place.inside("content"))
    if legacy is not None:
        parts += read_content(legacy, place.inside("toolResult"))
    if isinstance(is_error, bool):
        place.collector.report_error(is_error)
    return parts


def _structured_content(
    result: dict[str, object], place: Place, aside: Rewriting
) -> tuple[object] | None:
    if "structuredContent" not in result:
        return None
    here = place.inside("structuredContent").pointer
    return (rewrite_value(result["structuredContent"], here, aside),)


def _rewritten_meta(
    result: dict[str, object], place: Place, aside: Rewriting
) -> dict[str, object] | None:
    meta = rewrite_value(result.get("_meta"), place.inside("_meta").pointer, aside)
    return meta if isinstance(meta, dict) else None
