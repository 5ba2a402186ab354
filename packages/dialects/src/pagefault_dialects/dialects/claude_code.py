"""Transcripts of Claude Code: lines around messages of Anthropic.

Each line names the line before it, and lines with the id of one message are one message. The
conversation is the way from the newest line back to the first: earlier versions of a question,
subagents and the time before a compaction are not on it.
"""

from collections.abc import Iterator, Sequence

from pagefault_dialects.dialects.envelope import Dialect
from pagefault_dialects.dialects.message_forms import ConversationForm
from pagefault_dialects.json.values import JsonObject, JsonValue

_SIDES = ("user", "assistant")
_OWN = frozenset(("sessionId", "parentUuid", "leafUuid", "snapshot"))


def _is_line(value: JsonObject) -> bool:
    return isinstance(value.get("type"), str) and not _OWN.isdisjoint(value)


def _is_message(line: JsonValue) -> bool:
    return (
        isinstance(line, dict)
        and line.get("type") in _SIDES
        and isinstance(line.get("message"), dict)
    )


def _is_on_main_chain(line: JsonObject) -> bool:
    return line.get("isSidechain") is not True


def _passes_over(line: JsonObject) -> bool:
    return not _is_message(line) or not _is_on_main_chain(line)


def _read_lines(lines: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    numbered = [
        (index, line)
        for index, line in enumerate(lines)
        if isinstance(line, dict) and _is_on_main_chain(line)
    ]
    kept = _on_chain([line for _, line in numbered])
    grown: dict[str, int] = {}
    read: list[tuple[str, JsonObject]] = []
    for index, line in numbered:
        if not _is_message(line) or (kept is not None and line.get("uuid") not in kept):
            continue
        message = line["message"]
        name = message.get("id")
        if line["type"] == "assistant" and isinstance(name, str) and name in grown:
            place, whole = read[grown[name]]
            read[grown[name]] = (place, _joined(whole, message))
            continue
        if line["type"] == "assistant" and isinstance(name, str):
            grown[name] = len(read)
        read.append((f"/{index}/message", message))
    yield from read


def _on_chain(lines: Sequence[JsonObject]) -> set[str] | None:
    """Return the lines from the newest message back to the first; `None` if lines have no ids.

    Of calls at once, each is a line of its own and each answer stands behind its own, so that all
    but one are beside the way: they belong to a message that is on it.
    """
    by_id = {line["uuid"]: line for line in lines if isinstance(line.get("uuid"), str)}
    newest = next((line for line in reversed(lines) if _is_message(line)), None)
    if newest is None or not by_id or newest.get("uuid") not in by_id:
        return None
    chain: set[str] = set()
    name = newest["uuid"]
    while name in by_id and name not in chain:
        chain.add(name)
        name = by_id[name].get("parentUuid")
    messages = {by_id[each]["message"].get("id") for each in chain if _is_reply(by_id[each])}
    siblings = {
        name
        for name, line in by_id.items()
        if _is_reply(line) and line["message"].get("id") in messages - {None}
    }
    answers = {
        name
        for name, line in by_id.items()
        if line.get("parentUuid") in siblings and _only_answers(line)
    }
    return chain | siblings | answers


def _is_reply(line: JsonObject) -> bool:
    return _is_message(line) and line["type"] == "assistant"


def _only_answers(line: JsonObject) -> bool:
    if not _is_message(line) or line["type"] != "user":
        return False
    content = line["message"].get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _joined(whole: JsonObject, message: JsonObject) -> JsonObject:
    """Return a message with the blocks of its next line, which a line may repeat."""
    content, added = whole.get("content"), message.get("content")
    if not isinstance(content, list) or not isinstance(added, list):
        return whole
    more = [block for block in added if block not in content]
    return {**message, "content": [*content, *more]}


DIALECT = Dialect(
    "claude-code",
    (),
    conversations=(
        ConversationForm(
            marks=("type",),
            accepts=_is_line,
            read=_read_lines,
            is_list=True,
            passes_over=_passes_over,
            messages_in="anthropic",
        ),
    ),
)
