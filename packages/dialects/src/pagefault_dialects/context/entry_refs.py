"""References to the entries of a history, which models write in calls of `read_text`.

`@entry:12` names the text of an entry, `@entry:12/arguments/1/content` a value in the arguments of
its second call, and `@entries:2-1630` a list with one line for each entry.

Source: design document `context.md`, "Budget".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pagefault_dialects.context.cut_marks import ArgumentHandle
from pagefault_dialects.context.evicted_forms import format_entry_text
from pagefault_dialects.context.recalls import WORD_END
from pagefault_dialects.json.pointers import follow, json_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import ComposedTurn, Medium, TurnCall
from pagefault_dialects.pages.line_formats import escape_line_breaks, quote_short
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError

_RANGE = re.compile(rf"@?entries:([0-9]{{1,15}})(?:(-)([0-9]{{1,15}})?)?{WORD_END}")
_EXCERPT_CHARS = 100
_NAME_CHARS = 40
# A list names this many items; the others are counted.
_MAX_LISTED = 6


@dataclass(frozen=True, slots=True)
class EntryRange:
    """A range of entries by their `seq`, both ends included."""

    first: int
    last: int | None
    """The last entry; `None` for the newest."""

    def ref_from(self, first: int) -> str:
        """Return the reference to the entries of this range from `first` on."""
        return f"@entries:{first}-{'' if self.last is None else self.last}"


def parse_entry_range(text: str) -> EntryRange | None:
    """Return the first reference to a range of entries in a text; `None` if there is none."""
    match = _RANGE.search(text)
    if match is None:
        return None
    first = int(match[1])
    if match[2] is None:
        return EntryRange(first, first)
    return EntryRange(first, None if match[3] is None else int(match[3]))


def describe_entry(seq: int, turns: Sequence[ComposedTurn]) -> str:
    """Return a line about an entry: speakers, calls, failures, and the beginning of its text."""
    # `dict.fromkeys` removes repeated speakers and keeps their order.
    words = [f"{seq}", *dict.fromkeys(map(_describe_speaker, turns))]
    calls = [call for turn in turns for call in turn.calls]
    if calls:
        words.append(f"calls {_describe_calls(calls)}")
    line = " ".join(words)
    line += ", failed" if any(turn.is_error for turn in turns) else ""
    media = sum(isinstance(item, Medium) for turn in turns for item in turn.items)
    line += f", {media} media" if media else ""
    text = format_entry_text(turns)
    return line + (f", {len(text)} characters: {quote_short(text, _EXCERPT_CHARS)}" if text else "")


def entry_text_or_calls(seq: int, turns: Sequence[ComposedTurn]) -> str:
    """Return the text of an entry. If it has none, return the names and arguments of its calls."""
    return format_entry_text(turns) or "\n".join(
        f"{_format_call_name(seq, index, call.name)}: {json_text(call.arguments)}"
        for index, call in enumerate(calls_in(turns))
    )


def argument_text(turns: Sequence[ComposedTurn], handle: ArgumentHandle) -> str:
    """Return the value that a handle names in the arguments of a call: a string, or else JSON.

    Args:
        turns: The turns of the entry.
        handle: The handle of the value.

    Raises:
        WrongArgumentsError: The entry has no such call, or the call no such argument.
    """
    calls = calls_in(turns)
    if handle.call_index >= len(calls):
        names = [
            _format_call_name(handle.seq, index, call.name) for index, call in enumerate(calls)
        ]
        makes = f"makes {len(calls)} calls: {_join(names)}" if calls else "makes no call"
        raise WrongArgumentsError(
            f"Entry {handle.seq} {makes}. read_text @entry:{handle.seq} reads what it says."
        )
    followed = follow(calls[handle.call_index].arguments, handle.names)
    if followed.steps < len(handle.names):
        parent = json_pointer(handle.names[: followed.steps])
        name = _format_call_name(handle.seq, handle.call_index, calls[handle.call_index].name)
        raise WrongArgumentsError(
            f"{name} has nothing at {quote_short(json_pointer(handle.names), _EXCERPT_CHARS)}. "
            f"{_describe_members(followed.value, parent)}"
        )
    value = followed.value
    return value if isinstance(value, str) else json_text(value)


def calls_in(turns: Sequence[ComposedTurn]) -> Sequence[TurnCall]:
    """Return the calls of an entry in order, including calls that are stored with their results."""
    return [
        call
        for turn in turns
        for call in (*turn.calls, *([turn.recorded_call] if turn.recorded_call else []))
    ]


def _describe_speaker(turn: ComposedTurn) -> str:
    return f"tool {_shorten_name(turn.tool_name)}" if turn.tool_name else turn.role


def _format_call_name(seq: int, index: int, name: str) -> str:
    return f"@entry:{seq}/arguments/{index} ({_shorten_name(name)})"


def _describe_members(value: JsonValue, pointer: str) -> str:
    """Return a sentence that lists the members of a value."""
    subject = f"At {quote_short(pointer, _EXCERPT_CHARS)} there" if pointer else "There"
    if isinstance(value, dict) and value:
        return f"{subject} are {_join([quote_short(key, _NAME_CHARS) for key in value])}."
    if isinstance(value, list) and value:
        return f"{subject} are items 0 to {len(value) - 1}."
    return f"{subject} is a value without members: leave the rest out."


def _describe_calls(calls: Sequence[TurnCall]) -> str:
    """Return the names of calls, each with the beginning of its arguments."""
    max_chars = max(_NAME_CHARS, _EXCERPT_CHARS // len(calls))
    return _join(
        [
            f"{_shorten_name(call.name)} {_short_arguments(call.arguments, max_chars)}"
            for call in calls
        ]
    )


def _short_arguments(arguments: JsonValue, max_chars: int) -> str:
    # Each value is cut by itself, since the path often follows the long text of a written file.
    if isinstance(arguments, dict):
        arguments = {
            name: f"{value[:_NAME_CHARS]}…"
            if isinstance(value, str) and len(value) > _NAME_CHARS
            else value
            for name, value in arguments.items()
        }
    text = escape_line_breaks(json_text(arguments))
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"


def _join(words: Sequence[str]) -> str:
    others = len(words) - _MAX_LISTED
    return ", ".join(words[:_MAX_LISTED]) + (f" and {others} more" if others > 0 else "")


def _shorten_name(name: str) -> str:
    return escape_line_breaks(name[:_NAME_CHARS])
