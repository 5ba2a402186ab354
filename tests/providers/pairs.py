"""Calls and answers, where all answers of a turn are in the one message behind its calls."""

from collections.abc import Iterable, Sequence

Step = tuple[Sequence[str], Sequence[str]]
"""The ids that a message calls, and those that it answers."""


def check_pairs(steps: Iterable[Step]) -> None:
    """Raise unless the message behind calls answers each of them once, and no other answers any.

    The answers of a single record come first, and there are no calls to them.
    """
    open_calls: Sequence[str] = ()
    for index, (calls, answers) in enumerate(steps):
        assert len(set(calls)) == len(calls), f"two calls of one id: {calls}"
        assert len(set(answers)) == len(answers), f"two answers to one call: {answers}"
        if index:
            assert set(answers) == set(open_calls), f"{answers} answer {open_calls}"
        open_calls = calls
    assert not open_calls, f"calls without an answer: {open_calls}"
