"""References to entries are parsed, and entries are described by lines and by their texts."""

from collections.abc import Callable

import pytest

from packages.dialects.tests.targets.composed import medium
from pagefault_dialects.context.cut_marks import ArgumentHandle
from pagefault_dialects.context.entry_refs import (
    EntryRange,
    argument_text,
    calls_in,
    describe_entry,
    entry_text_or_calls,
    parse_entry_range,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError

LOOK = TurnCall("a", "look", {"at": "door", "n": [1, 2]})
RUN = TurnCall("b", "run", {})


def text(words: str) -> TextItem:
    return TextItem("/content", words)


def assistant(*calls: TurnCall, items: tuple[Item, ...] = ()) -> ComposedTurn:
    return Turn("assistant", items, calls=calls)


def result(*items: Item, name: str = "look", is_error: bool = False) -> ComposedTurn:
    return Turn("tool", items, tool_name=name, is_error=is_error)


def refusal(error_from: Callable[[], object]) -> str:
    with pytest.raises(WrongArgumentsError) as raised:
        error_from()
    return str(raised.value)


def test_range_of_entries_is_found_in_a_text() -> None:
    ranges = {
        "@entries:2-1630": EntryRange(2, 1630),
        "read_text entries:2-3.": EntryRange(2, 3),
        "@entries:12": EntryRange(12, 12),
        "@entries:12-": EntryRange(12, None),
        "@entries:12-x": None,
        "@entries:12a": None,
        "@entry:12": None,
        f"@entries:{'1' * 16}": None,
        "@entries:7 and @entries:9": EntryRange(7, 7),
    }
    assert {ref: parse_entry_range(ref) for ref in ranges} == ranges


def test_rest_of_a_range_ends_where_the_range_ends() -> None:
    refs = [EntryRange(2, 9).ref_from(5), EntryRange(2, None).ref_from(5)]
    assert refs == ["@entries:5-9", "@entries:5-"]


def test_entry_is_one_line_of_speakers_calls_failures_media_and_its_beginning() -> None:
    long_name = "n" * 39 + "\n" + "m" * 9
    arguments: dict[str, JsonValue] = {"body": "x" * 41, "path": "y" * 40, "n": 1}
    json_text = f'{{"body":"{"x" * 40}…","path":"{"y" * 40}","n":1}}'
    entries: dict[str, list[ComposedTurn]] = {
        '3 user, 3 characters: "Hi."': [Turn("user", (text("Hi."),))],
        "3 user": [Turn("user", ())],
        '3 user assistant, 6 characters: "A.\\n\\nB."': [
            Turn("user", (text("A."),)),
            Turn("assistant", (text("B."),)),
            Turn("user", ()),
        ],
        '3 tool look, failed, 1 media, 23 characters: "[Image: a.png (3.0 kB)]"': [
            result(medium(), is_error=True)
        ],
        f"3 tool {'n' * 39}\\n": [result(name=long_name)],
        '3 assistant calls look {"at":"door","n":[1,2]}, run {}': [assistant(LOOK, RUN)],
        f"3 assistant calls write {json_text[:100]}…": [
            assistant(TurnCall("a", "write", arguments))
        ],
        f"3 assistant calls {', '.join(['run {}'] * 6)} and 1 more": [assistant(*[RUN] * 7)],
        f"3 assistant calls {', '.join(['run {}'] * 6)}": [assistant(*[RUN] * 6)],
        f"3 assistant calls {', '.join([f'write {json_text[:50]}…'] * 2)}": [
            assistant(*[TurnCall("a", "write", arguments)] * 2)
        ],
        f"3 assistant calls {', '.join([f'write {json_text[:40]}…'] * 3)}": [
            assistant(*[TurnCall("a", "write", arguments)] * 3)
        ],
        f'3 user, 200 characters: "{"x" * 97}…"': [Turn("user", (text("x" * 200),))],
    }
    assert [describe_entry(3, turns) for turns in entries.values()] == [*entries]


def test_entry_without_a_text_is_read_as_its_calls() -> None:
    stored: ComposedTurn = Turn("tool", (), recorded_call=RUN)
    whole_turn = assistant(LOOK, items=(text("A."), DataItem("/x", {"n": 1}), medium()))
    assert calls_in([assistant(LOOK), stored]) == [LOOK, RUN]
    assert [
        entry_text_or_calls(3, [whole_turn, Turn("user", (text("B."),))]),
        entry_text_or_calls(3, [assistant(LOOK), stored]),
        entry_text_or_calls(3, []),
    ] == [
        'A.\n\n{"n":1}\n\n[Image: a.png (3.0 kB)]\n\nB.',
        '@entry:3/arguments/0 (look): {"at":"door","n":[1,2]}\n@entry:3/arguments/1 (run): {}',
        "",
    ]


def test_argument_is_a_string_or_json() -> None:
    turns = [assistant(RUN, LOOK)]
    handles = [ArgumentHandle(3, 1, names) for names in ((), ("at",), ("n",), ("n", "1"))]
    assert [argument_text(turns, handle) for handle in handles] == [
        '{"at":"door","n":[1,2]}',
        "door",
        "[1,2]",
        "2",
    ]


def test_missing_call_is_refused_with_the_calls_of_the_entry() -> None:
    def read(*calls: TurnCall) -> str:
        return refusal(
            lambda: argument_text([assistant(*calls)], ArgumentHandle(3, len(calls), ()))
        )

    says = "read_text @entry:3 reads what it says."
    named = [f"@entry:3/arguments/{index} (run)" for index in range(6)]
    assert [read(), read(LOOK, RUN), read(*[RUN] * 7)] == [
        f"Entry 3 makes no call. {says}",
        "Entry 3 makes 2 calls: @entry:3/arguments/0 (look), @entry:3/arguments/1 (run). " + says,
        f"Entry 3 makes 7 calls: {', '.join(named)} and 1 more. {says}",
    ]


def test_missing_argument_is_refused_with_the_members_that_exist() -> None:
    def read(*names: str) -> str:
        return refusal(lambda: argument_text([assistant(RUN, LOOK)], ArgumentHandle(3, 1, names)))

    start = "@entry:3/arguments/1 (look) has nothing at"
    assert [
        read("to"),
        read("n", "2"),
        read("at", "x", "y"),
        refusal(lambda: argument_text([assistant(RUN)], ArgumentHandle(3, 0, ("x" * 100,)))),
    ] == [
        f'{start} "/to". There are "at", "n".',
        f'{start} "/n/2". At "/n" there are items 0 to 1.',
        f'{start} "/at/x/y". At "/at" there is a value without members: leave the rest out.',
        f'@entry:3/arguments/0 (run) has nothing at "/{"x" * 96}…". '
        "There is a value without members: leave the rest out.",
    ]
