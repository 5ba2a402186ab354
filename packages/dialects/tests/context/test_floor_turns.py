"""Turns that are never left out are found in every history."""

from packages.dialects.tests.targets.composed import medium
from pagefault_dialects.context.floor_turns import (
    FloorTurns,
    find_newest_page_results,
    find_opening_turns,
    find_protected_messages,
)
from pagefault_dialects.context.recalls import find_recalls
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import ComposedTurn, Turn, TurnCall, TurnRole

ROLES: dict[str, TurnRole] = {"s": "system", "u": "user", "a": "assistant", "c": "assistant"}


def history(letters: str) -> list[ComposedTurn]:
    """Return turns: `s`, `u` and `a` for roles, `c` for a call, and `t` for a result."""
    return [
        Turn("tool", (), call_id="c")
        if letter == "t"
        else Turn(ROLES[letter], (), calls=(TurnCall("c", "look", {}),) if letter == "c" else ())
        for letter in letters
    ]


def test_opening_is_the_system_messages_before_the_first_message_of_the_user() -> None:
    opening = {
        "": [],
        "ssusu": [0, 1],
        "sasu": [0, 2],
        "us": [],
        "ssas": [0, 1],
        "ss": [0, 1],
        "as": [],
    }
    assert {letters: find_opening_turns(history(letters)) for letters in opening} == opening


def test_first_and_newest_messages_are_protected() -> None:
    protected = {
        "": [],
        "s": [],
        "suauaus": [1, 5],
        "u": [0],
        "saucta": [1, 2, 5],
        "cta": [2],
        "act": [0],
        "uct": [0],
        "uaas": [0, 2],
    }
    assert {letters: find_protected_messages(history(letters)) for letters in protected} == (
        protected
    )


def test_newest_result_with_each_pinned_page_is_found() -> None:
    def call(call_id: str, name: str, **arguments: JsonValue) -> ComposedTurn:
        return Turn("assistant", (), calls=(TurnCall(call_id, name, arguments),), call_id=call_id)

    def result(call_id: str, *, is_error: bool = False) -> ComposedTurn:
        return Turn("tool", (medium(),), call_id=call_id, is_error=is_error)

    turns = [
        *(call("a", "page_fault", page_id="p"), result("a")),
        *(call("b", "page_fault", page_id="q"), result("b")),
        *(call("c", "page_fault", page_id="p"), result("c")),
        *(call("d", "page_fault", page_id="p"), result("d", is_error=True)),
        *(call("e", "page_fault", page_id="other"), result("e")),
        *(call("f", "read_text", ref="@entry:1"), result("f")),
        result("unknown"),
    ]
    recalls = find_recalls(turns)
    assert find_newest_page_results(turns, recalls, {"p", "q", "1"}) == [3, 5]
    assert find_newest_page_results(turns, recalls, ()) == []


def test_floor_has_the_turns_of_all_kinds() -> None:
    assert FloorTurns([0], [1, 9], [4], [8, 9]).indexes == frozenset({0, 1, 4, 8, 9})
