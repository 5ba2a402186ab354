"""The definitions for models have the arguments that the tools validate."""

from collections.abc import Mapping
from typing import Any

import pytest

from pagefault_dialects.tools.tool_arguments import TOOLS
from pagefault_dialects.tools.tool_catalogue import list_definitions

Json = dict[str, Any]


def strict(schema: Json, named: Mapping[str, Json], *, is_optional: bool) -> Json:
    """Return the type and the enumeration of an argument; null is the default."""
    inner = next((item for item in schema.get("anyOf", ()) if item.get("type") != "null"), schema)
    inner = named[inner["$ref"].rpartition("/")[2]] if "$ref" in inner else inner
    written: Json = {"type": [inner["type"], "null"] if is_optional else inner["type"]}
    if "enum" in inner:
        written["enum"] = [*inner["enum"], None] if is_optional else inner["enum"]
    return written


def test_every_tool_is_defined_in_the_order_of_the_toolbox() -> None:
    assert [definition.name for definition in list_definitions()] == [*TOOLS]
    assert [definition.name for definition in list_definitions(["save_page", "page_fault"])] == [
        *("page_fault", "save_page")
    ]


@pytest.mark.parametrize("name", TOOLS)
def test_definition_has_the_arguments_that_are_checked(name: str) -> None:
    (definition,) = list_definitions([name])
    checked = TOOLS[name].model_json_schema()
    required = checked.get("required", ())
    expected = {
        argument: strict(schema, checked.get("$defs", {}), is_optional=argument not in required)
        for argument, schema in checked["properties"].items()
    }
    properties = definition.parameters["properties"]
    undescribed = {
        argument: {key: value for key, value in schema.items() if key != "description"}
        for argument, schema in properties.items()
    }
    assert undescribed == expected
    assert definition.parameters == {
        "type": "object",
        "properties": properties,
        "required": [*expected],
        "additionalProperties": False,
    }
