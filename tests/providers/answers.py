"""Rules of tool calls and their answers for every target."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

Does: TypeAlias = Literal["calls", "answers", "says"]
Step: TypeAlias = tuple[Does, str]
"""The act of a message, and the id of the call that it makes or answers."""


def check_answers(steps: Iterable[Step]) -> None:
    """Raise unless each call is answered, once, before anything else is said.

    Answers that come first of all, which is how a single record reads, answer no call.
    """
    done = list(steps)
    is_record = True
    unanswered: set[str] = set()
    answered: set[str] = set()
    for does, call_id in done:
        assert call_id or does == "says", "a call without an id"
        is_record = is_record and does == "answers"
        if does == "answers":
            assert call_id not in answered, f"two answers to {call_id}"
            assert is_record or call_id in unanswered, f"an answer to no call: {call_id}"
            unanswered.discard(call_id)
            answered.add(call_id)
        elif does == "calls":
            assert call_id not in unanswered, f"two calls of one id: {call_id}"
            unanswered.add(call_id)
            answered.discard(call_id)
        else:
            assert not unanswered, f"calls without an answer: {sorted(unanswered)}"
    assert not unanswered, f"calls without an answer: {sorted(unanswered)}"
