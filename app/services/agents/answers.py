"""What tools answer in words: a line for a hit, a line for a medium, a piece of a text."""

from collections.abc import Sequence
from typing import Any

from app.models.resource import Resource
from app.rendering.pages.lines import duration_words, one_line, quoted_short
from app.rendering.pages.sizes import text_tokens
from app.rendering.texts.cuts import boundary_at_or_before
from app.rendering.texts.excerpts import JsonExcerpt, LineExcerpt, Matches
from app.services.agents.toolbox import MOST_TEXT_CHARS
from app.services.pages.lists import Hit
from app.services.pages.versions import read_descriptor, read_fields

_HIT_CHARS = 200
# Five hits, and a line above them, take at most 300.
_HIT_TOKENS = 56
_FEWEST_CHARS = 16
_BY = "\N{MULTIPLICATION SIGN}"


def hit_line(hit: Hit) -> str:
    """Return a line such as `img_001 (image, ABSTRACT, ~120 tokens): a red sunset`."""
    descriptor: dict[str, Any] = read_descriptor(hit.page)
    fields = read_fields(descriptor)
    tokens = descriptor["size_tokens"]
    known = [fields.modality, fields.compression_level.name]
    known += [] if tokens is None else [f"~{tokens} tokens"]
    start = f"{one_line(hit.page.page_id)} ({', '.join(known)})"
    words = hit.snippet or fields.hint or fields.caption
    if not words:
        return start
    room = max(_FEWEST_CHARS, _HIT_CHARS - len(start))
    while text_tokens(line := f"{start}: {quoted_short(words, room)}") > _HIT_TOKENS:
        if room <= _FEWEST_CHARS:
            # The id alone is that long, and has to be whole.
            break
        room = max(_FEWEST_CHARS, room * 3 // 4)
    return line


def medium_line(resource: Resource) -> str:
    """Return what is known of a medium: `[audio @blob:… a.mp3 5:42, audio/mpeg, 45210 bytes]`."""
    words = [resource.kind, resource.reference]
    if resource.filename:
        words.append(one_line(resource.filename).replace("[", "(").replace("]", ")"))
    hints = resource.hints
    if hints.width and hints.height:
        words.append(f"{hints.width}{_BY}{hints.height}")
    if hints.duration_seconds is not None:
        words.append(duration_words(hints.duration_seconds))
    return f"[{' '.join(words)}, {resource.mime_type}, {resource.size_bytes} bytes]"


def text_answer(
    what: str, total_lines: int | None, found: LineExcerpt | Matches | JsonExcerpt
) -> str:
    """Return what was found in a text, as much as is given at once, and where it goes on.

    Args:
        what: What was read.
        total_lines: How many lines it has; `None` for a value in JSON.
        found: What was found.
    """
    if isinstance(found, JsonExcerpt):
        shown = _shortened(found.words)
        cut = "" if shown == found.words else "; cut here: ask for a longer pointer"
        return f"[{what}, at {found.pointer or 'the root'}{cut}]\n{shown}"
    if isinstance(found, Matches):
        lines = [(each.line, f"{each.line}: {each.text}") for each in found.found]
    else:
        lines = list(enumerate(found.lines, start=found.first_line))
    kept, next_line = _as_many_as_fit(lines, found.next_line)
    head = f"of {total_lines} lines"
    if isinstance(found, Matches):
        head = f"{found.total} {head} match"
    elif kept:
        head = f"lines {found.first_line} to {found.first_line + len(kept) - 1} {head}"
    go_on = f'; go on with lines="{next_line}-"' if next_line is not None else ""
    return "\n".join([f"[{what}, {head}{go_on}]", *kept])


def _as_many_as_fit(
    lines: Sequence[tuple[int, str]], next_line: int | None
) -> tuple[Sequence[str], int | None]:
    """Return the lines that are given at once, or the beginning of one, and the next line."""
    kept: list[str] = []
    room = MOST_TEXT_CHARS
    for number, text in lines:
        room -= len(text) + 1
        if room < 0 and kept:
            return kept, number
        kept.append(_shortened(text))
    return kept, next_line


def _shortened(text: str) -> str:
    if len(text) <= MOST_TEXT_CHARS:
        return text
    return text[: boundary_at_or_before(text, MOST_TEXT_CHARS)] + " […]"
