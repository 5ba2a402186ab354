"""Estimates of the tokens of a conversation."""

from dataclasses import replace

import pytest

from packages.dialects.tests.targets.composed import medium
from packages.dialects.tests.targets.resolved_turns import answer, text_item, turn
from pagefault_dialects.model.conversation import (
    DataItem,
    InlineBytes,
    MediaItem,
    TextItem,
    TurnCall,
)
from pagefault_dialects.model.resource import MediaHints, ResourceKind
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.targets.tokens import (
    BY_AREA,
    TokenRule,
    count_tokens,
    tokens_by_area,
    tokens_by_tiles_of_512,
    tokens_by_tiles_of_768,
)


def attached(kind: ResourceKind, hints: MediaHints, size_bytes: int = 0) -> MediaItem:
    return MediaItem(medium(), InlineBytes(b""), kind, "image/png", size_bytes, hints)


@pytest.mark.parametrize(
    ("attachment", "tokens"),
    [
        (attached("image", MediaHints(1_000, 750)), 1_000),
        (attached("image", MediaHints(1_000, 751)), 1_002),
        (attached("image", MediaHints(10, 10)), 1),
        (attached("image", MediaHints()), 1_399),
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
def test_media_cost_the_tokens_that_models_count(attachment: MediaItem, tokens: int) -> None:
    assert BY_AREA.count_turns([turn("user", attachment)]) == 4 + tokens


@pytest.mark.parametrize(
    ("width", "height", "by_area", "by_tiles_of_512", "by_tiles_of_768"),
    [
        (200, 200, 54, 255, 258),
        (384, 384, 197, 255, 258),
        (385, 384, 198, 255, 258),
        (1_024, 1_024, 1_399, 765, 1_032),
        (1_280, 720, 1_229, 1_105, 516),
        (1_920, 1_080, 1_600, 1_105, 1_548),
        (2_048, 4_096, 1_600, 1_105, 4_644),
        (1, 8_000, 1, 765, 2_838),
    ],
)
def test_image_costs_what_each_provider_publishes(
    width: int, height: int, by_area: int, by_tiles_of_512: int, by_tiles_of_768: int
) -> None:
    counted = (
        tokens_by_area(width, height),
        tokens_by_tiles_of_512(width, height),
        tokens_by_tiles_of_768(width, height),
    )
    assert counted == (by_area, by_tiles_of_512, by_tiles_of_768)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Hello, world!", 4),
        ("\u4f60\u597d\u4e16\u754c", 5),
        ("\N{WAVING HAND SIGN}", 3),
        ("<|endoftext|>", 7),
        ("a\ud800b", 3),
        ("word " * 1_000, 1_001),
        ("x" * 1_000_000, 125_000),
    ],
)
def test_texts_are_counted_by_a_tokenizer(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens
    # The count of a text is cached.
    assert count_tokens(text) == tokens


def test_counts_are_raised_for_a_tokenizer_that_finds_more() -> None:
    assert TokenRule(text_percent=120).count_text("word " * 99) == 120
    assert TARGETS["anthropic"].tokens == TokenRule(tokens_by_area, 120)


def test_results_and_the_system_cost_their_words() -> None:
    assert BY_AREA.count_turns([answer(text_item("one two three"), TextItem("", ""))]) == 4 + 3
    assert BY_AREA.count_turns([answer(DataItem("", {"a": [1, 2]}))]) == 4 + 7
    assert BY_AREA.count_turns([], "one two") == 2


def test_calls_cost_their_names_and_arguments() -> None:
    calling = replace(
        turn("assistant"), calls=(TurnCall("c", "shoot", {"at": "x"}), TurnCall("d", "f", {}))
    )
    assert BY_AREA.count_turns([calling]) == 4 + (1 + 5) + (1 + 1)


def test_turns_add_up() -> None:
    one = turn("user", text_item("one two"))
    assert BY_AREA.count_turns([one, one, one], "one") == 3 * 6 + 1
