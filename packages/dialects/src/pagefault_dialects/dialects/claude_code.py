"""Transcripts of Claude Code: lines around messages of Anthropic.

Each line names the previous one, and lines with the same message id are one message. The
conversation is the chain from the newest line back to the first. Earlier versions of a question,
subagents and lines before a compaction are outside of it.
"""

from collections.abc import Iterator, Sequence

from pagefault_dialects.dialects.envelope import Dialect
from pagefault_dialects.dialects.foreign_message import text_block
from pagefault_dialects.dialects.message_forms import ConversationForm
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text

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


def _is_bare(value: JsonObject) -> bool:
    """Return whether an element is a message outside of a line."""
    return isinstance(value.get("role"), str) and value.get("type") in (None, "message")


def _is_of_subagent(line: JsonObject) -> bool:
    return line.get("isSidechain") is True


def _passes_over(line: JsonObject) -> bool:
    return not _is_bare(line) and (not _is_message(line) or _is_of_subagent(line))


def _read_lines(lines: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for indexes in group_lines(lines):
        first = lines[indexes[0]]
        if _is_bare(first):
            yield f"/{indexes[0]}", first
            continue
        pieces = [lines[index]["message"] for index in indexes]
        yield f"/{indexes[0]}/message", pieces[0] if len(pieces) == 1 else _joined(pieces)


def group_lines(lines: Sequence[JsonValue]) -> list[list[int]]:
    """Return the messages of the conversation in order, each as the indexes of its lines."""
    numbered = _main_lines(lines)
    chain = _find_chain([line for _, line in numbered])
    groups: list[list[int]] = []
    by_message: dict[str, list[int]] = {}
    for index, line in numbered:
        if _is_bare(line):
            groups.append([index])
            continue
        if not _is_message(line) or (chain and _name(line, "uuid") not in chain):
            continue
        name = _message_id(line)
        if name in by_message:
            by_message[name].append(index)
            continue
        groups.append([index])
        if name:
            by_message[name] = groups[-1]
    return groups


def _main_lines(lines: Sequence[JsonValue]) -> list[tuple[int, JsonObject]]:
    """Return the lines of the agent itself; those of a subagent only in a file of its own."""
    numbered = [(index, line) for index, line in enumerate(lines) if isinstance(line, dict)]
    main = [(index, line) for index, line in numbered if not _is_of_subagent(line)]
    return main if any(_is_message(line) for _, line in main) else numbered


def _find_chain(lines: Sequence[JsonObject]) -> set[str]:
    """Return the lines from the newest message back to the first; empty if lines have no ids.

    Each of several parallel calls is a line of its own, followed by its answer, so all but one are
    outside of the chain. They belong to a message in the chain.
    """
    by_id = {name: line for line in lines if (name := _name(line, "uuid"))}
    chain = {_name(lines[index], "uuid") for index in find_path(lines)}
    replies = {_message_id(by_id[item]) for item in chain} - {""}
    siblings = {name for name, line in by_id.items() if _message_id(line) in replies}
    answers = {
        name
        for name, line in by_id.items()
        if _name(line, "parentUuid") in siblings and _only_answers(line)
    }
    return chain | siblings | answers


def find_path(lines: Sequence[JsonValue]) -> list[int]:
    """Return the lines from the newest message back to the first, by `parentUuid` alone."""
    by_id = {name: index for index, line in _main_lines(lines) if (name := _name(line, "uuid"))}
    messages = [index for index in by_id.values() if _is_message(lines[index])]
    if not messages:
        return []
    # Of equal times, the last line is the newest.
    newest = max(reversed(messages), key=lambda index: _name(lines[index], "timestamp"))
    name = _name(lines[newest], "uuid")
    path: dict[str, int] = {}
    while name in by_id and name not in path:
        path[name] = by_id[name]
        name = _name(lines[by_id[name]], "parentUuid")
    return [*path.values()]


def _name(members: JsonObject, member: str) -> str:
    name = members.get(member)
    return name if isinstance(name, str) else ""


def _message_id(line: JsonObject) -> str:
    """Return the id of the reply that a line belongs to, if any."""
    is_reply = _is_message(line) and line["type"] == "assistant"
    return _name(line["message"], "id") if is_reply else ""


def _only_answers(line: JsonObject) -> bool:
    if not _is_message(line) or line["type"] != "user":
        return False
    content = line["message"].get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _joined(pieces: Sequence[JsonObject]) -> JsonObject:
    """Return a message with the blocks of all its lines, without repeated ones."""
    return {**pieces[-1], "content": [block for _, _, block in join_blocks(pieces)]}


def join_blocks(pieces: Sequence[JsonObject]) -> list[tuple[int, int, JsonValue]]:
    """Return the blocks of a message without repeated ones, each after its piece and its index."""
    blocks: dict[str, tuple[int, int, JsonValue]] = {}
    for number, piece in enumerate(pieces):
        content = piece.get("content")
        listed = content if isinstance(content, list) else [text_block(content or "")]
        for index, block in enumerate(listed):
            blocks.setdefault(json_text(block), (number, index, block))
    return [*blocks.values()]


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
