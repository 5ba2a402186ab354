"""Recalls: calls that return content which is no longer in the context.

A page, a stored medium or an entry of the history is *recalled* by a call of `page_fault`,
`view_media` or `read_text` that names it. Such calls are entries of the history, so the number of
recalls depends on the history alone, and appending changes no earlier count.

Source: `context`, "Budget"; the working set of spec 000's memory.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import ComposedTurn, TurnCall
from pagefault_dialects.model.page import Level, parse_level

RecallKind: TypeAlias = Literal["page", "medium", "entry"]

RAISED_AT = 3
"""The number of recalls of an object after which its answers are evicted last."""

PAGE_FAULT = "page_fault"
_READ_TEXT, _VIEW_MEDIA = "read_text", "view_media"
WORD_END = r"(?![_.~%/-]*+[0-9A-Za-z])"
"""The end of a handle: up to the next blank only punctuation follows."""
MEDIUM_HANDLE = re.compile(r"(?<![0-9A-Za-z])(?:@?blob:)?([0-9a-f]{32})(?![0-9A-Za-z])")
"""The handle of a medium, in any text."""
ENTRY_HANDLE = re.compile(
    rf"@?entry:([0-9]{{1,15}})(?:/([0-9a-f]{{12}}))?"
    rf"(?:{WORD_END}|(?=/arguments/[0-9]{{1,9}}(?![0-9A-Za-z])))"
)
"""The handle of an entry, or of a medium in it with the beginning of its digest, in any text."""


@dataclass(frozen=True, slots=True)
class RecalledObject:
    """An object that calls return: a page or a medium by its id, or an entry by its `seq`."""

    kind: RecallKind
    name: str


@dataclass(frozen=True, slots=True)
class Recall:
    """A call that recalls an object."""

    target: RecalledObject
    """The recalled object."""
    level: Level
    """The requested level of a page."""
    times: int
    """The number of calls up to this one that named the object."""
    index: int
    """The index of the turn with the call."""

    @property
    def is_raised(self) -> bool:
        """Return whether the answer is evicted last."""
        return self.times >= RAISED_AT


def find_recalls(
    turns: Sequence[ComposedTurn],
    earlier_counts: Mapping[RecalledObject, int] = MappingProxyType({}),
    earlier_times: Mapping[str, int] = MappingProxyType({}),
) -> Mapping[str, Recall]:
    """Return the recalls of a conversation in order, by the ids of their calls.

    Args:
        turns: The conversation.
        earlier_counts: The number of recalls of each object before the conversation.
        earlier_times: The `times` of recalls that are among those, by the ids of their calls.
    """
    counts = Counter(earlier_counts)
    recalls: dict[str, Recall] = {}
    for index, turn in enumerate(turns):
        for call in turn.calls:
            target = _recalled_object(call)
            if target is not None:
                times = earlier_times.get(call.call_id)
                if times is None:
                    counts[target] += 1
                    times = counts[target]
                level = _level(call.arguments.get("target_level"))
                recalls[call.call_id] = Recall(target, level, times, index)
    return recalls


def _recalled_object(call: TurnCall) -> RecalledObject | None:
    # Hosts prefix the name of a tool with that of its server.
    if call.name.endswith(PAGE_FAULT):
        page_id = call.arguments.get("page_id")
        return RecalledObject("page", page_id) if isinstance(page_id, str) else None
    ref = call.arguments.get("ref")
    if not isinstance(ref, str) or not call.name.endswith((_READ_TEXT, _VIEW_MEDIA)):
        return None
    if (entry := ENTRY_HANDLE.search(ref)) is not None:
        return RecalledObject("entry", str(int(entry.group(1))))
    medium = MEDIUM_HANDLE.search(ref)
    return None if medium is None else RecalledObject("medium", medium.group(1))


def _level(value: JsonValue) -> Level:
    level = parse_level(str(value).strip()) if isinstance(value, str | int) else None
    return Level.ABSTRACT if level is None else level
