"""The JSON around pieces of a text, and the same for those who want nothing but the text."""

from app.models.json_value import json_text
from app.models.resource import Resource
from app.rendering.texts import JsonExcerpt, LineExcerpt, Match, Matches


def text_record(
    resource: Resource, total_lines: int | None, found: LineExcerpt | Matches | JsonExcerpt
) -> bytes:
    """`{uri, mimeType, …}`: lines, matches, or a value and, where it is too large, its shape."""
    members: dict[str, object] = {"uri": resource.uri, "mimeType": resource.mime_type}
    if isinstance(found, JsonExcerpt):
        members |= {"pointer": found.pointer, "truncated": found.shape is not None}
        members["shape"] = found.shape
        # The value keeps its spelling, so its text is put in as it is.
        value = b"null" if found.text is None else found.text.encode()
        return b'%s,"value":%s}' % (json_text(members)[:-1].encode(), value)
    members |= {"totalLines": total_lines, "totalBytes": resource.size_bytes}
    if isinstance(found, Matches):
        members |= {"matches": [_match(each) for each in found.found], "totalMatches": found.total}
    else:
        members |= {
            "from": found.first_line if found.lines else None,
            "to": found.last_line if found.lines else None,
            "text": "\n".join(found.lines),
            "cutLines": list(found.cut_lines),
        }
    members |= {"truncated": found.next_line is not None, "nextLine": found.next_line}
    return json_text(members).encode()


def text_alone(found: LineExcerpt | Matches | JsonExcerpt) -> str:
    """The lines, the value, or matches as `grep` prints them: `12:` a match, `11-` its context."""
    if isinstance(found, JsonExcerpt):
        return found.words
    if isinstance(found, LineExcerpt):
        return "".join(f"{line}\n" for line in found.lines)
    return "".join(f"{line}\n" for line in _printed(found))


def _match(match: Match) -> dict[str, object]:
    return {
        "line": match.line,
        "text": match.text,
        "before": match.before,
        "after": match.after,
    }


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
