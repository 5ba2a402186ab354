"""The OpenAPI document is one that generators make good clients of, whatever route is added.

What fails here is mended where the schema is declared: in `app/wire`, `app/models`, or the router.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from app.http.openapi import find_schemas
from app.version import VERSION
from tests.kit.described_api import api_document
from tests.kit.event_shapes import DATA_OF

DOCUMENT = api_document()
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
DESCRIBED: list[dict[str, Any]] = [
    operation for item in DOCUMENT["paths"].values() for operation in item.values()
]
NAMED = {id(schema): name for name, schema in SCHEMAS.items()}
REGISTRY: Registry[Any] = Registry().with_resource(
    "urn:document", DRAFT202012.create_resource(DOCUMENT)
)
FORMATS = {"integer": "int64", "number": "double"}
OPEN_UNIONS = {
    "Blocks": "a text, or a list",
    "FindingValue": "a number, or a text",
    "FrontierChoice": "a name, or an object",
    "InteractionInput": "a text, or an object of two kinds, one of which is what is not the other",
    "InteractionInputDraft": "the same",
    "JsonKeyName": "a number, or a text",
    "LevelInput": "a number, or a name",
    "MessageContent": "a text, or a list",
    "ResponsesInput": "a text, or a list",
    "Scene": "a text, or an object",
    "TextPiece": "objects that have no required member in common but those they share",
    "TimestampItem": "a number, an object, or a list",
}
"""Unions without a discriminator, and what tells their members apart instead."""

PATHLESS = {"create_pages", "create_event_ticket"}


def values_of(key: str, value: object) -> Iterator[Any]:
    """Every value of a member of that name, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from values_of(key, item)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name == key:
                yield member
            yield from values_of(key, member)


