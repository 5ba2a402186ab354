"""Reads the texts of a page: the text of each level, and the texts for search.

A *recording* is an audio or video page. Its text consists of passages: scenes, transcript, stored
content. A higher level never has more text than a lower level. JSON text is parsed before it is
indexed for search, since escapes of line breaks would join neighbouring words.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from typing import Literal

from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, json_text, parse_repaired_json
from pagefault_dialects.model.page import Body, BodyKind, Level, Page, PageFields
from pagefault_dialects.pages.descriptors import build_tags, find_scenes
from pagefault_dialects.pages.line_formats import escape_line_breaks, format_clock, parse_timecode
from pagefault_dialects.texts.cuts import cut_short

# The limits of request bodies. JSON text that exceeds them is treated as a plain string.
_MAX_DEPTH = 4_000
_MAX_NODES = 250_000
_MAX_SCENE_CHARS = 200

_SUMMARY_NAMES = ("summary", "caption", "description", "text")
PassageName = Literal["scene", "transcript", "content", "supplied"]
# The labels of passages that have one.
_LABELS: dict[PassageName, str] = {"content": "Content: ", "supplied": "Supplied: "}
_RECORDINGS = frozenset({"audio", "video"})


def read_body_text(body: Body) -> str:
    """Return the text of a body. For a medium, that is its reference, never its bytes."""
    if body.kind == "json":
        return json_text(body.value)
    if body.kind == "data":
        return "" if body.media is not None else str(body.value)
    return "" if body.value is None else str(body.value)


def find_content_text(full: Body) -> str | None:
    """Return the content if it is plain text and not blank."""
    return str(full.value) if full.kind == "text" and str(full.value).strip() else None


def find_caption(fields: PageFields, full: Body) -> str | None:
    """Return the caption of an image, else its content if that is plain text."""
    return _field_or_content(fields.caption, full)


def find_transcript(fields: PageFields, full: Body) -> str | None:
    """Return the transcript of a recording, else its content if that is plain text."""
    return _field_or_content(fields.transcript, full)


def format_scene(scene: str | dict[str, JsonValue]) -> str | None:
    """Return a scene as a line: `  - 0:05 summary`; `None` if it has no text."""
    summary = _scene_summary(scene)
    return f"  - {_format_scene_times(scene)}{escape_line_breaks(summary)}" if summary else None


def list_scene_lines(fields: PageFields) -> list[str]:
    """Return a line for each scene that has text."""
    return [
        line for scene in find_scenes(fields) or () if (line := format_scene(scene)) is not None
    ]


def build_video_text(fields: PageFields, full: Body) -> str | None:
    """Return the lines of a video's scenes and its transcript; `None` if it has neither."""
    transcript = find_transcript(fields, full)
    parts = [*list_scene_lines(fields), *([transcript] if transcript else [])]
    return "\n".join(parts) or None


def parse_structured_data(body: Body) -> JsonValue:
    """Return the data of a body of a structured page.

    If it is a string with JSON text, that is parsed. A string that is not JSON, or is nested too
    deeply, is returned as it is.
    """
    value = body.value
    if not isinstance(value, str) or body.kind not in ("json", "text"):
        return value
    try:
        return parse_repaired_json(
            value.encode("utf-8", "surrogatepass"), max_depth=_MAX_DEPTH, max_nodes=_MAX_NODES
        )
    except (InvalidJsonError, PayloadTooLargeError):
        return value


def _field_or_content(value: str | None, full: Body) -> str | None:
    """Return the value of a field; if it is blank, the content if that is plain text."""
    return value if value is not None and value.strip() else find_content_text(full)


def _scene_summary(scene: str | dict[str, JsonValue]) -> str:
    if isinstance(scene, str):
        return scene.strip()
    for name in _SUMMARY_NAMES:
        summary = scene.get(name)
        if isinstance(summary, str) and summary.strip():
            return summary.strip()
    return cut_short(json_text(scene), _MAX_SCENE_CHARS) if scene else ""


