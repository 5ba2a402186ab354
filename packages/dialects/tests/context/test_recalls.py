"""Calls that read evicted content are recalls of its reference, and are counted."""

from pagefault_dialects.context.recalls import Recall, RecalledObject, RecallKind, find_recalls
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import ComposedTurn, Turn, TurnCall
from pagefault_dialects.model.page import Level

ID = "a1" * 16


def calling(*calls: TurnCall) -> ComposedTurn:
    return Turn("assistant", (), calls=calls)


def find_target(name: str, **arguments: JsonValue) -> tuple[RecallKind, str] | None:
    recalls = find_recalls([calling(TurnCall("c", name, arguments))])
    return (recalls["c"].target.kind, recalls["c"].target.name) if recalls else None


def test_call_recalls_the_page_the_medium_or_the_entry_that_it_names() -> None:
    refs = {
        f"@blob:{ID}": ("medium", ID),
        f"blob:{ID}": ("medium", ID),
        f"the {ID}.": ("medium", ID),
        f"x{ID}": None,
        f"{ID}0": None,
        "@entry:012": ("entry", "12"),
        "entry:12/0123456789ab": ("entry", "12"),
        "@entry:12/arguments/1/content": ("entry", "12"),
        "@entry:12-13": None,
        "@entry:12.": ("entry", "12"),
        "notes": None,
    }
    read = {ref: find_target("read_text", ref=ref) for ref in refs}
    viewed = {ref: find_target("mcp__pagefault__view_media", ref=ref) for ref in refs}
    assert (read, viewed) == (refs, refs)
    assert [
        find_target("page_fault", page_id="p"),
        find_target("mcp__pagefault__page_fault", page_id="p"),
        find_target("page_fault", page_id=7),
        find_target("page_fault", ref="@entry:12"),
        find_target("read_text", ref=12),
        find_target("read_text"),
        find_target("look", ref="@entry:12"),
    ] == [("page", "p"), ("page", "p"), None, None, None, None, None]


def test_recalls_of_an_object_are_counted_in_order() -> None:
    def fault(call_id: str, page: str, **more: JsonValue) -> TurnCall:
        return TurnCall(call_id, "page_fault", {"page_id": page, **more})

    turns = [
        calling(fault("a", "p", target_level=0), fault("b", "q", target_level=" full ")),
        calling(),
        calling(fault("c", "p", target_level="none such"), TurnCall("d", "look", {})),
        calling(fault("e", "p", target_level=[0])),
    ]
    p, q = RecalledObject("page", "p"), RecalledObject("page", "q")
    recalls = find_recalls(turns)
    assert recalls == {
        "a": Recall(p, Level.FULL, 1, 0),
        "b": Recall(q, Level.FULL, 1, 0),
        "c": Recall(p, Level.ABSTRACT, 2, 2),
        "e": Recall(p, Level.ABSTRACT, 3, 3),
    }
    raised = [call_id for call_id, recall in recalls.items() if recall.has_raised_priority]
    assert raised == ["e"]


def test_recalls_of_a_prefix_are_counted_before_those_of_the_conversation() -> None:
    page = RecalledObject("page", "p")
    calls = [TurnCall(call_id, "page_fault", {"page_id": "p"}) for call_id in ("a", "b", "c")]
    recalls = find_recalls([*map(calling, calls)], {page: 4}, {"a": 4})
    assert {call_id: recall.count for call_id, recall in recalls.items()} == {
        "a": 4,
        "b": 5,
        "c": 6,
    }
