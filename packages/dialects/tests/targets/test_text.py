from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    DEEP_TEXT,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
    answer,
    calling,
    data,
    deep,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.model.conversation import ResolvedTurn, TurnCall
from tests.providers.text_types import check_text


def answered(words: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "content": f"Tool shoot (call call_1):{words}"}]


TURNS = {
    "one text": ([answer(text_item("Done."))], answered("\nDone.")),
    "several texts": (
        [answer(text_item("One."), text_item(""), text_item("[Image: a.png (3.0 kB)]"))],
        answered("\nOne.\n\n[Image: a.png (3.0 kB)]"),
    ),
    "a JSON value": ([answer(data(LARGE_NUMBERS))], answered(f"\n{LARGE_NUMBERS_TEXT}")),
    "a deep JSON value": ([answer(data(deep()))], answered(f"\n{DEEP_TEXT}")),
    "an error": (
        [answer(text_item("[The tool reported an error.]"), text_item("No file."), is_error=True)],
        answered("\n[The tool reported an error.]\n\nNo file."),
    ),
    "nothing from a tool": ([answer()], answered("")),
    "no id and no name": (
        [answer(text_item("Done."), call_id="", name="")],
        [{"role": "tool", "content": "Tool x_e3b0c442 (call x_e3b0c442):\nDone."}],
    ),
    "an id and a name of several lines": (
        [answer(text_item("Done."), call_id="a\nb", name="c\u2028d é")],
        [{"role": "tool", "content": "Tool c\\u2028d é (call a\\nb):\nDone."}],
    ),
    "what is said": (
        [turn("system", text_item("Be brief.")), turn("user", text_item("Hi."), data([1]))],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi.\n\n[1]"}],
    ),
    "nothing": ([turn("user")], [{"role": "user", "content": ""}]),
    "calls": (
        [calling("a", "b")],
        [{"role": "assistant", "content": '[calls shoot {"at":"a"}]\n[calls shoot {"at":"b"}]'}],
    ),
    "words and a call": (
        [calling("a", text="Wait.")],
        [{"role": "assistant", "content": 'Wait.\n\n[calls shoot {"at":"a"}]'}],
    ),
    "arguments that would break the line": (
        [turn("assistant", calls=(TurnCall("a", "to\ndo", {"s": "a\u2028b\n\u202e"}),))],
        [
            {
                "role": "assistant",
                "content": '[calls to\\ndo {"s":"a\\u2028b\\n\\u202e"}]',
            }
        ],
    ),
}


@pytest.mark.parametrize(("turns", "expected"), TURNS.values(), ids=TURNS)
def test_every_turn_is_readable_text(turns: list[ResolvedTurn], expected: list[Any]) -> None:
    messages = write_messages("text", *turns)
    assert messages == expected
    check_text(messages)


def test_conversation_keeps_its_order() -> None:
    messages = write_messages(
        "text",
        turn("user", text_item("Shoot.")),
        calling("a"),
        answer(text_item("One."), call_id="a"),
        turn("assistant", text_item("Done.")),
    )
    assert messages == [
        {"role": "user", "content": "Shoot."},
        {"role": "assistant", "content": '[calls shoot {"at":"a"}]'},
        {"role": "tool", "content": "Tool shoot (call a):\nOne."},
        {"role": "assistant", "content": "Done."},
    ]
    check_text(messages)