def _format_scene_times(scene: str | dict[str, JsonValue]) -> str:
    if isinstance(scene, str):
        return ""
    start, end = parse_timecode(scene.get("start")), parse_timecode(scene.get("end"))
    if start is None:
        return ""
    return (
        f"{format_clock(start)} " if end is None else f"{format_clock(start)}-{format_clock(end)} "
    )


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a level's text."""

    name: PassageName
    text: str
    """The text without its label."""
    scene: JsonValue = None
    """The scene, if the passage is the line of a scene."""
    start: int = 0
    """The position of `text` in the level's text."""

    @property
    def end(self) -> int:
        """Return the end of `text` in the level's text."""
        return self.start + len(self.text)


def find_level_with_text(page: Page, level: Level) -> Level:
    """Return a level of a recording, or the next higher level if that level has no text.

    If the client supplied a transcript or a summary only as a higher level, that text is used for
    the lower levels too, so that a lower level never has less text than a higher one.
    """
    if level >= Level.ABSTRACT or (level is Level.FULL and _stored_passages(page)):
        return level
    higher = (Level.REDUCED, Level.ABSTRACT)
    return next((item for item in higher if page.at(item) is not None), level)


def list_passages(page: Page, level: Level) -> list[Passage]:
    """Return the passages of a recording at FULL, REDUCED or ABSTRACT, in order.

    FULL has the client's scenes and transcript, then the content if it differs from the transcript,
    then a supplied level if it is longer than all of these. Other levels have the text of the
    level, with the scenes if it was derived from them.
    """
    existing = find_level_with_text(page, level)
    if existing is Level.FULL:
        return _add_positions(_full_passages(page))
    representation = page.at(existing)
    if representation is None or representation.body.is_media:
        return []
    text = read_body_text(representation.body)
    if existing is Level.REDUCED and text == build_video_text(page.fields, page.full):
        return _add_positions(_described_passages(page))
    return _add_positions([Passage("transcript", text)])


def join_passages(parts: Iterable[Passage]) -> str:
    """Return passages as one text, each with its label on a new line."""
    return "\n".join(_LABELS.get(passage.name, "") + passage.text for passage in parts)


def _add_positions(parts: Iterable[Passage]) -> list[Passage]:
    """Return passages with their positions in the text of `join_passages`."""
    result: list[Passage] = []
    position = 0
    for passage in parts:
        start = position + len(_LABELS.get(passage.name, ""))
        result.append(replace(passage, start=start))
        position = result[-1].end + 1
    return result


def _described_passages(page: Page) -> list[Passage]:
    """Return the scenes and the transcript, as far as the page has them."""
    fields = page.fields
    scenes = (find_scenes(fields) or ()) if fields.modality == "video" else ()
    lines = ((format_scene(scene), scene) for scene in scenes)
    parts = [Passage("scene", line, scene) for line, scene in lines if line is not None]
    transcript = find_transcript(fields, page.full)
    return [*parts, *([] if transcript is None else [Passage("transcript", transcript)])]


def _stored_passages(page: Page) -> list[Passage]:
    """Return the scenes, the transcript, and the content if it is not the transcript."""
    parts = _described_passages(page)
    transcript = find_transcript(page.fields, page.full)
    content = find_content_text(page.full)
    if content is None or transcript is None or content.strip() == transcript.strip():
        return parts
    return [*parts, Passage("content", content)]


def _full_passages(page: Page) -> list[Passage]:
    parts = _stored_passages(page)
    reduced = page.levels.get(Level.REDUCED)
    if reduced is None or reduced.origin != "supplied" or reduced.body.is_media:
        return parts
    supplied = read_body_text(reduced.body)
    if all(passage.name != "transcript" for passage in parts):
        return [*parts, Passage("transcript", supplied)]
    is_longer = len(supplied) > len(join_passages(parts))
    return [*parts, Passage("supplied", supplied)] if is_longer else parts


def read_level_text(page: Page, level: Level) -> str | None:
    """Return the text of a level; `None` if it has no text.

    Depending on the page and the level, it is the text, the JSON, the scenes and the transcript,
    the caption, or the tag. `max_chars` and `offset` of requests count characters of this text. A
    missing REDUCED level has the text of ABSTRACT.
    """
    modality = page.fields.modality
    representation = page.at(_existing_level(page, level))
    if level is Level.REFERENCE:
        tag = build_tags(page.page_id, page.fields, page.full)[0]
        return read_body_text(representation.body) if representation else tag
    if modality in _RECORDINGS:
        parts = list_passages(page, level)
        return join_passages(parts) if parts else None
    if level is Level.FULL and modality == "image":
        return find_content_text(page.full)
    if representation is None:
        return None
    if modality == "structured":
        return json_text(find_level_data(page, level))
    body = representation.body
    has_words = body.kind in ("text", "json") or (modality == "text" and body.media is None)
    return read_body_text(body) if has_words else None


