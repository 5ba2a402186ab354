"""What is shown of a recording's words, passage by passage: scenes, transcript, stored content."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.models.json_value import JsonValue
from app.models.page import Level, Page
from app.rendering.pages.described import scenes_of
from app.rendering.pages.words import (
    body_text,
    content_words,
    scene_line,
    transcript_of,
    video_words,
)

PassageName = Literal["scene", "transcript", "content", "supplied"]

# What stands before a passage in the text; the others need no name.
_LABELS: dict[PassageName, str] = {"content": "Content: ", "supplied": "Supplied: "}


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a level's text that is one thing: `text` begins at `start`, behind its label.

    `scene` is the scene that a line stands for.
    """

    name: PassageName
    text: str
    start: int
    scene: JsonValue = None

    @property
    def end(self) -> int:
        """Where it ends in the level's text."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class _Named:
    name: PassageName
    text: str
    scene: JsonValue = None


def words_level(page: Page, level: Level) -> Level:
    """The level whose words are shown at a level: its own or, where it has none, one above it.

    A recording that nobody wrote down may still have a transcript or a summary that the client
    supplied as a level. It is shown wherever less is asked to be left out, so that asking for more
    never shows less.
    """
    if level >= Level.ABSTRACT or (level is Level.FULL and _stored(page)):
        return level
    above = [at for at in (Level.REDUCED, Level.ABSTRACT) if page.at(at) is not None]
    return above[0] if above else level


def passages(page: Page, level: Level) -> list[Passage]:
    """The passages of what a recording shows at a level below REFERENCE, in order.

    At FULL these are the scenes and the transcript as the client described them, and the content
    where it is other words than the transcript; last what was supplied as a level, if it is longer
    than all of that. At the other levels it is the level's text, which has the scenes in it only
    where it was derived from them.
    """
    held = words_level(page, level)
    if held is Level.FULL:
        return _placed(_whole(page))
    representation = page.at(held)
    if representation is None or representation.body.is_media:
        return []
    text = body_text(representation.body)
    if held is Level.REDUCED and text == video_words(page.fields, page.full):
        return _placed(_described(page))
    return _placed([_Named("transcript", text)])


def passages_text(shown: Iterable[Passage]) -> str:
    """The text the passages are in, a line or more each."""
    return "\n".join(_LABELS.get(passage.name, "") + passage.text for passage in shown)


def _placed(named: Iterable[_Named]) -> list[Passage]:
    placed: list[Passage] = []
    at = 0
    for passage in named:
        start = at + len(_LABELS.get(passage.name, ""))
        placed.append(Passage(passage.name, passage.text, start, passage.scene))
        at = placed[-1].end + 1
    return placed


def _described(page: Page) -> list[_Named]:
    """Scenes, of a video, and transcript."""
    fields = page.fields
    scenes = (scenes_of(fields) or ()) if fields.modality == "video" else ()
    lines = ((scene_line(scene), scene) for scene in scenes)
    named = [_Named("scene", line, scene) for line, scene in lines if line is not None]
    transcript = transcript_of(fields, page.full)
    return [*named, *([] if transcript is None else [_Named("transcript", transcript)])]


def _stored(page: Page) -> list[_Named]:
    """What was stored: scenes, transcript, and the content that is not the transcript."""
    named = _described(page)
    transcript = transcript_of(page.fields, page.full)
    content = content_words(page.full)
    if content is None or transcript is None or content.strip() == transcript.strip():
        return named
    return [*named, _Named("content", content)]


def _whole(page: Page) -> list[_Named]:
    named = _stored(page)
    reduced = page.levels.get(Level.REDUCED)
    if reduced is None or reduced.origin != "supplied" or reduced.body.is_media:
        return named
    supplied = body_text(reduced.body)
    if all(passage.name != "transcript" for passage in named):
        return [*named, _Named("transcript", supplied)]
    is_longer = len(supplied) > len(passages_text(_placed(named)))
    return [*named, _Named("supplied", supplied)] if is_longer else named
