"""References to the entries of a history, as models write them, and the texts they name.

`@entry:12` names the text of an entry, `@entry:12/arguments/1/content` a value in the arguments of
its second call, and `@entries:2-1630` a list with one line for each entry.

Source: `context`, "Budget".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pagefault_dialects.context.cut_marks import ArgumentHandle
from pagefault_dialects.context.evicted_forms import entry_text
from pagefault_dialects.context.recalls import WORD_END
from pagefault_dialects.json.pointers import follow, json_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import ComposedTurn, Medium, TurnCall
from pagefault_dialects.pages.one_line import one_line, quoted_short
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError

_RANGE = re.compile(rf"@?entries:([0-9]{{1,15}})(?:(-)([0-9]{{1,15}})?)?{WORD_END}")
_WORDS_CHARS = 100
_NAME_CHARS = 40
_MAX_NAMED = 6


@dataclass(frozen=True, slots=True)
class EntryRange:
    """A range of entries, both ends included; without `last`, up to the newest."""

    first: int
    last: int | None

    def ref(self, first: int) -> str:
        """Return the reference to its entries from a `seq` on."""
        return f"@entries:{first}-{'' if self.last is None else self.last}"


def parse_entry_range(text: str) -> EntryRange | None:
    """Return the first range of entries in a text; `None` if there is none."""
    found = _RANGE.search(text)
    if found is None:
        return None
    first = int(found[1])
    if found[2] is None:
        return EntryRange(first, first)
    return EntryRange(first, None if found[3] is None else int(found[3]))


def entry_line(seq: int, turns: Sequence[ComposedTurn]) -> str:
    """Return a line for an entry: speakers, calls, failures, and the beginning of its text."""
    words = [f"{seq}", *dict.fromkeys(map(_speaker, turns))]
    calls = [call for turn in turns for call in turn.calls]
    if calls:
        words.append(f"calls {_calls(calls)}")
    line = " ".join(words)
    line += ", failed" if any(turn.is_error for turn in turns) else ""
    media = sum(isinstance(item, Medium) for turn in turns for item in turn.items)
    line += f", {media} media" if media else ""
    text = entry_text(turns)
    return line + (f", {len(text)} characters: {quoted_short(text, _WORDS_CHARS)}" if text else "")


def entry_words(seq: int, turns: Sequence[ComposedTurn]) -> str:
    """Return the text of an entry; if it has only calls, their names and arguments."""
    return entry_text(turns) or "\n".join(
        f"{_call_name(seq, index, call.name)}: {json_text(call.arguments)}"
        for index, call in enumerate(calls_in(turns))
    )


def argument_text(turns: Sequence[ComposedTurn], handle: ArgumentHandle) -> str:
    """Return a string in the arguments of a call, or the JSON of another value.

    Raises:
        WrongArgumentsError: The entry makes no such call, or it has no such argument.
    """
    calls = calls_in(turns)
    if handle.call_index >= len(calls):
        names = [_call_name(handle.seq, index, call.name) for index, call in enumerate(calls)]
        has = f"makes {len(calls)} calls: {_list(names)}" if calls else "makes no call"
        raise WrongArgumentsError(
            f"Entry {handle.seq} {has}. read_text @entry:{handle.seq} reads what it says."
        )
    followed = follow(calls[handle.call_index].arguments, handle.names)
    if followed.steps < len(handle.names):
        parent = json_pointer(handle.names[: followed.steps])
        name = _call_name(handle.seq, handle.call_index, calls[handle.call_index].name)
        raise WrongArgumentsError(
            f"{name} has nothing at {quoted_short(json_pointer(handle.names), _WORDS_CHARS)}. "
            f"{_members(followed.value, parent)}"
        )
    value = followed.value
    return value if isinstance(value, str) else json_text(value)


def calls_in(turns: Sequence[ComposedTurn]) -> Sequence[TurnCall]:
    """Return the calls of an entry in order, including calls stored with answers."""
    return [
        call
        for turn in turns
        for call in (*turn.calls, *([turn.recorded_call] if turn.recorded_call else []))
    ]


def _speaker(turn: ComposedTurn) -> str:
    return f"tool {_name(turn.tool_name)}" if turn.tool_name else turn.role


def _call_name(seq: int, index: int, name: str) -> str:
    return f"@entry:{seq}/arguments/{index} ({_name(name)})"


def _members(value: JsonValue, pointer: str) -> str:
    """Return a sentence that lists the nearest arguments."""
    place = f"At {quoted_short(pointer, _WORDS_CHARS)} there" if pointer else "There"
    if isinstance(value, dict) and value:
        return f"{place} are {_list([quoted_short(key, _NAME_CHARS) for key in value])}."
    if isinstance(value, list) and value:
        return f"{place} are items 0 to {len(value) - 1}."
    return f"{place} is a value without members: leave the rest out."


def _calls(calls: Sequence[TurnCall]) -> str:
    """Return the names of calls, each with the beginning of its arguments."""
    most = max(_NAME_CHARS, _WORDS_CHARS // len(calls))
    return _list([f"{_name(call.name)} {_arguments(call.arguments, most)}" for call in calls])


def _arguments(arguments: JsonValue, most: int) -> str:
    # In calls that write files, the path often follows the long text.
    if isinstance(arguments, dict):
        arguments = {name: _short(value) for name, value in arguments.items()}
    text = one_line(json_text(arguments))
    return text if len(text) <= most else f"{text[:most]}…"


def _short(value: JsonValue) -> JsonValue:
    if isinstance(value, str) and len(value) > _NAME_CHARS:
        return f"{value[:_NAME_CHARS]}…"
    return value


def _list(words: Sequence[str]) -> str:
    more = len(words) - _MAX_NAMED
    return ", ".join(words[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _name(name: str) -> str:
    return one_line(name[:_NAME_CHARS])
