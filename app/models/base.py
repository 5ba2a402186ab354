"""The base of the models that travel: frozen, strict, spelled as the specification spells them."""

from datetime import datetime, timedelta
from typing import ClassVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from app.models.frozen_json import JsonData, thawed


class FrozenModel(BaseModel):
    """A frozen model whose keys are spelled as its fields: pages and interactions, in snake_case.

    Unknown keys are refused, so that a misspelt option is an error and not a silent default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    shown_when_null: ClassVar[frozenset[str]] = frozenset()
    """Optional fields that are dumped as null rather than left out."""

    def dump(self) -> dict[str, JsonData]:
        """The model as the JSON object it stands for, optional fields without a value left out.

        Moments are RFC 3339 text: `Z` for UTC, other offsets as they are, a fraction if there is
        one.

        Source: spec 001, "JSON Serialization".
        """
        return {
            name: _plain(value)
            for name in type(self).model_fields
            if (value := getattr(self, name)) is not None or name in self.shown_when_null
        }


class WireModel(FrozenModel):
    """A frozen model in camelCase, the spelling of tool results, resources and events."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    nullable: ClassVar[frozenset[str]] = frozenset()
    """Fields for which null is a value: they are left out only if they were never set."""

    def wire(self) -> dict[str, object]:
        """The model as the JSON object it stands for: aliases as keys, absent optionals left out.

        JSON values inside (`structuredContent`, `annotations`) are handed through untouched
        rather than walked: they may nest deeper than a serializer's recursion allows.
        """
        members: dict[str, object] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None or (name in self.nullable and name in self.model_fields_set):
                members[field.alias or name] = _wire(value)
        return members


def _wire(value: object) -> object:
    if isinstance(value, WireModel):
        return value.wire()
    if isinstance(value, tuple):
        return [_wire(item) for item in value]
    return value


def _plain(value: object) -> JsonData:
    if isinstance(value, FrozenModel):
        return value.dump()
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return thawed(value)


def moment_text(moment: datetime) -> str:
    """A moment with its offset as RFC 3339 text; `Z` where the offset is none."""
    text = moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if moment.utcoffset() == timedelta() else text
