"""What a model is shown of one tool result, taken out of the message that holds it."""

from typing import Any, Literal, TypeAlias

from pagefault_client.models import RenderedRecord

WrapTarget: TypeAlias = Literal[
    "text",
    "mcp",
    "anthropic",
    "openai-responses",
    "openai-compat",
    "langchain",
    "gemini",
    "bedrock",
    "vercel",
    "vercel-6",
]
"""The targets that have all of a result in one message. `openai-chat` puts images into another."""

_WHERE: dict[str, tuple[str | int, ...]] = {
    "mcp": (),
    "anthropic": ("content", 0, "content"),
    "openai-responses": ("output",),
    "gemini": ("parts", 0, "functionResponse"),
    "bedrock": ("content", 0, "toolResult", "content"),
    "vercel": ("content", 0, "output"),
    "vercel-6": ("content", 0, "output"),
}


def content_of(rendering: RenderedRecord, name: str, call_id: str) -> Any:  # noqa: ANN401 - its own
    """Return the content of a rendered tool result, in the shape of its target.

    Raises:
        ValueError: The target has it in more than one message.
    """
    target = rendering["target"]
    if target == "openai-chat":
        raise ValueError("openai-chat has images in a message of their own: use a turn, or `text`")
    message: Any = rendering["messages"][0]
    if target == "text":
        return message["content"].removeprefix(f"Tool {name} (call {call_id}):\n")
    for step in _WHERE.get(target, ("content",)):
        message = message[step]
    return message
