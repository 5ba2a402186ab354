"""Calls of tools by models."""

import json
from dataclasses import dataclass
from typing import Any

from pagefault_client.values import jsonable


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by a model.

    Attributes:
        name: The name of the tool.
        call_id: The id of the call.
        arguments: The arguments, an object or its JSON text; None if they are unknown.
    """

    name: str
    call_id: str
    arguments: Any = None

    def message(self) -> dict[str, Any] | None:
        """Return the message of a model that makes the call, if its arguments are known."""
        arguments = self.arguments
        if arguments is None:
            return None
        text = arguments if isinstance(arguments, str) else json.dumps(jsonable(arguments))
        function = {"name": self.name, "arguments": text}
        calls = [{"id": self.call_id, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
