"""Generated histories that are long enough to be evicted from."""

import hashlib
from dataclasses import replace

from hypothesis import strategies as st

from packages.dialects.tests.targets.composed import medium
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.resource import MediaHints
from tests.kit import media

_PICTURE = media.png(8, 6)
_DIGEST = hashlib.sha256(_PICTURE).hexdigest()
_LONG = "The quick brown fox jumps over the lazy dog. "
_texts = st.builds(
    lambda times, number: TextItem("/parts/0", f"{number}: " + _LONG * times),
    st.sampled_from([1, 1, 30, 80, 300]),
    st.integers(0, 99),
)
_values = st.builds(
    lambda times: DataItem("/meta/structuredContent", {"a": [_LONG] * times}),
    st.sampled_from([1, 40]),
)


@st.composite
def _pictures(draw: st.DrawFn) -> Item:
    digit = draw(st.integers(0, 15))
    source = StoredBytes(f"{digit:x}" * 32, _DIGEST)
    side = draw(st.sampled_from([80, 1_200]))
    return medium(size_bytes=len(_PICTURE), source=source, hints=MediaHints(side, side))


def _recalls() -> st.SearchStrategy[TurnCall]:
    """Calls that read a page, a medium, or an entry."""
    pages = st.builds(
        lambda name, level: TurnCall("", "page_fault", {"page_id": name, "target_level": level}),
        st.sampled_from(PAGES),
        st.sampled_from([0, "FULL", 2]),
    )
    media_seen = st.builds(
        lambda digit: TurnCall("", "view_media", {"ref": f"@blob:{f'{digit:x}' * 32}"}),
        st.integers(0, 2),
    )
    entries = st.builds(
        lambda seq: TurnCall("", "mcp__memory__read_text", {"ref": f"@entry:{seq}"}),
        st.integers(1, 4),
    )
    return pages | pages | media_seen | entries


PAGES = ("p0", "p1")
_KINDS = (
    "work",
    "work",
    "recall",
    "recall",
    "talk",
    "orphan",
    "early",
    "late",
    "parallel",
    "system",
)


@st.composite
def long_histories(draw: st.DrawFn) -> tuple[ComposedTurn, ...]:
    """Return a history whose results stand before, directly behind, or far behind their calls."""
    turns: list[ComposedTurn] = []

    def add(role: str, items: tuple[Item, ...] = (), **more: object) -> None:
        seq = len(turns) + 1
        origin = f"/api/sessions/s/messages/{seq}"
        turns.append(Turn(role, items, origin, seq, **more))  # type: ignore[arg-type]

    add("user", (TextItem("/content", "Begin."),))
    for step in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(_KINDS))
        items = tuple(draw(st.lists(_texts | _values | _pictures(), min_size=1, max_size=2)))
        call = TurnCall(f"c{step}", "look", {"n": step})
        if kind == "recall":
            call = replace(draw(_recalls()), call_id=call.call_id)
        answer = {"call_id": call.call_id, "tool_name": call.name}
        match kind:
            case "talk":
                add("user", tuple(draw(st.lists(_texts | _pictures(), min_size=1, max_size=2))))
                add("assistant", (draw(_texts),))
            case "system":
                add("system", (TextItem("/content", "Be careful."),))
            case "orphan":
                add("tool", items, call_id=f"o{step}", tool_name="look")
            case "early":
                add("tool", items, **answer)
                add("assistant", calls=(call,))
            case "late":
                add("assistant", calls=(call,))
                add("user", (TextItem("/content", "Go on."),))
                add("tool", items, **answer)
            case "parallel":
                second = replace(call, call_id=f"d{step}")
                add("assistant", calls=(call, second))
                add("tool", items, call_id=second.call_id, tool_name="look")
                add("tool", (draw(_texts),), **answer)
            case _:
                add("assistant", calls=(call,))
                add("tool", items, **answer)
    return tuple(turns)
