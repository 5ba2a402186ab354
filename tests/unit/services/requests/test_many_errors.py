"""Bodies with very many errors are refused without an object for each error."""

import pytest
from pydantic import BaseModel, ValidationError

from app.models.interaction import ContentPart, Interaction, MultiModalInput
from app.services.pages.page_requests import PageBatch
from app.services.requests.validation import validate_model
from app.services.sessions.message_requests import FlatMessage
from app.wire.agents import TurnRequest
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import MAX_ERRORS, FrozenModel, faults_of

WRONG = [1] * 100


class Closed(FrozenModel):
    name: str = ""
    numbers: tuple[int, ...] = ()


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A list whose items are all wrong is refused for the first of them",
    kept_by="app/services/requests/validation.py",
    tried="6 lists",
)
@pytest.mark.parametrize(
    ("model", "value", "pointer"),
    [
        (TurnRequest, {"entries": WRONG}, "/entries/0"),
        (PageBatch, {"pages": WRONG}, "/pages/0"),
        (MultiModalInput, {"parts": WRONG}, "/parts/0"),
        (ContentPart, {"attachments": WRONG}, "/attachments/0"),
        (FlatMessage, {"role": "user", "content": WRONG}, "/content/0"),
        (FlatMessage, {"role": "user", "tool_calls": WRONG}, "/tool_calls/0"),
    ],
)
def test_first_wrong_item_of_a_list_is_named_and_the_rest_is_not_looked_at(
    model: type[BaseModel], value: dict[str, object], pointer: str
) -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        validate_model(model, value, "It is not.")
    assert [fault.pointer for fault in caught.value.faults] == [pointer]


def test_unknown_members_are_named_up_to_ten_thousand() -> None:
    faults = []
    for count in (10_000, 10_001):
        with pytest.raises(InvalidPayloadError) as caught:
            validate_model(Closed, {f"k{n}": 1 for n in range(count)}, "It is not.")
        faults.append(caught.value.faults)
    assert len(faults[0]) == 10_000
    assert faults[1] == (Fault("", "has 10,001 members; at most 10,000 are looked at"),)


def test_more_errors_than_are_listed_are_counted() -> None:
    with pytest.raises(ValidationError) as caught:
        Closed.model_validate({"numbers": ["a"] * (MAX_ERRORS + 1)})
    assert faults_of(caught.value) == [
        Fault("", "has 10,001 errors, which are too many to be listed")
    ]


def test_input_with_other_members_than_parts_is_kept_whole() -> None:
    value = {"parts": [], "text": "a"}
    assert Interaction(input=value).input_kind == "dict"
    assert Interaction(input={"parts": []}).input_kind == "multimodal"
