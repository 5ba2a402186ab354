"""Recalls: calls by which a model gets back what it does not see any more.

A page, a stored medium or an entry of the history is *recalled* by a call of `page_fault`,
`view_media` or `read_text` that names it. Such calls are entries of the history, so how often each
was recalled follows from the history alone, and appending changes no count that was there.

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
"""The answer to the so-many-th recall of a thing, and to each that follows, gives way last."""

PAGE_FAULT = "page_fault"
_READ_TEXT, _VIEW_MEDIA = "read_text", "view_media"
WORD_END = r"(?![_.~%/-]*+[0-9A-Za-z])"
"""The end of a reference: punctuation may follow, but nothing that it would go on with."""
MEDIUM_NAMED = re.compile(r"(?<![0-9A-Za-z])(?:@?blob:)?([0-9a-f]{32})(?![0-9A-Za-z])")
"""A medium as models name it, with whatever stands around its handle."""
ENTRY_NAMED = re.compile(
    rf"@?entry:([0-9]{{1,15}})(?:/([0-9a-f]{{12}}))?"
    rf"(?:{WORD_END}|(?=/arguments/[0-9]{{1,9}}(?![0-9A-Za-z])))"
)
"""An entry as models name it, or a medium in it: the entry and the beginning of its digest."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a call gets back: a page by its id, a medium by its, an entry by its `seq`."""

    kind: RecallKind
    name: str


@dataclass(frozen=True, slots=True)
class Recall:
    """A call that gets something back."""

    what: Recalled
    """What it names."""
    level: Level
    """At which level a page is asked for."""
    times: int
    """How many calls named the same, this one among them."""
    index: int
    """The index of the turn that calls."""

    @property
    def is_raised(self) -> bool:
        """Whether the answer gives way last."""
        return self.times >= RAISED_AT


def recalls_in(
    turns: Sequence[ComposedTurn], before: Mapping[Recalled, int] = MappingProxyType({})
) -> Mapping[str, Recall]:
    """Return the calls of a conversation that get something back, in order, by their ids.

    Args:
        turns: The conversation.
        before: How often each thing was recalled before its first turn.
    """
    counts = Counter(before)
    recalls: dict[str, Recall] = {}
    for index, turn in enumerate(turns):
        for call in turn.calls:
            what = _recalled(call)
            if what is not None:
                counts[what] += 1
                level = _level(call.arguments.get("target_level"))
                recalls[call.call_id] = Recall(what, level, counts[what], index)
    return recalls


def _recalled(call: TurnCall) -> Recalled | None:
    # Hosts put the name of a server before that of its tool.
    if call.name.endswith(PAGE_FAULT):
        page_id = call.arguments.get("page_id")
        return Recalled("page", page_id) if isinstance(page_id, str) else None
    ref = call.arguments.get("ref")
    if not isinstance(ref, str) or not call.name.endswith((_READ_TEXT, _VIEW_MEDIA)):
        return None
    if (entry := ENTRY_NAMED.search(ref)) is not None:
        return Recalled("entry", str(int(entry.group(1))))
    medium = MEDIUM_NAMED.search(ref)
    return None if medium is None else Recalled("medium", medium.group(1))


def _level(asked: JsonValue) -> Level:
    level = parse_level(str(asked).strip()) if isinstance(asked, str | int) else None
    return Level.ABSTRACT if level is None else level
