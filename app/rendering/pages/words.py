"""The words of a page as it was stored: caption, transcript and scenes, data."""

from app.errors import InvalidJsonError, PayloadTooLargeError
from app.models.json_value import JsonValue, json_text, parse_repaired_json
from app.models.page import Body, PageFields
from app.rendering.pages.cuts import cut_short
from app.rendering.pages.described import scenes_of
from app.rendering.pages.lines import clock, moment, one_line

# As many as a request body may have; deeper or wider text stays the string it is.
_DEEPEST = 4_000
_MOST_NODES = 250_000
_LONGEST_ODD_SCENE = 200

_SUMMARY_NAMES = ("summary", "caption", "description", "text")


def body_text(body: Body) -> str:
    """The text of a body that is words or data; of a medium only its reference, never bytes."""
    if body.kind == "json":
        return json_text(body.value)
    if body.kind == "data":
        return "" if body.media is not None else str(body.value)
    return "" if body.value is None else str(body.value)


def content_words(full: Body) -> str | None:
    """A content that is plain text, if it has any words."""
    return str(full.value) if full.kind == "text" and str(full.value).strip() else None


def caption_of(fields: PageFields, full: Body) -> str | None:
    """An image's caption; plain text as its content is one."""
    return _first_words(fields.caption, full)


def transcript_of(fields: PageFields, full: Body) -> str | None:
    """What is said in a recording; plain text as its content is that."""
    return _first_words(fields.transcript, full)


def scene_line(scene: str | dict[str, JsonValue]) -> str | None:
    """A scene as a line: `  - 0:05 summary`; `None` where it says nothing."""
    summary = _scene_summary(scene)
    return f"  - {_scene_moment(scene)}{one_line(summary)}" if summary else None


def scene_lines(fields: PageFields) -> list[str]:
    """The scenes, a line each. Scenes that say nothing are left out."""
    return [line for scene in scenes_of(fields) or () if (line := scene_line(scene)) is not None]


def video_words(fields: PageFields, full: Body) -> str | None:
    """A video's scenes, a line each, and its transcript; `None` where there is neither."""
    transcript = transcript_of(fields, full)
    parts = [*scene_lines(fields), *([transcript] if transcript else [])]
    return "\n".join(parts) or None


def structured_data(body: Body) -> JsonValue:
    """The data of a structured page's content: a string that is JSON text is parsed.

    A string that is not JSON, or is nested deeper than any reader takes, is itself the data.
    """
    value = body.value
    return _parsed(value) if isinstance(value, str) and body.kind in ("json", "text") else value


def _first_words(said: str | None, full: Body) -> str | None:
    """What a field says, else what the content is, if either has any words."""
    return said if said is not None and said.strip() else content_words(full)


def _scene_summary(scene: str | dict[str, JsonValue]) -> str:
    if isinstance(scene, str):
        return scene.strip()
    for name in _SUMMARY_NAMES:
        summary = scene.get(name)
        if isinstance(summary, str) and summary.strip():
            return summary.strip()
    return cut_short(json_text(scene), _LONGEST_ODD_SCENE) if scene else ""


def _scene_moment(scene: str | dict[str, JsonValue]) -> str:
    if isinstance(scene, str):
        return ""
    start, end = moment(scene.get("start")), moment(scene.get("end"))
    if start is None:
        return ""
    return f"{clock(start)} " if end is None else f"{clock(start)}-{clock(end)} "


def _parsed(text: str) -> JsonValue:
    try:
        return parse_repaired_json(
            text.encode("utf-8", "surrogatepass"), max_depth=_DEEPEST, max_nodes=_MOST_NODES
        )
    except (InvalidJsonError, PayloadTooLargeError):
        return text
