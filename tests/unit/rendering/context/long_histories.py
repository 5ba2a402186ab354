"""Generated histories that are long enough to have to give way."""

import hashlib

from hypothesis import strategies as st

from app.models.conversation import Call, ComposedTurn, DataItem, Item, StoredBytes, TextItem, Turn
from app.models.resource import MediaHints
from tests.kit import media
from tests.unit.rendering.targets.composed import medium

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


@st.composite
def long_histories(draw: st.DrawFn) -> tuple[ComposedTurn, ...]:
    """A history of an agent at work: results before their calls, and without any, among them."""
    turns: list[ComposedTurn] = []

    def add(role: str, items: tuple[Item, ...], **more: object) -> None:
        seq = len(turns) + 1
        origin = f"/api/sessions/s/messages/{seq}"
        turns.append(Turn(role, items, origin, seq, **more))  # type: ignore[arg-type]

    add("user", (TextItem("/content", "Begin."),))
    for step in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["work", "work", "work", "talk", "orphan", "early"]))
        items = tuple(draw(st.lists(_texts | _values | _pictures(), min_size=1, max_size=2)))
        spoken = tuple(draw(st.lists(_texts | _pictures(), min_size=1, max_size=2)))
        call = Call(f"c{step}", "look", {"n": step})
        if kind == "talk":
            add("user", spoken)
            add("assistant", (draw(_texts),))
        elif kind == "orphan":
            add("tool", items, call_id=f"o{step}", tool_name="look")
        elif kind == "early":
            add("tool", items, call_id=call.call_id, tool_name="look")
            add("assistant", (), calls=(call,))
        else:
            add("assistant", (), calls=(call,))
            add("tool", items, call_id=call.call_id, tool_name="look")
    return tuple(turns)
