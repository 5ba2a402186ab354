"""Models are written with the names, defaults and descriptions of their fields."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from pagefault_dialects.errors import Fault
from pagefault_dialects.model.base import (
    MAX_ERRORS,
    FrozenModel,
    WireModel,
    fault_of,
    faults_of,
    freeze_json,
)


class Inner(WireModel):
    size_bytes: int | None = None


class Outer(WireModel):
    nullable: ClassVar[frozenset[str]] = frozenset({"output_value"})

    output_value: Any = None
    """A value, on
    two lines."""
    inner_models: tuple[Inner, ...] | None = None
    mime_type: str | None = None
    """The type."""


class Stored(FrozenModel):
    shown_when_null: ClassVar[frozenset[str]] = frozenset({"media_url"})

    media_url: str | None = None
    created_at: datetime | None = None
    models: tuple[FrozenModel, ...] = ()
    data: Any = None
    """A value."""


class Lists(FrozenModel):
    items: tuple[int, ...] = ()
    pair: tuple[int, int] | None = None


def find_faults(kind: type[FrozenModel], value: object) -> list[Fault]:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(value)
    return faults_of(caught.value)


def test_wire_form_has_keys_in_camel_case_and_no_absent_members() -> None:
    nested = {"a": [None]}
    wire = Outer(output_value=nested, inner_models=(Inner(), Inner(size_bytes=1))).wire()
    assert wire == {"outputValue": nested, "innerModels": [{}, {"sizeBytes": 1}]}
    assert wire["outputValue"] is not None
    assert Outer().wire() == {}
    assert Outer(mime_type=None, output_value=None).wire() == {"outputValue": None}


def test_dumped_form_has_the_names_of_fields_and_plain_json() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    model = Stored(created_at=moment, models=(Inner(size_bytes=1),), data=freeze_json({"a": [1]}))
    assert model.dump() == {
        "media_url": None,
        "created_at": "2026-01-02T03:04:05Z",
        "models": [{"size_bytes": 1}],
        "data": {"a": [1]},
    }
    assert Stored(media_url="u").dump() == {"media_url": "u", "models": []}
    later = Stored(created_at=moment.astimezone(timezone(timedelta(hours=1))))
    assert later.dump()["created_at"] == "2026-01-02T04:04:05+01:00"


def test_schema_describes_fields_by_their_docstrings() -> None:
    properties = Outer.model_json_schema()["properties"]
    described = {name: schema.get("description") for name, schema in properties.items()}
    assert described == {
        "outputValue": "A value, on two lines.",
        "innerModels": None,
        "mimeType": "The type.",
    }


def test_errors_have_pointers_and_repeat_no_input() -> None:
    faults = find_faults(Lists, {"items": ["secret", 2, "x"], "pair": [1], "a/b": 1})
    assert faults == [
        Fault("/items/0", "Input should be a valid integer, unable to parse string as an integer"),
        Fault("/items/2", "Input should be a valid integer, unable to parse string as an integer"),
        Fault("/pair/1", "Field required"),
        Fault("/a~1b", "Extra inputs are not permitted"),
    ]
    assert find_faults(Lists, []) == [Fault("", "Input should be an object")]
    assert find_faults(Lists, {"items": 1}) == [Fault("/items", "Input should be a list")]


def test_many_errors_are_counted() -> None:
    text = "Input should be a valid integer, unable to parse string as an integer"
    most = find_faults(Lists, {"items": ["x"] * MAX_ERRORS})
    assert (len(most), most[-1]) == (MAX_ERRORS, Fault("/items/9999", text))
    assert find_faults(Lists, {"items": ["x"] * (MAX_ERRORS + 1)}) == [
        Fault("", "has 10,001 errors, which are too many to be listed")
    ]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"type": "json_invalid", "loc": ("body", 3), "msg": "no"}, Fault("", "no")),
        ({"type": "missing", "loc": ("body", "a"), "msg": "no"}, Fault("/a", "no")),
        ({"type": "missing", "loc": ("a", "body"), "msg": "no"}, Fault("/a/body", "no")),
        (
            {"type": "value_error", "loc": (), "msg": "Value error, must be 1"},
            Fault("", "must be 1"),
        ),
        (
            {"type": "too_long", "loc": (), "msg": "", "ctx": {"max_length": 3}},
            Fault("", "Input should have 3 or fewer items"),
        ),
        (
            {"type": "too_short", "loc": (), "msg": "", "ctx": {"min_length": 3}},
            Fault("", "Input should have 3 or more items"),
        ),
        (
            {"type": "union_tag_invalid", "loc": (), "msg": "", "ctx": {"expected_tags": "'a'"}},
            Fault("", "Input should be told apart by one of 'a'"),
        ),
        (
            {"type": "uuid_parsing", "loc": ("id",), "msg": ""},
            Fault("/id", "Input should be a valid UUID"),
        ),
    ],
)
def test_error_has_the_place_and_the_sentence_of_its_fault(
    error: dict[str, Any], fault: Fault
) -> None:
    assert fault_of(error) == fault
