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

_MESSAGE_TYPES = ("user", "assistant")
_LINE_MEMBERS = frozenset(("sessionId", "parentUuid", "leafUuid", "snapshot"))


def _is_line(value: JsonObject) -> bool:
    return isinstance(value.get("type"), str) and not _LINE_MEMBERS.isdisjoint(value)


def _is_message(line: JsonValue) -> bool:
    return (
        isinstance(line, dict)
        and line.get("type") in _MESSAGE_TYPES
        and isinstance(line.get("message"), dict)
    )


def _is_bare(value: JsonObject) -> bool:
    """Return whether an element is a message outside of a line."""
    return isinstance(value.get("role"), str) and value.get("type") in (None, "message")


def _is_of_subagent(line: JsonObject) -> bool:
    return line.get("isSidechain") is True


def _is_skipped(line: JsonObject) -> bool:
    return not _is_bare(line) and (not _is_message(line) or _is_of_subagent(line))


def _read_lines(lines: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for indexes in group_lines(lines):
        first = lines[indexes[0]]
        if _is_bare(first):
            yield f"/{indexes[0]}", first
            continue
        messages = [lines[index]["message"] for index in indexes]
        yield f"/{indexes[0]}/message", messages[0] if len(messages) == 1 else _join_lines(messages)


def group_lines(lines: Sequence[JsonValue]) -> list[list[int]]:
    """Return the messages of the conversation in order, each as the indexes of its lines."""
    indexed_lines = _main_lines(lines)
    chain = _find_chain([line for _, line in indexed_lines])
    groups: list[list[int]] = []
    by_message: dict[str, list[int]] = {}
    for index, line in indexed_lines:
        if _is_bare(line):
            groups.append([index])
            continue
        if not _is_message(line) or (chain and _text_member(line, "uuid") not in chain):
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
    """Return the lines of the agent, each after its index.

    Lines of a subagent are returned only if the file has no others.
    """
    indexed_lines = [(index, line) for index, line in enumerate(lines) if isinstance(line, dict)]
    main = [(index, line) for index, line in indexed_lines if not _is_of_subagent(line)]
    return main if any(_is_message(line) for _, line in main) else indexed_lines


def _find_chain(lines: Sequence[JsonObject]) -> set[str]:
    """Return the ids of lines from the newest message back to the first; empty without ids.

    Parallel calls are separate lines, each followed by its result. Only one of them is in the chain
    of parents, so lines of the same message, and their results, are added.
    """
    by_id = {name: line for line in lines if (name := _text_member(line, "uuid"))}
    chain = {_text_member(lines[index], "uuid") for index in find_path(lines)}
    message_ids = {_message_id(by_id[item]) for item in chain} - {""}
    siblings = {name for name, line in by_id.items() if _message_id(line) in message_ids}
    result_lines = {
        name
        for name, line in by_id.items()
        if _text_member(line, "parentUuid") in siblings and _has_only_results(line)
    }
    return chain | siblings | result_lines


def find_path(lines: Sequence[JsonValue]) -> list[int]:
    """Return the indexes of lines from the newest message back to the first, by `parentUuid`."""
    by_id = {
        name: index for index, line in _main_lines(lines) if (name := _text_member(line, "uuid"))
    }
    messages = [index for index in by_id.values() if _is_message(lines[index])]
    if not messages:
        return []
    # Of equal times, the last line is the newest.
    newest = max(reversed(messages), key=lambda index: _text_member(lines[index], "timestamp"))
    name = _text_member(lines[newest], "uuid")
    path: dict[str, int] = {}
    while name in by_id and name not in path:
        path[name] = by_id[name]
        name = _text_member(lines[by_id[name]], "parentUuid")
    return [*path.values()]


def _text_member(members: JsonObject, member: str) -> str:
    name = members.get(member)
    return name if isinstance(name, str) else ""


def _message_id(line: JsonObject) -> str:
    """Return the id of the assistant's message that a line belongs to; "" if there is none."""
    is_reply = _is_message(line) and line["type"] == "assistant"
    return _text_member(line["message"], "id") if is_reply else ""


def _has_only_results(line: JsonObject) -> bool:
    if not _is_message(line) or line["type"] != "user":
        return False
    content = line["message"].get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _join_lines(messages: Sequence[JsonObject]) -> JsonObject:
    """Return a message with the blocks of all its lines, without repeated ones."""
    return {**messages[-1], "content": [block for _, _, block in collect_blocks(messages)]}


def collect_blocks(messages: Sequence[JsonObject]) -> list[tuple[int, int, JsonValue]]:
    """Return the blocks of a message's lines without repetitions.

    Each follows the index of its line among the arguments, and its own index in that line.
    """
    blocks: dict[str, tuple[int, int, JsonValue]] = {}
    for number, message in enumerate(messages):
        content = message.get("content")
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
            is_skipped=_is_skipped,
            messages_in="anthropic",
        ),
    ),
)
