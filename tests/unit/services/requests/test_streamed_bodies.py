"""A body that is streamed becomes the record that it becomes as a whole, byte for byte."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.services.requests.generated_bodies import LONG_CHARS, bodies, cuts
from tests.unit.services.requests.received import Outcome, outcome_of


@pytest.mark.slow
@given(data=st.data(), body=bodies(), piece_bytes=st.sampled_from([199, 997, 4_096, 65_536]))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_streamed_and_whole_bodies_become_the_same(
    data: st.DataObject, body: bytes, piece_bytes: int
) -> None:
    whole = outcome_of([body], long_chars=len(body) + 1, piece_bytes=len(body))
    in_one_piece = outcome_of([body], long_chars=LONG_CHARS, piece_bytes=len(body))
    streamed = outcome_of(data.draw(cuts(body)), long_chars=LONG_CHARS, piece_bytes=piece_bytes)
    again = outcome_of(data.draw(cuts(body)), long_chars=LONG_CHARS, piece_bytes=piece_bytes)
    assert again == streamed
    assert streamed == in_one_piece == whole


@pytest.mark.parametrize("before", range(4))
def test_long_text_may_have_a_character_where_it_is_cut(before: int) -> None:
    text = "a" * before + "\N{GRINNING FACE}" * LONG_CHARS
    call = {"toolName": "t", "toolCallId": "c", "result": {"text": text, "more": "b" * LONG_CHARS}}
    body = json.dumps(call, ensure_ascii=False).encode()
    whole = outcome_of([body], long_chars=len(body) + 1, piece_bytes=len(body))
    assert isinstance(whole, Outcome)
    streamed = outcome_of([body], long_chars=LONG_CHARS, piece_bytes=997)
    assert streamed == whole
