"""Definitions of tools as each target takes them in its request, under the name `tools`.

Source: `agents`, "Tools for models"; types of each provider, see `table`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.tool import ToolDefinition

_Written: TypeAlias = dict[str, JsonValue]


def _chat(tool: ToolDefinition) -> _Written:
    return {"type": "function", "function": _responses_members(tool)}


def _responses_members(tool: ToolDefinition) -> _Written:
    return _named(tool, parameters=dict(tool.parameters), strict=True)


def _named(tool: ToolDefinition, **parameters: JsonValue) -> _Written:
    return {"name": tool.name, "description": tool.description, **parameters}


def _mcp(tool: ToolDefinition) -> _Written:
    return _named(tool, inputSchema=dict(tool.parameters))


def _openapi(schema: _Written) -> _Written:
    """Return a schema in Gemini's subset of OpenAPI 3.0: no lists of types."""
    written: _Written = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, list):
            written |= {"type": str(value[0]).upper(), "nullable": True}
        elif key == "type":
            written["type"] = str(value).upper()
        elif key == "enum" and isinstance(value, list):
            written["enum"] = [item for item in value if item is not None]
        elif key == "properties" and isinstance(value, dict):
            written[key] = {
                name: _openapi(item) for name, item in value.items() if isinstance(item, dict)
            }
        elif key != "additionalProperties":
            written[key] = value
    return written


_WRITERS: Mapping[str, Callable[[ToolDefinition], _Written]] = MappingProxyType(
    {
        "openai-chat": _chat,
        "openai-compat": _chat,
        "openai-responses": lambda tool: {"type": "function", **_responses_members(tool)},
        "anthropic": lambda tool: _named(tool, input_schema=dict(tool.parameters)),
        "gemini": lambda tool: _named(tool, parameters=_openapi(dict(tool.parameters))),
        "bedrock": lambda tool: {
            "toolSpec": _named(tool, inputSchema={"json": dict(tool.parameters)})
        },
        "mistral": _chat,
        "ollama": lambda tool: {
            "type": "function",
            "function": _named(tool, parameters=dict(tool.parameters)),
        },
        "mcp": _mcp,
        "langchain": _chat,
        "vercel": lambda tool: {"type": "function", **_mcp(tool)},
        "vercel-6": lambda tool: {"type": "function", **_mcp(tool)},
        "pydantic-ai": lambda tool: _named(tool, parameters_json_schema=dict(tool.parameters)),
        "otel-genai": lambda tool: {
            "type": "function",
            **_named(tool, parameters=dict(tool.parameters)),
        },
        "text": lambda tool: _named(tool, parameters=dict(tool.parameters)),
    }
)


def write_tools(target: str, definitions: Sequence[ToolDefinition]) -> list[JsonValue]:
    """Return definitions in the dialect of a target, for its request."""
    written: list[JsonValue] = [_WRITERS[target](definition) for definition in definitions]
    return [{"functionDeclarations": written}] if target == "gemini" else written
