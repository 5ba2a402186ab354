"""Messages with a member of an unexpected type are read or refused."""

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.dialects.conversations import FILES, read_cases, turns_of
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.messages.conversation_reading import read_conversation

Json = Any

VALUES = [case.value for file in FILES for case in read_cases(file.read_text())]
ODD: list[Json] = [
    *(None, 0, 1.5, True, "", "x", "[", [], {}),
    *([1], ["x"], [[]], [{}], [None], {"a": 1}, {"type": 5}, [{"type": "text"}]),
]


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=400, deadline=None)
def test_member_of_an_unexpected_type_is_read_or_refused(data: st.DataObject) -> None:
    value = deepcopy(data.draw(st.sampled_from(VALUES)))
    for _ in range(data.draw(st.integers(1, 2))):
        node, key = data.draw(st.sampled_from([*_members(value)]))
        node[key] = deepcopy(data.draw(st.sampled_from(ODD)))
    with suppress(InvalidPayloadError):
        turns_of([entry for _, _, entry in read_conversation(value).entries])


@pytest.mark.parametrize("odd", [[], {}])
def test_array_or_object_in_place_of_a_name_is_read_or_refused(odd: Json) -> None:
    """The type of an event of AG-UI, and the id of a call of the Agent Framework."""
    call = {"type": "function_call", "name": "look", "call_id": odd}
    request = {"type": "function_approval_request", "function_call": call}
    for history in (
        [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, {"type": odd}],
        [{"role": "assistant", "contents": [call, request]}],
    ):
        with suppress(InvalidPayloadError):
            turns_of([entry for _, _, entry in read_conversation(history).entries])


def _members(value: Json) -> Iterator[tuple[Json, Json]]:
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from _members(value[key])