def names_below(node: object) -> set[str]:
    """The schemas that a part of the document refers to, at any depth."""
    found: set[str] = set()
    nodes = [node]
    while nodes:
        names = {value.rpartition("/")[2] for value in values_of("$ref", nodes.pop())} - found
        found |= names
        nodes += [SCHEMAS[name] for name in names]
    return found


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the members of a union, except null."""
    words = schema.get("oneOf", []) + schema.get("anyOf", [])
    return [word for word in words if word.get("type") != "null"]


def shown(schema: dict[str, Any]) -> str:
    return NAMED.get(id(schema)) or json.dumps(schema)[:200]


def test_numbers_have_a_format_that_holds_them() -> None:
    others = [
        shown(schema)
        for schema in find_schemas(DOCUMENT)
        if schema.get("format") != FORMATS.get(schema.get("type", ""), schema.get("format"))
    ]
    assert others == []


def test_every_component_is_used() -> None:
    used = {str(reference).rpartition("/")[2] for reference in values_of("$ref", DOCUMENT)}
    unused = SCHEMAS.keys() - used
    assert unused == set(), "link them from a route, or leave them out of the document"


def test_an_enum_that_occurs_twice_has_a_name() -> None:
    inline = Counter(
        json.dumps(schema["enum"])
        for schema in find_schemas(DOCUMENT)
        if "enum" in schema and id(schema) not in NAMED
    )
    named = Counter(json.dumps(schema["enum"]) for schema in SCHEMAS.values() if "enum" in schema)
    twice = [enum for enum, times in (inline + named).items() if times > 1]
    assert twice == [], "declare them once: `Name = TypeAliasType('Name', Literal[…])`"


def test_object_of_any_members_has_a_name() -> None:
    inline = [
        shown(schema)
        for schema in find_schemas(DOCUMENT)
        if schema.get("type") == "object" and id(schema) not in NAMED
    ]
    assert inline == [], "name it, or generators do: `PagePatchMetadataType0`"


def test_one_kind_of_a_union_fits_a_value() -> None:
    loose = [
        shown(schema)
        for schema in find_schemas(DOCUMENT)
        if "anyOf" in schema and len(alternatives(schema)) > 1
    ]
    assert loose == [], "of `anyOf`, generators of Rust and Kotlin make a type without a value"


def test_shapes_of_answers_take_members_of_a_later_version() -> None:
    closed = {
        name
        for name in names_below([value["responses"] for value in DESCRIBED])
        if False in values_of("additionalProperties", SCHEMAS[name])
    }
    assert closed == set()


def test_shapes_of_requests_say_whether_they_take_further_members() -> None:
    requests = [[value.get("parameters"), value.get("requestBody")] for value in DESCRIBED]
    taking = {
        name
        for name in names_below(requests)
        if SCHEMAS[name].get("additionalProperties", "properties" in SCHEMAS[name]) is True
    }
    objects = {"BoundFiles", "DeclaredTypes", "JsonObject", "LegacyInputDraft"}
    assert taking - objects == {
        "Conversation",
        "Examination",
        "HistoryMessageDraft",
        "ResponsesRequest",
    }


def test_strict_shape_of_both_sides_is_there_for_each() -> None:
    drafts = {name for name in SCHEMAS if f"{name}Draft" in SCHEMAS}
    assert drafts == {
        "AttachedFile",
        "ChatMessage",
        "ContentPart",
        "Frontier",
        "HistoryMessage",
        "Interaction",
        "InteractionInput",
        "LegacyInput",
        "MultiModalInput",
    }


def test_every_union_has_a_name() -> None:
    inline = [
        shown(schema)
        for schema in find_schemas(DOCUMENT)
        if len(alternatives(schema)) > 1 and id(schema) not in NAMED
    ]
    assert inline == [], "declare them once: `Name = TypeAliasType('Name', A | B)`"


def test_every_union_has_a_discriminator_or_a_reason() -> None:
    unions = {name for name, schema in SCHEMAS.items() if len(alternatives(schema)) > 1}
    without = {name for name in unions if "discriminator" not in SCHEMAS[name]}
    assert without == OPEN_UNIONS.keys(), "give it `Field(discriminator=…)`, or a reason here"


def test_discriminators_are_required_constants_of_every_member() -> None:
    for name in SCHEMAS.keys() - OPEN_UNIONS.keys():
        union = SCHEMAS[name]
        if "discriminator" not in union:
            assert len(alternatives(union)) <= 1, name
            continue
        member, mapping = union["discriminator"]["propertyName"], union["discriminator"]["mapping"]
        found: dict[str, str] = {}
        for value in union["oneOf"]:
            schema = SCHEMAS[value["$ref"].rpartition("/")[2]]
            assert member in schema["required"], name
            constant = schema["properties"][member]
            values = constant.get("enum", [constant.get("const")])
            found |= dict.fromkeys(values, value["$ref"])
        assert mapping == found, name


def test_no_name_is_made_by_a_machine() -> None:
    made = [name for name in SCHEMAS if re.search(r"Inner|AnyOf|OneOf|[a-z]\d$|_", name)]
    assert made == []
    assert [shown(schema) for schema in find_schemas(DOCUMENT) if "title" in schema] == []


def test_every_example_is_what_its_schema_says() -> None:
    wrong = []
    for schema in find_schemas(DOCUMENT):
        rules = {word: rule for word, rule in schema.items() if word != "examples"}
        text = json.dumps(rules).replace('"#/components', '"urn:document#/components')
        judge = Draft202012Validator(
            json.loads(text), registry=REGISTRY, format_checker=FormatChecker()
        )
        for example in schema.get("examples", []):
            wrong += [(shown(schema), error.message) for error in judge.iter_errors(example)]
    assert wrong == []


def test_version_is_that_of_the_service() -> None:
    assert DOCUMENT["info"]["version"] == VERSION
    assert DOCUMENT["servers"]


def test_operations_declare_their_key_and_one_type_of_body() -> None:
    for operation in DESCRIBED:
        name = operation["operationId"]
        assert operation["security"] in ([], [{"apiKey": []}]), name
        body = operation.get("requestBody", {"content": {"": {}}})
        assert len(body["content"]) == 1, f"{name}: of several types, generators send the first"
        parameters = [parameter["name"] for parameter in operation.get("parameters", [])]
        assert len(set(parameters)) == len(parameters), name
        if "304" in operation["responses"]:
            assert {"If-Match", "If-None-Match"} <= set(parameters), name
            assert "ETag" in operation["responses"]["200"]["headers"], name


def test_operations_declare_their_headers_with_links() -> None:
    declared = {
        operation["operationId"]: {
            status: sorted(answer.get("headers", {}).keys() & {"Location", "Link"})
            for status, answer in operation["responses"].items()
        }
        for operation in DESCRIBED
    }
    assert declared == {value["operationId"]: _expected_links(value) for value in DESCRIBED}


def _expected_links(operation: dict[str, Any]) -> dict[str, list[str]]:
    statuses = operation["responses"].keys()
    expected: dict[str, list[str]] = {status: [] for status in statuses}
    if any(parameter["name"] == "cursor" for parameter in operation.get("parameters", ())):
        expected["200"] = ["Link"]
    # A bulk of pages and a ticket are no records with a path of their own.
    if "201" in statuses and operation["operationId"] not in PATHLESS:
        expected |= {status: ["Location"] for status in statuses & {"200", "201"}}
    return expected


def test_routes_of_events_lead_to_every_event() -> None:
    streams = [
        operation["responses"]["200"]["content"]["text/event-stream"]
        for item in DOCUMENT["paths"].values()
        for operation in item.values()
        if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    ]
    assert streams == [{"schema": {"$ref": "#/components/schemas/StreamEvent"}}] * 2
    frames = SCHEMAS["StreamEvent"]["discriminator"]["mapping"]
    data = {
        event: SCHEMAS[frame.rpartition("/")[2]]["properties"]["data"]["$ref"].rpartition("/")[2]
        for event, frame in frames.items()
    }
    assert data == {event: shape.__name__ for event, shape in DATA_OF.items()}
