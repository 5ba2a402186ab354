"""Claude Code: lines of transcripts and of `stream-json`, and messages of its Agent SDK.

Each line has the id of the line before it, which is its parent. Lines with the same message id are
parts of one message. The conversation is the chain of parents from the newest line back to the
first. Earlier versions of a question, lines of subagents and lines before a compaction are not in
the chain.

The lines that `claude --output-format stream-json` and the Agent SDK for TypeScript write have a
`session_id`, and no parents: all of them are the conversation, except those of subagents.
`claude_sdk_messages` reads the messages of the Agent SDK for Python.
"""

from collections.abc import Iterator, Sequence

from pagefault_dialects.dialects import claude_sdk_messages
from pagefault_dialects.dialects.envelope import DialectTables
from pagefault_dialects.dialects.foreign_message import text_block
from pagefault_dialects.dialects.message_forms import ConversationForm
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text, text_member

_MESSAGE_TYPES = ("user", "assistant")
# One of these members shows that an object is a line of a transcript.
_LINE_MEMBERS = frozenset(("sessionId", "parentUuid", "leafUuid", "snapshot"))
# One of these members shows it together with `session_id`.
_OUTPUT_MEMBERS = frozenset(("uuid", "subtype", "message"))


def _is_line(value: JsonObject) -> bool:
    is_line = not _LINE_MEMBERS.isdisjoint(value)
    is_output = "session_id" in value and not _OUTPUT_MEMBERS.isdisjoint(value)
    return isinstance(value.get("type"), str) and (is_line or is_output)


def _is_message(line: JsonValue) -> bool:
    return (
        isinstance(line, dict)
        and line.get("type") in _MESSAGE_TYPES
        and isinstance(line.get("message"), dict)
    )


def _is_bare(value: JsonObject) -> bool:
    """Return whether an element is a message itself, without a line around it."""
    return isinstance(value.get("role"), str) and value.get("type") in (None, "message")


def _is_of_subagent(line: JsonObject) -> bool:
    return line.get("isSidechain") is True or line.get("parent_tool_use_id") is not None


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
    """Return the indexes of the lines of each message of the conversation, in order."""
    indexed_lines = _find_main_lines(lines)
    chain = _find_chain([line for _, line in indexed_lines])
    groups: list[list[int]] = []
    by_message: dict[str, list[int]] = {}
    for index, line in indexed_lines:
        if _is_bare(line):
            groups.append([index])
            continue
        if not _is_message(line) or (chain and text_member(line, "uuid") not in chain):
            continue
        message_id = _find_message_id(line)
        if message_id in by_message:
            by_message[message_id].append(index)
            continue
        groups.append([index])
        if message_id:
            by_message[message_id] = groups[-1]
    return groups


def _find_main_lines(lines: Sequence[JsonValue]) -> list[tuple[int, JsonObject]]:
    """Return the lines that are not those of subagents, each after its index.

    If the file has only lines of subagents, these are returned.
    """
    indexed_lines = [(index, line) for index, line in enumerate(lines) if isinstance(line, dict)]
    main = [(index, line) for index, line in indexed_lines if not _is_of_subagent(line)]
    return main if any(_is_message(line) for _, line in main) else indexed_lines


def _find_chain(lines: Sequence[JsonObject]) -> set[str]:
    """Return the ids of the lines of the conversation; an empty set if lines have no parents.

    Parallel calls are separate lines, each followed by a line with its result. Only one of them is
    in the chain of parents, so the other lines of the same message and their results are added.
    """
    if not any("parentUuid" in line for line in lines):
        return set()
    by_id = {name: line for line in lines if (name := text_member(line, "uuid"))}
    chain = {text_member(lines[index], "uuid") for index in find_path(lines)}
    message_ids = {_find_message_id(by_id[item]) for item in chain} - {""}
    siblings = {name for name, line in by_id.items() if _find_message_id(line) in message_ids}
    result_lines = {
        name
        for name, line in by_id.items()
        if text_member(line, "parentUuid") in siblings and _has_only_results(line)
    }
    return chain | siblings | result_lines


def find_path(lines: Sequence[JsonValue]) -> list[int]:
    """Return the indexes of the chain of parents, from the newest message back to the first."""
    by_id = {
        name: index
        for index, line in _find_main_lines(lines)
        if (name := text_member(line, "uuid"))
    }
    messages = [index for index in by_id.values() if _is_message(lines[index])]
    if not messages:
        return []
    # Of equal times, the last line is the newest.
    newest = max(reversed(messages), key=lambda index: text_member(lines[index], "timestamp"))
    line_id = text_member(lines[newest], "uuid")
    path: dict[str, int] = {}
    while line_id in by_id and line_id not in path:
        path[line_id] = by_id[line_id]
        line_id = text_member(lines[by_id[line_id]], "parentUuid")
    return [*path.values()]


def _find_message_id(line: JsonObject) -> str:
    """Return the id of the assistant's message in a line; an empty string for other lines."""
    is_reply = _is_message(line) and line["type"] == "assistant"
    return text_member(line["message"], "id") if is_reply else ""


def _has_only_results(line: JsonObject) -> bool:
    """Return whether a line has the results of tools, and nothing else."""
    if not _is_message(line) or line["type"] != "user":
        return False
    content = line["message"].get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _join_lines(messages: Sequence[JsonObject]) -> JsonObject:
    """Return one message with the blocks of all its lines; repeated blocks are dropped."""
    return {**messages[-1], "content": [block for _, _, block in collect_blocks(messages)]}


def collect_blocks(messages: Sequence[JsonObject]) -> list[tuple[int, int, JsonValue]]:
    """Return the blocks of the lines of one message; repeated blocks are dropped.

    Args:
        messages: The message in each of the lines.

    Returns:
        For each block: the index of its line in `messages`, the index of the block in the content
        of the line, and the block.
    """
    blocks: dict[str, tuple[int, int, JsonValue]] = {}
    for line_index, message in enumerate(messages):
        content = message.get("content")
        content_blocks = content if isinstance(content, list) else [text_block(content or "")]
        for block_index, block in enumerate(content_blocks):
            blocks.setdefault(json_text(block), (line_index, block_index, block))
    return [*blocks.values()]


DIALECT = DialectTables(
    "claude-code",
    (),
    messages=claude_sdk_messages.MESSAGES,
    conversations=(
        ConversationForm(
            marks=("type",),
            accepts=_is_line,
            read=_read_lines,
            is_list=True,
            is_skipped=_is_skipped,
            message_dialect="anthropic",
        ),
        *claude_sdk_messages.CONVERSATIONS,
    ),
)
