"""Estimates of what a conversation costs."""

from dataclasses import replace

import pytest

from app.models.conversation import Attachment, Call, DataItem, InlineBytes, TextItem
from app.models.resource import MediaHints, ResourceKind
from app.rendering.targets.tokens import estimate_turns
from tests.unit.rendering.targets.composed import medium
from tests.unit.rendering.targets.settled import answer, said, turn


def attached(kind: ResourceKind, hints: MediaHints, size_bytes: int = 0) -> Attachment:
    return Attachment(medium(), InlineBytes(b""), kind, "image/png", size_bytes, hints)


@pytest.mark.parametrize(
    ("attachment", "tokens"),
    [
        (attached("image", MediaHints(1_000, 750)), 1_000),
        (attached("image", MediaHints(1_000, 751)), 1_002),
        (attached("image", MediaHints(10, 10)), 258),
        (attached("image", MediaHints()), 258),
        (attached("audio", MediaHints(duration_seconds=2.5)), 80),
        (attached("audio", MediaHints(duration_seconds=0)), 0),
        (attached("audio", MediaHints()), 1_920),
        (attached("video", MediaHints(8, 6, duration_seconds=2.0)), 526),
        (attached("video", MediaHints(8, 6)), 15_780),
        (attached("binary", MediaHints(), 3_001), 101),
        (attached("text", MediaHints(), 30), 1),
        (attached("binary", MediaHints()), 0),
    ],
)
def test_media_cost_what_models_count_for_them(attachment: Attachment, tokens: int) -> None:
    assert estimate_turns([turn("user", attachment)]) == 4 + tokens


def test_words_cost_a_quarter_of_their_characters() -> None:
    assert estimate_turns([answer(said("x" * 9), TextItem("", ""))]) == 4 + 3
    assert estimate_turns([answer(DataItem("", {"a": [1, 2]}))]) == 4 + 3
    assert estimate_turns([], "x" * 5) == 2


def test_calls_cost_their_names_and_arguments() -> None:
    calling = replace(
        turn("assistant"), calls=(Call("c", "shoot", {"at": "x"}), Call("d", "f", {}))
    )
    assert estimate_turns([calling]) == 4 + (2 + 3) + (1 + 1)


def test_turns_add_up() -> None:
    one = turn("user", said("x" * 4))
    assert estimate_turns([one, one, one], "x") == 3 * 5 + 1
