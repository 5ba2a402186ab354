"""Pieces of a text for those who want nothing but the text."""

from app.rendering.texts.excerpts import LineExcerpt
from app.rendering.texts.matches import Matches
from app.rendering.texts.values import JsonExcerpt


def text_alone(found: LineExcerpt | Matches | JsonExcerpt) -> str:
    """Return lines, a value, or matches as `grep` prints them: `12:` a match, `11-` its context."""
    if isinstance(found, JsonExcerpt):
        return found.words
    if isinstance(found, LineExcerpt):
        return "".join(f"{line}\n" for line in found.lines)
    return "".join(f"{line}\n" for line in _printed(found))


def _printed(matches: Matches) -> list[str]:
    texts: dict[int, str] = {}
    for match in matches.found:
        start = match.line - len(match.before)
        around = [*match.before, "", *match.after]
        texts |= {
            number: f"{number}-{text}"
            for number, text in enumerate(around, start)
            if number not in texts
        }
        texts[match.line] = f"{match.line}:{match.text}"
    has_context = any(match.before or match.after for match in matches.found)
    printed: list[str] = []
    previous = min(texts, default=0)
    for number in sorted(texts):
        if has_context and number > previous + 1:
            printed.append("--")
        printed.append(texts[number])
        previous = number
    return printed
