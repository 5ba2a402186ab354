"""Definitions of tools that models call."""

from collections.abc import Mapping
from dataclasses import dataclass

from pagefault_dialects.json.values import JsonValue


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """The definition of a tool that a model reads."""

    name: str
    """The name in calls."""
    description: str
    """The tool's effect, in words that a small model follows."""
    parameters: Mapping[str, JsonValue]
    """A strict JSON Schema: every property is required, additional ones are rejected, and optional
    ones may be null."""
