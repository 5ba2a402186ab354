"""A history that is rendered for its own dialect comes out as it went in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.targets.home_histories import HOMES, MARK, home_histories
from pagefault_dialects import render
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.targets.table import TARGETS

_EVERY = pytest.mark.parametrize("target", HOMES)


@_EVERY
@given(data=st.data())
@settings(max_examples=2_000)
def test_valid_history_comes_out_as_it_went_in(target: str, data: st.DataObject) -> None:
    sent = data.draw(home_histories(HOMES[target]))
    rendered = render(read_messages(sent).turns, target)
    assert (rendered.messages, rendered.loss) == (sent, ())


@_EVERY
@given(data=st.data())
@settings(max_examples=100)
def test_no_other_target_is_told_a_dialect(target: str, data: st.DataObject) -> None:
    sent = data.draw(home_histories(HOMES[target]))
    turns = read_messages(sent).turns
    for other in TARGETS.keys() - {target}:
        rendered = render(turns, other)
        texts = [*_texts(rendered.messages)]
        assert not [text for text in texts if '{"type"' in text or MARK in text]


def _texts(value: JsonValue, name: str = "") -> list[str]:
    """Return what a model reads as words: neither arguments nor what its provider signed."""
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in _texts(each, key)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each, name)]
    return [value] if isinstance(value, str) and name in _WORDS else []


_WORDS = ("text", "content", "output", "value", "parts")
