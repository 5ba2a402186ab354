"""Lone surrogates are replaced, each by one character, and nothing else is."""

import pytest

from pagefault_dialects.text_windows import WINDOW_CHARS, without_lone_surrogates


@pytest.mark.parametrize("text", ["", "call_1", "Größe", "\ufffd\ufeff😀", "é" * WINDOW_CHARS])
def test_text_that_can_be_encoded_is_the_same_object(text: str) -> None:
    assert without_lone_surrogates(text) is text


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("\ud800", "\ufffd"),
        ("a\udfffé😀\ud83d", "a\ufffdé😀\ufffd"),
        ("\ud83d\ud83d\u0041\udc00", "\ufffd\ufffdA\ufffd"),
        ("é" * WINDOW_CHARS + "\ud800", "é" * WINDOW_CHARS + "\ufffd"),
        ("\ud800" * (WINDOW_CHARS + 1), "\ufffd" * (WINDOW_CHARS + 1)),
    ],
)
def test_each_lone_surrogate_becomes_a_replacement_character(text: str, repaired: str) -> None:
    assert without_lone_surrogates(text) == repaired
