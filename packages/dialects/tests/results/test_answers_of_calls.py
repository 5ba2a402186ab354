"""Of the answers to several calls in a result, the one to its call is read, if there is one."""

import pytest

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.results import normalize

ANSWERS = [
    {"type": "function_call_output", "call_id": call_id, "output": f"of {call_id}"}
    for call_id in ("c1", "c2", "c3")
]


def test_answers_to_other_calls_are_counted() -> None:
    assert normalize(ANSWERS, call_id="c2").warnings == (
        BodyWarning(
            "other-answers",
            "",
            "The result holds the answers to 2 other calls as well; they are no part of this "
            "record.",
        ),
    )
    assert normalize(ANSWERS[:1], call_id="c1").warnings == ()


@pytest.mark.parametrize(
    ("answers", "call_id", "how_many"),
    [(ANSWERS, "c9", "none"), ([*ANSWERS[:2], ANSWERS[0]], "c1", "several")],
)
def test_answers_without_one_to_the_call_are_refused(
    answers: list[dict[str, str]], call_id: str, how_many: str
) -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        normalize(answers, call_id=call_id)
    assert caught.value.detail == (
        f"The result holds the answers to 3 calls, {how_many} of them to this one. A tool result "
        "answers one call: send a message of several answers to /messages of the session."
    )
    assert caught.value.faults == (Fault("/result", "holds several answers; /messages takes them"),)
