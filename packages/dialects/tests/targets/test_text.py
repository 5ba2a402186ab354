from typing import Any

import pytest

from packages.dialects.tests.targets.settled import (
    DEEP_TEXT,
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
    answer,
    calling,
    data,
    deep,
    said,
    turn,
    written,
)
from pagefault_dialects.model.conversation import ResolvedTurn, TurnCall
from tests.providers.text_types import check_text


def answered(words: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "content": f"Tool shoot (call call_1):{words}"}]


TURNS = {
    "one text": ([answer(said("Done."))], answered("\nDone.")),
    "several texts": (
        [answer(said("One."), said(""), said("[Image: a.png (3.0 kB)]"))],
        answered("\nOne.\n\n[Image: a.png (3.0 kB)]"),
    ),
    "a JSON value": ([answer(data(LARGE_NUMBERS))], answered(f"\n{LARGE_NUMBERS_TEXT}")),
    "a deep JSON value": ([answer(data(deep()))], answered(f"\n{DEEP_TEXT}")),
    "an error": (
        [answer(said("[The tool reported an error.]"), said("No file."), is_error=True)],
        answered("\n[The tool reported an error.]\n\nNo file."),
    ),
    "nothing from a tool": ([answer()], answered("")),
    "no id and no name": (
        [answer(said("Done."), call_id="", name="")],
        [{"role": "tool", "content": "Tool x_e3b0c442 (call x_e3b0c442):\nDone."}],
    ),
    "an id and a name of several lines": (
        [answer(said("Done."), call_id="a\nb", name="c\u2028d é")],
        [{"role": "tool", "content": "Tool c\\u2028d é (call a\\nb):\nDone."}],
    ),
    "what is said": (
        [turn("system", said("Be brief.")), turn("user", said("Hi."), data([1]))],
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
    messages = written("text", *turns)
    assert messages == expected
    check_text(messages)


def test_a_conversation_keeps_its_order() -> None:
    messages = written(
        "text",
        turn("user", said("Shoot.")),
        calling("a"),
        answer(said("One."), call_id="a"),
        turn("assistant", said("Done.")),
    )
    assert messages == [
        {"role": "user", "content": "Shoot."},
        {"role": "assistant", "content": '[calls shoot {"at":"a"}]'},
        {"role": "tool", "content": "Tool shoot (call a):\nOne."},
        {"role": "assistant", "content": "Done."},
    ]
    check_text(messages)
