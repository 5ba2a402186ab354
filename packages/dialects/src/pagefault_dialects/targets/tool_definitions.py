"""Definitions of tools as each target accepts them in the member `tools` of a request.

Source: design document `agents.md`, "Tools for models"; the types of each provider, in the versions
that `table.py` names.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.tool import ToolDefinition

_Definition: TypeAlias = dict[str, JsonValue]


def _write_chat_tool(tool: ToolDefinition) -> _Definition:
    return {"type": "function", "function": _write_function(tool)}


def _write_function(tool: ToolDefinition) -> _Definition:
    return _make_definition(tool, parameters=dict(tool.parameters), strict=True)


def _make_definition(tool: ToolDefinition, **parameters: JsonValue) -> _Definition:
    """Return the name, the description, and the member with the schema of the parameters."""
    return {"name": tool.name, "description": tool.description, **parameters}


def _write_mcp_tool(tool: ToolDefinition) -> _Definition:
    return _make_definition(tool, inputSchema=dict(tool.parameters))


def _convert_schema(schema: _Definition) -> _Definition:
    """Return a JSON schema in Gemini's subset of OpenAPI 3.0, which has no lists of types."""
    converted: _Definition = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, list):
            converted |= {"type": str(value[0]).upper(), "nullable": True}
        elif key == "type":
            converted["type"] = str(value).upper()
        elif key == "enum" and isinstance(value, list):
            converted["enum"] = [item for item in value if item is not None]
        elif key == "properties" and isinstance(value, dict):
            converted[key] = {
                name: _convert_schema(item)
                for name, item in value.items()
                if isinstance(item, dict)
            }
        elif key != "additionalProperties":
            converted[key] = value
    return converted


_WRITERS: Mapping[str, Callable[[ToolDefinition], _Definition]] = MappingProxyType(
    {
        "openai-chat": _write_chat_tool,
        "openai-compat": _write_chat_tool,
        "openai-responses": lambda tool: {"type": "function", **_write_function(tool)},
        "anthropic": lambda tool: _make_definition(tool, input_schema=dict(tool.parameters)),
        "gemini": lambda tool: _make_definition(
            tool, parameters=_convert_schema(dict(tool.parameters))
        ),
        "bedrock": lambda tool: {
            "toolSpec": _make_definition(tool, inputSchema={"json": dict(tool.parameters)})
        },
        "mistral": _write_chat_tool,
        "ollama": lambda tool: {
            "type": "function",
            "function": _make_definition(tool, parameters=dict(tool.parameters)),
        },
        "mcp": _write_mcp_tool,
        "langchain": _write_chat_tool,
        "vercel": lambda tool: {"type": "function", **_write_mcp_tool(tool)},
        "vercel-6": lambda tool: {"type": "function", **_write_mcp_tool(tool)},
        "pydantic-ai": lambda tool: _make_definition(
            tool, parameters_json_schema=dict(tool.parameters)
        ),
        "otel-genai": lambda tool: {
            "type": "function",
            **_make_definition(tool, parameters=dict(tool.parameters)),
        },
        "text": lambda tool: _make_definition(tool, parameters=dict(tool.parameters)),
    }
)


def write_tools(target: str, definitions: Sequence[ToolDefinition]) -> list[JsonValue]:
    """Return definitions as the member `tools` of a request to a target has them."""
    tools: list[JsonValue] = [_WRITERS[target](definition) for definition in definitions]
    return [{"functionDeclarations": tools}] if target == "gemini" else tools
