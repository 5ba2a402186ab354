"""Tools that models call: what each is named, what it does, what it takes."""

from collections.abc import Mapping
from dataclasses import dataclass

from pagefault_dialects.json.values import JsonValue


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it."""

    name: str
    """What a model calls it by."""
    description: str
    """What it does, in words a small model follows."""
    parameters: Mapping[str, JsonValue]
    """A strict JSON Schema: every property is required, no others are taken, and what may be left
    out may be null."""