def read_image_text(page: Page, level: Level) -> str | None:
    """Return the text that replaces an image that is not attached.

    That is the text of the level. If the level is a medium, or FULL without text, it is the longest
    of the captions at this level or a higher one. A text that was derived from the type and the
    dimensions alone is not a caption.
    """
    if level is Level.REFERENCE:
        return read_level_text(page, level)
    representation = page.at(level)
    is_text = representation is not None and not representation.body.is_media
    has_own_text = level is not Level.FULL or find_content_text(page.full) is not None
    if has_own_text and (is_text or representation is None):
        return _caption_at(page, level)
    higher = (item for item in (Level.REDUCED, Level.ABSTRACT) if item > level)
    captions = [
        find_caption(page.fields, page.full),
        *(_caption_at(page, item) for item in higher),
    ]
    return max((text for text in captions if text is not None), key=len, default=None)


def find_level_data(page: Page, level: Level) -> JsonValue:
    """Return the data of a structured page at a level; `None` if there is none."""
    representation = page.at(_existing_level(page, level))
    if representation is None:
        return None
    body = representation.body
    is_content = isinstance(body.value, str) and body.value == page.full.value
    # Other derived data is parsed already, so its strings are not JSON text.
    if representation.origin == "derived" and not is_content:
        return body.value
    return parse_structured_data(body)


def _existing_level(page: Page, level: Level) -> Level:
    """Return ABSTRACT for a missing REDUCED level, and any other level unchanged."""
    return find_level_with_text(page, level) if level is Level.REDUCED else level


def _caption_at(page: Page, level: Level) -> str | None:
    is_abstract = _existing_level(page, level) is Level.ABSTRACT
    return None if is_abstract and _has_derived_caption(page) else read_level_text(page, level)


def _has_derived_caption(page: Page) -> bool:
    """Return whether ABSTRACT of an image was derived from its type and dimensions alone."""
    abstract = page.levels.get(Level.ABSTRACT)
    if abstract is None or abstract.origin != "derived":
        return False
    reduced = page.levels.get(Level.REDUCED)
    has_words = reduced is not None and reduced.origin == "supplied" and not reduced.body.is_media
    return not has_words and find_caption(page.fields, page.full) is None


def iterate_texts(value: JsonValue) -> Iterator[str]:
    """Yield the keys, strings and numbers of a JSON value of any depth, in order.

    If the value is a string with the JSON text of an object, an array or a string, that is parsed.
    """
    parsed = parse_structured_data(Body("json", value))
    is_plain = isinstance(value, str) and not isinstance(parsed, dict | list | str)
    stack: list[Iterator[JsonValue]] = [iter([value if is_plain else parsed])]
    while stack:
        for part in stack[-1]:
            if isinstance(part, str):
                yield part
            elif isinstance(part, int | float | Decimal) and not isinstance(part, bool):
                yield json_text(part)
            elif isinstance(part, dict | list):
                children = part if isinstance(part, list) else chain.from_iterable(part.items())
                stack.append(iter(children))
                break
        else:
            stack.pop()


def list_page_texts(
    fields: PageFields, content_kind: BodyKind, content: JsonValue
) -> tuple[list[str], list[str]]:
    """Return the texts of a page for search, in the order in which snippets are taken from them.

    Args:
        fields: The client's description of the page.
        content_kind: The kind of the content. Only "text" and "json" are searchable.
        content: The text, or the JSON value.

    Returns:
        Hint and caption, which have a higher weight; and transcript, scenes and content.
    """
    texts = [fields.transcript]
    for scene in find_scenes(fields) or ():
        texts += [scene] if isinstance(scene, str) else iterate_texts(scene)
    if content_kind == "text":
        texts.append(content)
    elif content_kind == "json":
        # Joined to one text, so that a key and its value are found together, in the same snippet.
        texts.append("\n".join(iterate_texts(content)))
    return _non_empty([fields.hint, fields.caption]), _non_empty(texts)


def _non_empty(texts: Iterable[str | None]) -> list[str]:
    return [text for text in texts if text]
