"""Headers that repeat members of a message are the same as those of the official SDK."""

import pytest
from mcp.shared import inbound

from pagefault_dialects.json.values import JsonValue
from pagefault_mcp.messages import sessionless_requests


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        " edge",
        "edge ",
        "a b",
        "\t",
        "a\n",
        "Grüße",
        "=?base64?YQ==?=",
        "=?base64?\n?=",
    ],
)
def test_header_value_is_that_of_the_sdk(text: str) -> None:
    written = sessionless_requests.encode_header(text)
    assert written == inbound.encode_header_value(text)
    assert inbound.decode_header_value(written) == text


def test_names_are_those_of_the_sdk() -> None:
    assert sessionless_requests.NAME_PARAMETERS == inbound.NAME_BEARING_METHODS
    assert (
        sessionless_requests.PROTOCOL_VERSION_HEADER,
        sessionless_requests.METHOD_HEADER,
        sessionless_requests.NAME_HEADER,
    ) == (
        inbound.MCP_PROTOCOL_VERSION_HEADER,
        inbound.MCP_METHOD_HEADER,
        inbound.MCP_NAME_HEADER,
    )


def annotated(token: JsonValue) -> JsonValue:
    return {"type": "string", "x-mcp-header": token}


SCHEMA: JsonValue = {
    "x-mcp-header": "Root",
    "properties": {
        "region": annotated("Region"),
        "count": annotated("Count"),
        "flag": annotated("Flag"),
        "odd": annotated(1),
        "none": annotated("None"),
        "huge": annotated("Huge"),
        "list": {"items": annotated("Item"), "x-mcp-header": "List"},
        "deep": {"properties": {"er": {"properties": {"still": annotated("Still")}}, "x": 1}},
        "wrong": {"properties": [annotated("Wrong")]},
    },
    "allOf": [{"properties": {"other": annotated("Other")}}],
}
ARGUMENTS: dict[str, JsonValue] = {
    "region": "Zürich",
    "count": 3,
    "flag": True,
    "none": None,
    "huge": 10**5_000,
    "list": ["a"],
    "deep": {"er": {"still": 1.5}},
}


@pytest.mark.parametrize("schema", [SCHEMA, {}, None, [], {"properties": {"region": SCHEMA}}])
@pytest.mark.parametrize("arguments", [ARGUMENTS, {}, {"deep": 1}, {"region": ARGUMENTS}])
def test_parameters_are_repeated_as_by_the_sdk(
    schema: JsonValue, arguments: dict[str, JsonValue]
) -> None:
    mirrored = sessionless_requests.find_mirrored_parameters(schema)
    assert mirrored == inbound.x_mcp_header_map(schema)
    assert sessionless_requests.build_parameter_headers(
        mirrored, arguments
    ) == inbound.mcp_param_headers(mirrored, arguments)
