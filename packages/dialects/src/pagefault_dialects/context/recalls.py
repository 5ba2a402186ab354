"""Recalls: calls that bring evicted content back into the context.

A call of `page_fault` recalls the page that it names, `view_media` a stored medium, and `read_text`
an entry of the history or a stored text. Such calls are entries of the history themselves, so the
number of recalls depends on the history alone, and appending changes no earlier count.

Source: design document `context.md`, "Budget"; the working set of spec 000's memory.
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

RECALLS_FOR_RAISED_PRIORITY = 3
"""From this recall of an object on, its results have raised priority: they are evicted last."""

PAGE_FAULT = "page_fault"
_READ_TEXT, _VIEW_MEDIA = "read_text", "view_media"
WORD_END = r"(?![_.~%/-]*+[0-9A-Za-z])"
"""A pattern for the end of a handle: no letter or digit follows, not even after punctuation."""
MEDIUM_HANDLE = re.compile(r"(?<![0-9A-Za-z])(?:@?blob:)?([0-9a-f]{32})(?![0-9A-Za-z])")
"""The handle of a medium, in any text."""
ENTRY_HANDLE = re.compile(
    rf"@?entry:([0-9]{{1,15}})(?:/([0-9a-f]{{12}}))?"
    rf"(?:{WORD_END}|(?=/arguments/[0-9]{{1,9}}(?![0-9A-Za-z])))"
)
"""The handle of an entry, or of a medium in an entry, which ends in the beginning of its digest; in
any text."""


@dataclass(frozen=True, slots=True)
class RecalledObject:
    """A page, a stored medium or text, or an entry of the history, which a call recalls."""

    kind: RecallKind
    name: str
    """The id of a page, the id of a stored medium or text, or the `seq` of an entry."""


@dataclass(frozen=True, slots=True)
class Recall:
    """A call that recalls an object."""

    target: RecalledObject
    """The recalled object."""
    level: Level
    """The requested level of a page; `ABSTRACT` if the call names none."""
    count: int
    """The number of recalls of the object so far, including this one."""
    index: int
    """The index of the turn with the call."""

    @property
    def has_raised_priority(self) -> bool:
        """Return whether the object was recalled so often that the result is evicted last."""
        return self.count >= RECALLS_FOR_RAISED_PRIORITY


def find_recalls(
    turns: Sequence[ComposedTurn],
    earlier_totals: Mapping[RecalledObject, int] = MappingProxyType({}),
    earlier_counts: Mapping[str, int] = MappingProxyType({}),
) -> Mapping[str, Recall]:
    """Return the recalls of a conversation in order, by the ids of their calls.

    Args:
        turns: The conversation.
        earlier_totals: The number of recalls of each object in a prefix of the history.
        earlier_counts: The `Recall.count` of the recalls in `turns` that belong to this prefix, by
            the ids of their calls. They are included in `earlier_totals`.
    """
    totals = Counter(earlier_totals)
    recalls: dict[str, Recall] = {}
    for index, turn in enumerate(turns):
        for call in turn.calls:
            target = _find_recalled_object(call)
            if target is None:
                continue
            count = earlier_counts.get(call.call_id)
            if count is None:
                totals[target] += 1
                count = totals[target]
            level = _requested_level(call.arguments.get("target_level"))
            recalls[call.call_id] = Recall(target, level, count, index)
    return recalls


def _find_recalled_object(call: TurnCall) -> RecalledObject | None:
    # Hosts put the name of the server before the name of a tool: `mcp__pagefault__page_fault`.
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


def _requested_level(value: JsonValue) -> Level:
    level = parse_level(str(value).strip()) if isinstance(value, str | int) else None
    return Level.ABSTRACT if level is None else level
