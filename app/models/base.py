"""The base of the models that travel: frozen, strict, spelled as the specification spells them."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class FrozenModel(BaseModel):
    """A frozen model whose keys are spelled as its fields: pages and interactions, in snake_case.

    Unknown keys are refused, so that a misspelt option is an error and not a silent default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


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
