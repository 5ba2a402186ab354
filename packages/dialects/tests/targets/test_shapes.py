"""JSON values have a shape, and definitions of tools have the shape of each target."""

import re

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.tool import ToolDefinition
from pagefault_dialects.targets.request_shapes import (
    ADDRESS,
    NON_EMPTY_TEXT,
    Shape,
    fits,
    fits_members,
    fits_type,
    has_known_shape,
)
from pagefault_dialects.targets.rules import RULES, code_and_reason, make_finding, shorten_quote
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.targets.tool_definitions import write_tools


def test_value_has_a_shape() -> None:
    nested: Shape = {"a": str, "b?": {"c": (int, re.compile("x+"))}}
    cases: list[tuple[JsonValue, Shape, bool]] = [
        ("Hi.", str, True),
        (7, str, False),
        ("Hi.", (dict, str), True),
        ("Hi.", (dict, list), False),
        ("Hi.", (), False),
        ("xx", re.compile("x+"), True),
        ("xxy", re.compile("x+"), False),
        (7, re.compile("7"), False),
        ({"a": ""}, nested, True),
        ({"a": "", "b": None, "other": 1}, nested, True),
        ({"a": "", "b": {"c": 1}}, nested, True),
        ({"a": "", "b": {"c": "xx"}}, nested, True),
        ({"a": "", "b": {"c": "y"}}, nested, False),
        ({"a": "", "b": {}}, nested, False),
        ({"a": None}, nested, False),
        ({}, nested, False),
        ({}, {}, True),
        ([], {}, False),
        (None, {}, False),
    ]
    assert [fits(value, shape) for value, shape, _ in cases] == [case[2] for case in cases]


def test_texts_and_addresses_of_requests() -> None:
    addresses = {
        "https://a.example/b": True,
        "http://a": True,
        "https://": False,
        "https://a b": False,
        "ftp://a.example": False,
        "data:image/png;base64,AA+/==": True,
        "data:text/plain;charset=utf-8;base64,A A\n": True,
        "data:image/png,AA==": False,
        "data:;base64,": False,
        f"@blob:{'0a' * 16}": True,
        f"@blob:{'0A' * 16}": False,
        f"@blob:{'0a' * 16}0": False,
    }
    assert {address: fits(address, ADDRESS) for address in addresses} == addresses
    assert [fits(text, NON_EMPTY_TEXT) for text in ("a\nb", "\n", "")] == [True, True, False]


def test_block_has_the_shape_of_its_type() -> None:
    shapes: dict[str, Shape] = {"text": {"text": str}}
    blocks: list[JsonValue] = [
        {"type": "text", "text": "Hi."},
        {"type": "text"},
        {"type": "image"},
        {"text": "Hi."},
        "text",
    ]
    assert [fits_type(block, shapes) for block in blocks if isinstance(block, dict)] == [
        *(True, False),
        *(True, True),
    ]
    assert [has_known_shape(block, shapes) for block in blocks] == [True, *[False] * 4]


def test_block_has_at_most_one_of_some_members() -> None:
    shapes: dict[str, Shape] = {"text": str, "image": dict}
    cases: list[tuple[dict[str, JsonValue], bool]] = [
        ({"text": "Hi."}, True),
        ({"text": "Hi.", "image": None, "other": 1}, True),
        ({"text": 7}, False),
        ({"text": "Hi.", "image": {}}, False),
        ({"other": 1}, True),
        ({}, True),
    ]
    assert [fits_members(block, shapes) for block, _ in cases] == [case[1] for case in cases]


SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "description": "What."},
        "level": {"type": ["integer", "null"], "enum": [0, 1, None]},
        "odd": True,
    },
    "required": ["ref"],
    "additionalProperties": False,
}


def test_tools_are_defined_as_each_target_accepts_them() -> None:
    tool = ToolDefinition(name="look", description="Looks.", parameters=SCHEMA)
    named: dict[str, JsonValue] = {"name": "look", "description": "Looks."}
    strict: JsonValue = {**named, "parameters": SCHEMA, "strict": True}
    lenient: JsonValue = {**named, "parameters": SCHEMA}
    chat: JsonValue = {"type": "function", "function": strict}
    sdk: JsonValue = {"type": "function", **named, "inputSchema": SCHEMA}
    open_api: JsonValue = {
        "type": "OBJECT",
        "properties": {
            "ref": {"type": "STRING", "description": "What."},
            "level": {"type": "INTEGER", "nullable": True, "enum": [0, 1]},
        },
        "required": ["ref"],
    }
    expected: dict[str, JsonValue] = {
        "openai-chat": chat,
        "openai-compat": chat,
        "mistral": chat,
        "langchain": chat,
        "openai-responses": {"type": "function", **named, "parameters": SCHEMA, "strict": True},
        "anthropic": {**named, "input_schema": SCHEMA},
        "gemini": {"functionDeclarations": [{**named, "parameters": open_api}]},
        "bedrock": {"toolSpec": {**named, "inputSchema": {"json": SCHEMA}}},
        "ollama": {"type": "function", "function": lenient},
        "mcp": {**named, "inputSchema": SCHEMA},
        "vercel": sdk,
        "vercel-6": sdk,
        "pydantic-ai": {**named, "parameters_json_schema": SCHEMA},
        "otel-genai": {"type": "function", **named, "parameters": SCHEMA},
        "text": lenient,
    }
    assert {target: write_tools(target, [tool]) for target in TARGETS} == {
        target: [definition] for target, definition in expected.items()
    }
    assert [len(write_tools(target, [tool, tool])) for target in ("gemini", "mcp")] == [1, 2]


def test_finding_has_the_texts_of_its_rule() -> None:
    rule = RULES["bad-id"]
    assert make_finding(
        "bad-id", "/messages/0", limit=64, actual="x", seq=7, call_id="c" * 81
    ) == Finding(
        seq=7,
        pointer="/messages/0",
        rule="bad-id",
        call_id=f"{'c' * 79}…",
        demands=rule.demands,
        limit=64,
        actual="x",
        fix=rule.fix,
        source=rule.source,
    )
    assert make_finding("bad-id", "").call_id is None
    assert [shorten_quote("c" * 80), shorten_quote("c" * 81)] == ["c" * 80, f"{'c' * 79}…"]
    assert code_and_reason("no-call") == ("no-call", RULES["no-call"].reason)
