"""Messages of any turns are valid for providers, and longer histories keep earlier messages."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.targets.resolved_turns import (
    JPEG,
    PDF,
    PNG,
    REFERENCE,
    WAV,
    answer,
    data,
    media_item,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.model.conversation import ResolvedItem, ResolvedTurn, TurnCall
from tests.providers.anthropic_types import check_anthropic
from tests.providers.bedrock_types import check_bedrock
from tests.providers.gemini_types import check_gemini

Exchange = list[ResolvedTurn]

CHECKS: dict[str, Callable[[list[dict[str, Any]]], None]] = {
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "bedrock": check_bedrock,
}
# Bedrock takes five documents; each exchange below has at most one.
MAX_EXCHANGES = 4

texts = st.sampled_from(["", " ", "\n", "One.", "\u5831\u544a", "[Image: a.png]"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["$ref", "output", "error", "n"]), inner, max_size=2)
    ),
    max_leaves=4,
)
names = st.sampled_from([None, "", "a.png", "a.pdf", "A", "\u5831\u544a.pdf", "a\nb.c" * 80])
words = st.builds(text_item, texts) | st.builds(data, values)
images = st.builds(media_item, st.just(PNG), st.just("image/png"), names) | st.builds(
    media_item,
    st.just(JPEG),
    st.just("image/jpeg"),
    names,
    address=st.just(REFERENCE),
    is_reference=st.just(True),
)
documents = st.builds(media_item, st.just(PDF), st.just("application/pdf"), names)
recordings = st.builds(media_item, st.just(WAV), st.just("audio/wav"), names)
ids = st.lists(
    st.sampled_from(["a", "a.b", "call_1", "call/1", "", "\u00e9" * 70]), max_size=3, unique=True
)


@st.composite
def exchanges(draw: st.DrawFn, *, with_audio: bool) -> Exchange:
    media = images | recordings if with_audio else images
    items: st.SearchStrategy[ResolvedItem] = words | media
    attachments = [*draw(st.lists(items, max_size=3)), *draw(st.lists(documents, max_size=1))]
    calls = tuple(
        TurnCall(call_id, draw(st.sampled_from(["", "shoot", "7 up"])), {}) for call_id in draw(ids)
    )
    holder = draw(st.integers(min_value=-1, max_value=len(calls) - 1))
    answers = [
        answer(
            *draw(st.lists(items, max_size=3)),
            *(attachments if index == holder else ()),
            call_id=call.call_id,
            name=call.name,
            is_error=draw(st.booleans()),
        )
        for index, call in enumerate(calls)
    ]
    question = turn("user", *(attachments if holder < 0 else [draw(words)]))
    return [question, turn("assistant", *draw(st.lists(words, max_size=2)), calls=calls), *answers]


@pytest.mark.slow
@pytest.mark.parametrize("target", CHECKS)
@given(drawn=st.data())
def test_messages_are_valid_and_stay_when_turns_follow(target: str, drawn: st.DataObject) -> None:
    strategy = exchanges(with_audio=target != "anthropic")
    history = drawn.draw(st.lists(strategy, min_size=1, max_size=MAX_EXCHANGES))
    turns = [turn for exchange in history for turn in exchange]
    messages = write_messages(target, *turns)
    CHECKS[target](messages)
    count = drawn.draw(st.integers(min_value=0, max_value=len(history)))
    earlier = write_messages(target, *(turn for exchange in history[:count] for turn in exchange))
    assert_goes_on(earlier, messages, may_grow=target == "bedrock")


def assert_goes_on(
    earlier: list[dict[str, Any]], whole: list[dict[str, Any]], *, may_grow: bool
) -> None:
    if not may_grow or not earlier:
        assert whole[: len(earlier)] == earlier
        return
    *closed, last = earlier
    grown = whole[len(closed)]
    assert whole[: len(closed)] == closed
    assert grown["role"] == last["role"]
    assert grown["content"][: len(last["content"])] == last["content"]
