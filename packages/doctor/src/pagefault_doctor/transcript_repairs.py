"""Repairs of a transcript, line by line.

Lines keep their order, because they refer to each other. Only lines that are not JSON are removed.
After a call without a result, a line with a result is inserted. A result without a call becomes a
text in its line. Invalid blocks are replaced by blocks that the doctor has repaired.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from pagefault_dialects.dialects.claude_code import collect_blocks, find_path, group_lines
from pagefault_dialects.dialects.codex import read_items
from pagefault_dialects.json.values import JsonObject, JsonValue, json_bytes, json_text
from pagefault_dialects.turns.pairing import NO_RESULT
from pagefault_doctor.transcript_files import Transcript, parse_line

NO_CONTENT = "(no content)"
"""The text of an empty message, as Claude Code writes it."""
ORPHAN = "[The result of a call that is not in the conversation:]"
"""The text before a result that has no call."""
MOVED = "[The result that was here is behind its call.]"
"""The text of a line whose only result was moved."""
_COPIED_MEMBERS = (
    *("isSidechain", "agentId", "userType", "entrypoint", "cwd", "sessionId", "version"),
    *("gitBranch", "slug", "timestamp"),
)
_OUTPUTS = {
    "function_call": "function_call_output",
    "local_shell_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}


@dataclass(frozen=True, slots=True, order=True)
class LineChange:
    """A change of one line, as a sentence; `line` is its index."""

    line: int
    text: str


@dataclass(slots=True)
class Edits:
    """The edits of a transcript, by the indexes of its lines."""

    messages: dict[int, JsonObject] = field(default_factory=dict)
    """The new message of a line of Claude Code, or the new item of a line of Codex."""
    inserted: dict[int, list[JsonObject]] = field(default_factory=dict)
    """The results to insert after a line: the content of a new message, or items of Codex."""
    parents: dict[int, str] = field(default_factory=dict)
    """The new `parentUuid` of a line."""
    removed: frozenset[int] = frozenset()
    changes: list[LineChange] = field(default_factory=list)

    def add_change(self, line: int, text: str) -> None:
        """Add a change to the list."""
        self.changes.append(LineChange(line, text))


Repairs = Mapping[tuple[int, int], tuple[Sequence[JsonObject], str]]
"""The blocks that replace a block, and the change as a sentence, by the indexes of the line and of
the block."""


# --- Claude Code


def index_messages(lines: Sequence[JsonObject]) -> dict[str, list[int]]:
    """Return the indexes of the lines of each message, by the first of them as a text.

    Pointers of findings begin with this text.
    """
    return {str(group[0]): group for group in group_lines(lines)}


def locate_blocks(
    lines: Sequence[JsonObject], messages: Mapping[str, Sequence[int]], pointer: str
) -> list[tuple[int, int]]:
    """Return the indexes of the line and of the block to which the pointer of a finding refers.

    If lines of a message repeat a block, the pointer refers to all of its copies.
    """
    first, is_content, inner = pointer.removeprefix("/").partition("/message/content")
    group = messages.get(first)
    if group is None or not is_content:
        return []
    block_index = inner.split("/")[1] if inner else "0"
    if not block_index.isdigit():
        return []
    index = int(block_index)
    if len(group) == 1:
        return [(group[0], index)]
    _, _, block = collect_blocks([lines[line]["message"] for line in group])[index]
    block_json = json_text(block)
    return [
        (line, position)
        for line in group
        for position, other in enumerate(list_blocks(lines[line]))
        if json_text(other) == block_json
    ]


def locate_finding(
    lines: Sequence[JsonObject], messages: Mapping[str, Sequence[int]], finding: JsonObject
) -> int:
    """Return the index of the line that a finding is about."""
    blocks = locate_blocks(lines, messages, finding["pointer"])
    if blocks:
        return blocks[0][0]
    first = finding["pointer"].removeprefix("/").partition("/")[0]
    lines_of_call = (
        line
        for line in messages.get(first, ())
        for block in _select_blocks(list_blocks(lines[line]), "tool_use")
        if block.get("id") == finding.get("callId")
    )
    return next(lines_of_call, int(first) if first.isdigit() else 0)


def list_blocks(line: JsonObject) -> list[Any]:
    """Return the blocks of the message in a line. A text is returned as one block."""
    content = line["message"].get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [*content] if isinstance(content, list) else []


def edit_claude_code(transcript: Transcript, repairs: Repairs, empty: Sequence[int]) -> Edits:
    """Return the edits that make a conversation of Claude Code valid.

    Args:
        transcript: The lines.
        repairs: The blocks that are to be replaced.
        empty: The indexes of lines whose messages have no content.
    """
    edits = Edits(removed=transcript.broken)
    contents: dict[int, list[Any]] = {index: [] for index in empty}
    for index in empty:
        edits.add_change(index, f'an empty message became "{NO_CONTENT}"')
    # The last block is replaced first, so that the positions of the others stay valid.
    for (line, position), (blocks, text) in sorted(repairs.items(), reverse=True):
        content = contents.setdefault(line, list_blocks(transcript.lines[line]))
        content[position : position + 1] = blocks
        edits.add_change(line, text)
    _pair_results(transcript.lines, contents, edits)
    for line, content in contents.items():
        blocks = content or [{"type": "text", "text": NO_CONTENT}]
        edits.messages[line] = {**transcript.lines[line]["message"], "content": blocks}
    return edits


@dataclass(slots=True)
class _Pairing:
    """Pairs the calls of a conversation with their results, line by line."""

    lines: Sequence[JsonObject]
    path: Sequence[int]
    """The indexes of the lines of the conversation, the newest first; see `find_path`."""
    contents: dict[int, list[Any]]
    """The new blocks of lines, by the indexes of the lines."""
    edits: Edits
    calls: dict[str, str] = field(default_factory=dict)
    """The calls of the last reply without a result: the name of the tool, by the id of the call."""
    reply: list[int] = field(default_factory=list)
    """The indexes of the lines of the last reply."""
    has_other_blocks: bool = False
    """True after a block of the user that is not a result. No result may follow it in the turn."""
    missing_results: dict[str, JsonObject] = field(default_factory=dict)
    """The results that are to be inserted, by the ids of their calls."""
    misplaced_results: list[tuple[int, JsonObject, bool]] = field(default_factory=list)
    """Results that do not belong to an open call, each with the index of its line, and with true if
    its call has a result already."""
    answered: set[str] = field(default_factory=set)
    """The ids of calls that have a result."""

    def content(self, line: int) -> list[Any]:
        """Return the blocks of a line after its repairs."""
        return self.contents[line] if line in self.contents else list_blocks(self.lines[line])

    def read_reply(self, group: Sequence[int]) -> None:
        """Read a message of the assistant."""
        self.close_reply()
        self.reply = [*group]
        for line in group:
            for block in _select_blocks(self.content(line), "tool_use"):
                if isinstance(block.get("id"), str):
                    self.calls[block["id"]] = block.get("name") or ""

    def read_user_line(self, line: int) -> None:
        """Read a line of the user, and move its results before its other blocks."""
        content = self.content(line)
        results = _select_blocks(content, "tool_result")
        others = [block for block in content if block not in results]
        if [*results, *others] != content:
            self.contents[line] = [*results, *others]
            self.edits.add_change(line, "the results are moved before the other blocks")
        for block in results:
            call_id = _find_call_id(block)
            if call_id in self.calls and not self.has_other_blocks:
                del self.calls[call_id]
                self.answered.add(call_id)
            else:
                self.misplaced_results.append((line, block, call_id in self.answered))
        self.has_other_blocks = self.has_other_blocks or bool(others)

    def close_reply(self) -> None:
        """Add a line with the results of open calls after the last line of the reply."""
        if self.calls:
            line = next((line for line in self.path if line in self.reply), self.reply[-1])
            results: list[JsonObject] = [
                {
                    "type": "tool_result",
                    "tool_use_id": call_id,
                    "content": NO_RESULT,
                    "is_error": True,
                }
                for call_id in self.calls
            ]
            self.edits.inserted[line] = results
            self.missing_results |= {block["tool_use_id"]: block for block in results}
            for call_id, tool in self.calls.items():
                self.edits.add_change(
                    line, f"a line after it has the missing result of {call_id} ({tool})"
                )
            position = self.path.index(line) if line in self.path else 0
            if position:
                # The inserted line is the new parent of the next line of the conversation.
                self.edits.parents[self.path[position - 1]] = make_result_uuid(
                    self.lines[line], results
                )
        self.calls, self.reply, self.has_other_blocks = {}, [], False

    def move_results(self) -> None:
        """Move misplaced results to their calls; a result without a call becomes text."""
        for line, block, is_answered in self.misplaced_results:
            call_id = _find_call_id(block)
            content = self.content(line)
            others = [item for item in content if item != block]
            result = self.missing_results.pop(call_id, None)
            if result is not None:
                result.pop("is_error")
                result.update(block)
                self.edits.add_change(line, f"the result of {call_id} is moved behind its call")
                self.contents[line] = others or [{"type": "text", "text": MOVED}]
                continue
            call = call_id or "an unknown call"
            fault = f"the second result of {call}" if is_answered else f"the result of {call}"
            reason = "" if is_answered else ", which has no call,"
            self.edits.add_change(line, f"{fault}{reason} becomes text")
            self.contents[line] = [*others, *_make_text_blocks(block)]


def _pair_results(
    lines: Sequence[JsonObject], contents: dict[int, list[Any]], edits: Edits
) -> None:
    """Edit contents so that each call has one result in the next turn of the user."""
    pairing = _Pairing(lines, find_path(lines), contents, edits)
    for group in group_lines(lines):
        if lines[group[0]]["type"] == "assistant":
            pairing.read_reply(group)
        else:
            for line in group:
                pairing.read_user_line(line)
    pairing.close_reply()
    pairing.move_results()


def _find_call_id(result: JsonObject) -> str:
    """Return the id of the call of a result; an empty text if the id is not a string."""
    call_id = result.get("tool_use_id")
    return call_id if isinstance(call_id, str) else ""


def _select_blocks(content: Sequence[Any], kind: str) -> list[JsonObject]:
    return [block for block in content if isinstance(block, dict) and block.get("type") == kind]


def _make_text_blocks(result: JsonObject) -> Iterator[JsonObject]:
    """Yield the blocks that replace a result without a call: a heading, and its content."""
    content = result.get("content") or ""
    yield {"type": "text", "text": ORPHAN}
    for item in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if isinstance(item, dict) and (item.get("type") != "text" or item.get("text")):
            yield item


def make_result_uuid(line: JsonObject, results: Sequence[JsonObject]) -> str:
    """Return the uuid of the line with results that is inserted after a line.

    It depends only on the line and the results, so a second repair makes the same uuid.
    """
    names = ",".join(block["tool_use_id"] for block in results)
    return str(uuid5(NAMESPACE_OID, f"{line['uuid']}/{names}"))


# --- Codex


def get_item(line: JsonObject) -> JsonObject:
    """Return the item in a line of Codex. In old files, the line is the item."""
    item: JsonObject = line.get("payload", line)
    return item


def locate_item(pointer: str) -> int | None:
    """Return the index of the line to which a pointer refers; `None` inside a compaction."""
    first, _, rest = pointer.removeprefix("/").partition("/")
    return int(first) if first.isdigit() and "replacement_history" not in rest else None


def edit_codex(transcript: Transcript, repairs: Mapping[int, tuple[JsonObject, str]]) -> Edits:
    """Return the edits that make a conversation of Codex valid.

    Args:
        transcript: The lines.
        repairs: The new items, each with the change as a sentence, by the indexes of their lines.
    """
    edits = Edits(removed=transcript.broken)
    for line, (item, text) in repairs.items():
        edits.messages[line] = item
        edits.add_change(line, text)
    lines = (locate_item(pointer) for pointer, _ in read_items(transcript.lines))
    items = {
        line: edits.messages.get(line, get_item(transcript.lines[line]))
        for line in lines
        if line is not None and transcript.lines[line].get("type") != "compacted"
    }
    answered: set[str] = set()
    calls: dict[str, int] = {}
    for line, item in items.items():
        call_id, kind = item.get("call_id"), item.get("type")
        if not isinstance(call_id, str) or not call_id or not isinstance(kind, str):
            continue
        if kind in _OUTPUTS:
            calls.setdefault(call_id, line)
        elif kind in _OUTPUTS.values():
            if call_id not in calls or call_id in answered:
                body = item.get("output") or ""
                blocks = body if isinstance(body, list) else [{"type": "input_text", "text": body}]
                content = [{"type": "input_text", "text": ORPHAN}, *blocks]
                edits.messages[line] = {"type": "message", "role": "user", "content": content}
                edits.add_change(line, f"the result of {call_id}, which has no call, becomes text")
            else:
                answered.add(call_id)
    for call_id, line in calls.items():
        if call_id not in answered:
            output = _OUTPUTS[items[line]["type"]]
            edits.inserted[line] = [{"type": output, "call_id": call_id, "output": NO_RESULT}]
            tool = items[line].get("name", "shell")
            edits.add_change(line, f"a line after it has the missing result of {call_id} ({tool})")
    return edits


# --- Lines


def change_line(transcript: Transcript, edits: Edits, index: int, raw: bytes) -> bytes:
    """Return the new bytes of a line and of the lines that are inserted after it."""
    if index in edits.removed:
        return b""
    line = raw
    if index in edits.messages:
        value = parse_line(raw)
        _set_message(value, edits.messages[index], transcript)
        line = json_bytes(value) + (b"\n" if raw.endswith(b"\n") else b"")
    if index in edits.parents:
        line = _replace_parent(line, transcript.lines[index]["parentUuid"], edits.parents[index])
    if index not in edits.inserted:
        return line
    end = b"" if line.endswith(b"\n") else b"\n"
    value = parse_line(raw)
    inserted = _build_inserted_lines(
        value, transcript.lines[index], edits.inserted[index], transcript
    )
    return line + end + b"".join(json_bytes(item) + b"\n" for item in inserted)


def _set_message(value: JsonObject, message: JsonObject, transcript: Transcript) -> None:
    if transcript.host == "claude-code":
        value["message"]["content"] = message["content"]
    elif "payload" in value:
        value["payload"] = message
    else:
        value.clear()
        value.update(message)


def _replace_parent(line: bytes, old: str, new: str) -> bytes:
    """Return a line with another parent."""
    # If possible, the other bytes of the line stay as they are.
    for space in (b"", b" "):
        member = b'"parentUuid":' + space + json_bytes(old)
        if line.count(member) == 1:
            return line.replace(member, b'"parentUuid":' + space + json_bytes(new))
    value: JsonValue = parse_line(line)
    value["parentUuid"] = new
    return json_bytes(value) + b"\n"


def _build_inserted_lines(
    value: JsonObject, line: JsonObject, results: Sequence[JsonObject], transcript: Transcript
) -> Iterator[JsonObject]:
    if transcript.host == "codex":
        for item in results:
            yield {**value, "payload": item} if "payload" in value else item
        return
    copied = {name: value[name] for name in _COPIED_MEMBERS if name in value}
    yield {
        "parentUuid": value["uuid"],
        **copied,
        "type": "user",
        "message": {"role": "user", "content": [*results]},
        "uuid": make_result_uuid(line, results),
        "sourceToolAssistantUUID": value["uuid"],
    }
