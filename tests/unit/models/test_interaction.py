"""Interactions as models: strict, frozen, and dumped exactly as the specification shows."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from app.models.interaction import (
    AttachedFile,
    ChatMessage,
    ContentPart,
    Interaction,
    MultiModalInput,
)
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.base import FrozenModel, thaw_json

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "interactions.jsonl").read_text().splitlines()
]
MODELS: dict[str, type[FrozenModel]] = {
    model.__name__: model for model in (AttachedFile, ContentPart, MultiModalInput, Interaction)
}
VALID = [case for case in CASES if case["valid"]]
INVALID = [case for case in CASES if not case["valid"]]
FAULTS: dict[str, list[tuple[str | int, ...]]] = {
    "file_extra_keys": [("url",), ("content",)],
    "file_camelcase_mimeType": [("mimeType",)],
    "part_attachments_null": [("attachments",)],
    "part_extra_key": [("type",)],
    "mmi_part_is_string": [("parts", 0)],
    "mmi_nested_locs": [("parts", 1, "attachments", 1, "id")],
    "int_input_number": [("input",)],
    "int_input_list_of_parts": [("input",)],
    "int_output_role_uppercase": [("output", "role")],
    "int_output_content_null": [("output", "content")],
    "int_output_empty_object": [("output", "role"), ("output", "content")],
    "ts_empty": [("timestamp",)],
    "int_multiple_errors": [("input",), ("output", "role"), ("output", "content"), ("timestamp",)],
}
AT_TEN = datetime(2023, 10, 27, 10, tzinfo=UTC)
SHOWN = '"output":null,"timestamp":"2023-10-27T10:00:00Z"}'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["parts", "text", "attachments", "id", "mime_type", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=15,
)


@pytest.mark.requirement("001-dump")
@pytest.mark.parametrize("case", VALID, ids=lambda case: case["name"])
def test_valid_case_is_dumped_as_it_says(case: dict[str, Any]) -> None:
    model = MODELS[case["model"]].model_validate(case["input"])
    assert json_text(model.dump()) == json_text(case["dump"])


@pytest.mark.parametrize("case", VALID, ids=lambda case: case["name"])
def test_dump_of_a_case_is_a_model_that_equals_it(case: dict[str, Any]) -> None:
    model = MODELS[case["model"]].model_validate(case["input"])
    again = MODELS[case["model"]].model_validate(model.dump())
    assert (again, json_text(again.dump())) == (model, json_text(case["dump"]))


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["name"])
def test_invalid_case_is_refused_at_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        MODELS[case["model"]].model_validate(case["input"])
    assert [error["loc"] for error in refused.value.errors()] == FAULTS[case["name"]]


def test_scenario_a_is_a_simple_text() -> None:
    interaction = Interaction(input="What is the time?", timestamp=AT_TEN)
    assert json_text(interaction.dump()) == '{"input":"What is the time?",' + SHOWN
    assert interaction.input_kind == "text"


@pytest.mark.requirement("001-scenario-b")
def test_scenario_b_gives_the_json_of_the_specification() -> None:
    file_ref = AttachedFile(id="doc-123", mime_type="application/pdf")
    part = ContentPart(text="Please summarize this document.", attachments=(file_ref,))
    interaction = Interaction(input=MultiModalInput(parts=(part,)), timestamp=AT_TEN)
    assert json_text(interaction.dump()) == (
        '{"input":{"parts":[{"text":"Please summarize this document.","attachments":'
        '[{"id":"doc-123","mime_type":"application/pdf"}]}]},' + SHOWN
    )


def test_scenario_c_keeps_the_parts_in_order() -> None:
    image = AttachedFile(id="img-001", mime_type="image/png")
    log = AttachedFile(id="log-999", mime_type="text/plain")
    rich_input = MultiModalInput(
        parts=(
            ContentPart(text="Look at this image", attachments=(image,)),
            ContentPart(text="and this log", attachments=(log,)),
            ContentPart(text="then explain the error."),
        )
    )
    interaction = Interaction(input=rich_input, timestamp=AT_TEN)
    assert json_text(interaction.dump()) == (
        '{"input":{"parts":[{"text":"Look at this image","attachments":[{"id":"img-001",'
        '"mime_type":"image/png"}]},{"text":"and this log","attachments":[{"id":"log-999",'
        '"mime_type":"text/plain"}]},{"text":"then explain the error.","attachments":[]}]},' + SHOWN
    )
    assert rich_input.attached_ids() == [
        ("/parts/0/attachments/0/id", "img-001"),
        ("/parts/1/attachments/0/id", "log-999"),
    ]


@pytest.mark.requirement("001-one-base")
@pytest.mark.parametrize("model", [*MODELS.values(), ChatMessage], ids=lambda model: model.__name__)
def test_all_models_have_one_frozen_base_that_refuses_unknown_keys(model: type[BaseModel]) -> None:
    assert issubclass(model, FrozenModel)
    assert (model.model_config["frozen"], model.model_config["extra"]) == (True, "forbid")


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        (AttachedFile(id="a"), "id", "b"),
        (ContentPart(text="a"), "attachments", ()),
        (MultiModalInput(parts=()), "parts", ()),
        (ChatMessage(role="user", content="a"), "content", "b"),
        (Interaction(input="a"), "output", None),
        (Interaction(input="a"), "new", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_model_cannot_be_changed(model: FrozenModel, field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        setattr(model, field, value)


def test_what_a_model_holds_cannot_be_changed() -> None:
    given: dict[str, Any] = {"a": [{"b": 1}]}
    interaction = Interaction.model_validate({"input": given})
    given["a"][0]["b"] = 2
    kept = interaction.input
    assert isinstance(kept, Mapping)
    with pytest.raises(TypeError):
        kept["a"] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        kept["a"].append(1)
    with pytest.raises(TypeError):
        kept["a"][0]["b"] = 3
    dumped = interaction.dump()
    dumped["input"]["a"][0]["b"] = 4
    assert interaction.dump()["input"] == {"a": [{"b": 1}]}
    rich = MultiModalInput.model_validate({"parts": [{"attachments": [{"id": "a"}]}]})
    assert (type(rich.parts), type(rich.parts[0].attachments)) == (tuple, tuple)


def test_output_is_shown_when_there_is_none_and_other_optionals_are_not() -> None:
    part = ContentPart(attachments=(AttachedFile(id="a"),))
    interaction = Interaction(input=MultiModalInput(parts=(part,)), timestamp=AT_TEN)
    assert json_text(interaction.dump()) == (
        '{"input":{"parts":[{"attachments":[{"id":"a"}]}]},' + SHOWN
    )


def test_answer_is_dumped_with_what_it_has() -> None:
    full = ChatMessage(
        role="tool", content="", name="clock", tool_call_id="call_1", timestamp=AT_TEN
    )
    plain = ChatMessage(role="assistant", content="Ten.", timestamp=AT_TEN)
    assert [json_text(item.dump()) for item in (full, plain)] == [
        '{"role":"tool","content":"","name":"clock","tool_call_id":"call_1",'
        '"timestamp":"2023-10-27T10:00:00Z"}',
        '{"role":"assistant","content":"Ten.","timestamp":"2023-10-27T10:00:00Z"}',
    ]


@pytest.mark.requirement("001-polymorphic-input")
@hypothesis.given(value=st.dictionaries(st.sampled_from(["parts", "text", "x"]), JSON, max_size=3))
def test_object_is_a_rich_input_exactly_or_kept_whole(value: dict[str, Any]) -> None:
    kept = Interaction.model_validate({"input": value}).input
    try:
        rich = MultiModalInput.model_validate(value)
    except ValidationError:
        assert json_text(thaw_json(kept)) == json_text(value)
    else:
        assert kept == rich


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"parts": None},
        {"parts": {}},
        {"parts": "x"},
        {"parts": [], "more": 1},
        {"parts": [{"text": "x", "type": "text"}]},
        {"parts": [{"attachments": [{"id": 5}]}]},
        {"parts": [{"attachments": [{"id": "a", "mimeType": "x/y"}]}]},
        {"parts": [{"attachments": ["a"]}]},
        {"parts": [{"attachments": {}}]},
        {"parts": [[]]},
        {"role": "user", "content": "x"},
        {"output": 1, "timestamp": 2},
    ],
    ids=str,
)
def test_object_that_is_nearly_a_rich_input_loses_no_key(value: dict[str, Any]) -> None:
    interaction = Interaction.model_validate({"input": value, "timestamp": AT_TEN})
    assert interaction.input_kind == "dict"
    assert json_text(interaction.dump()) == f'{{"input":{json_text(value)},{SHOWN}'


def test_object_of_a_thousand_levels_is_kept() -> None:
    value: Any = 1
    for _ in range(1_000):
        value = {"x": [value]}
    assert json_text(Interaction.model_validate({"input": value}).dump()["input"]) == json_text(
        value
    )


@pytest.mark.requirement("001-timestamp")
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2023-10-27T10:00:00Z", "2023-10-27T10:00:00Z"),
        ("2023-10-27T10:00:00+00:00", "2023-10-27T10:00:00Z"),
        ("2023-10-27T10:00:00-00:00", "2023-10-27T10:00:00Z"),
        ("2023-10-27T10:00:00", "2023-10-27T10:00:00Z"),
        ("2023-10-27 10:00:00Z", "2023-10-27T10:00:00Z"),
        ("2023-10-27t10:00:00z", "2023-10-27T10:00:00Z"),
        ("2023-10-27T10:00Z", "2023-10-27T10:00:00Z"),
        ("2023-10-27T10:00:00+02:00", "2023-10-27T10:00:00+02:00"),
        ("2023-10-27T10:00:00-05:30", "2023-10-27T10:00:00-05:30"),
        ("2023-10-27T10:00:00.5Z", "2023-10-27T10:00:00.500000Z"),
        ("2023-10-27T10:00:00.000001+14:00", "2023-10-27T10:00:00.000001+14:00"),
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (1698400800.25, "2023-10-27T10:00:00.250000Z"),
        ("1698400800", "2023-10-27T10:00:00Z"),
        (datetime(2023, 10, 27, 10), "2023-10-27T10:00:00Z"),
        (datetime(2023, 10, 27, 10, tzinfo=timezone(timedelta(0))), "2023-10-27T10:00:00Z"),
    ],
    ids=str,
)
def test_timestamp_is_shown_with_its_offset(given: object, shown: str) -> None:
    dumped = Interaction.model_validate({"input": "q", "timestamp": given}).dump()
    assert dumped["timestamp"] == shown
    assert Interaction.model_validate(dumped).dump() == dumped


@pytest.mark.parametrize(
    "given",
    [
        "2023-02-29",
        "2023-12-31T23:59:60Z",
        "2023-10-27T24:00:00Z",
        "2023-10-27T10:00:00+24:00",
        "10:00:00",
        "2023-300",
        "now",
        " 2023-10-27",
        "NaN",
        "",
        10**30,
        1e20,
        True,
        False,
        None,
        [],
        {},
    ],
    ids=repr,
)
def test_timestamp_that_is_no_moment_is_refused(given: object) -> None:
    with pytest.raises(ValidationError) as refused:
        Interaction.model_validate({"input": "q", "timestamp": given})
    assert [error["loc"] for error in refused.value.errors()] == [("timestamp",)]


def test_timestamp_is_now_unless_one_is_given() -> None:
    before = datetime.now(UTC)
    interaction = Interaction(input="q")
    assert before <= interaction.timestamp <= datetime.now(UTC)
    assert interaction.dump()["timestamp"].endswith("Z")


@pytest.mark.parametrize("value", [None, 5, 1.5, True, [], [{"text": "x"}]], ids=repr)
def test_input_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        Interaction.model_validate({"input": value})
    assert [error["loc"] for error in refused.value.errors()] == [("input",)]


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_answer_may_come_from_every_role(role: str) -> None:
    assert ChatMessage.model_validate({"role": role, "content": "x"}).dump()["role"] == role
