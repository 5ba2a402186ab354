"""The input schema of a tool decides where its arguments are files, and handles are found there."""

import pytest

from pagefault_dialects.json.values import JsonValue
from pagefault_mcp.messages.argument_handles import FileArgument, find_file_arguments, find_handles

BASE64 = {"type": "string", "contentEncoding": "base64"}
IMAGE = {"type": "object", "properties": {"data": BASE64, "note": {"type": "string"}}}
HANDLE = "@blob:" + "0123456789abcdef" * 2
SCHEMAS: dict[str, tuple[JsonValue, list[FileArgument]]] = {
    "a definition": (
        {"properties": {"image": {"$ref": "#/$defs/Image"}}, "$defs": {"Image": IMAGE}},
        [FileArgument(("image", "data"), "base64")],
    ),
    "a definition of draft 4, in a list": (
        {
            "properties": {"images": {"items": {"$ref": "#/definitions/I~1m%20g"}}},
            "definitions": {"I/m g": IMAGE},
        },
        [FileArgument(("images", "*", "data"), "base64")],
    ),
    "one of several, or nothing": (
        {
            "properties": {"image": {"anyOf": [{"$ref": "#/$defs/Image"}, {"type": "null"}]}},
            "$defs": {"Image": IMAGE},
        },
        [FileArgument(("image", "data"), "base64")],
    ),
    "members of any name": (
        {
            "properties": {
                "files": {"properties": {"a": {"type": "string"}}, "additionalProperties": BASE64}
            }
        },
        [FileArgument(("files", frozenset({"a"})), "base64")],
    ),
    "an item of a tuple": (
        {"properties": {"pair": {"prefixItems": [{"type": "string"}, BASE64]}}},
        [FileArgument(("pair", 1), "base64")],
    ),
    "a reference to itself": ({"properties": {"a": {"$ref": "#/properties/a"}}}, []),
    "references that lead nowhere": (
        {"properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "https://example.com/"}}},
        [],
    ),
    "a reference that is longer than any": (
        {"properties": {"a": {"$ref": f"#{'/a' * 1_000}"}}},
        [],
    ),
    "an address, whatever it is called": (
        {
            "properties": {
                "file_path": {"type": "string", "format": "uri"},
                "image": {"type": ["string", "null"], "format": "url"},
                "page": {"type": "string", "format": "uri-reference"},
            }
        },
        [FileArgument(("file_path",), "data-uri"), FileArgument(("image",), "data-uri")],
    ),
    "items of lists that are called like paths": (
        {
            "properties": {
                "paths": {"type": "array", "items": {"type": "string"}},
                "inputFiles": {"prefixItems": [{"type": "string"}]},
                "files": {"additionalProperties": {"type": "string"}},
            }
        },
        [FileArgument(("paths", "*"), "path"), FileArgument(("inputFiles", 0), "path")],
    ),
    "formats that are no names": (
        {
            "properties": {
                "a": {"type": "string", "format": {"a": 1}},
                "b": {"type": "string", "format": ["uri"]},
                "c": BASE64,
            }
        },
        [FileArgument(("c",), "base64")],
    ),
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_places_of_files_are_found_in(schema: str) -> None:
    written, places = SCHEMAS[schema]
    assert find_file_arguments(written, takes_paths=True) == places


def test_circle_of_references_has_its_shallow_places_and_an_end() -> None:
    node = {"properties": {"data": BASE64, "inner": {"items": {"$ref": "#"}}}}
    places = find_file_arguments(node, takes_paths=False)
    assert places[:2] == [
        FileArgument(("data",), "base64"),
        FileArgument(("inner", "*", "data"), "base64"),
    ]
    assert len(places) < 10
    names = [f"a{number}" for number in range(100)]
    wide = {"properties": {name: {"$ref": "#"} for name in names}, "anyOf": [{"$ref": "#"}] * 100}
    assert find_file_arguments(wide, takes_paths=False) == []


def test_handles_are_found_where_steps_lead_and_nowhere_else() -> None:
    arguments = {"files": {"a": HANDLE, "b": HANDLE}, "pair": [HANDLE, HANDLE], "many": [HANDLE]}
    places = [
        FileArgument(("files", frozenset({"a"})), "base64"),
        FileArgument(("pair", 1), "base64"),
        FileArgument(("many", 1), "base64"),
        FileArgument(("many", "*"), "data-uri"),
        FileArgument(("pair", "a"), "base64"),
    ]
    found = [
        (mention.container, mention.key, mention.form)
        for mention in find_handles(arguments, places)
    ]
    assert found == [
        (arguments["files"], "b", "base64"),
        (arguments["pair"], 1, "base64"),
        (arguments["many"], 0, "data-uri"),
    ]
