"""What a model is shown of one tool result, taken out of the message that holds it."""

from typing import Any, Literal, TypeAlias, get_args

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
    "ollama",
    "pydantic-ai",
    "otel-genai",
]
"""The targets that have all of a result in one message.

`openai-chat` and `mistral` put images into another.
"""

NOTHING = "The tool returned nothing."

_IN_MORE_MESSAGES = {
    target: f"{target} has images in a message of their own: use a turn, or the target `text`"
    for target in ("openai-chat", "mistral")
}
_WHERE: dict[str, tuple[str | int, ...]] = {
    "mcp": (),
    "anthropic": ("content", 0, "content"),
    "openai-responses": ("output",),
    "gemini": ("parts", 0, "functionResponse"),
    "bedrock": ("content", 0, "toolResult", "content"),
    "vercel": ("content", 0, "output"),
    "vercel-6": ("content", 0, "output"),
    "ollama": (),
    "pydantic-ai": ("parts", 0, "content"),
    "otel-genai": ("parts",),
}


def checked_target(target: WrapTarget | None) -> WrapTarget | None:
    """Return a target as it is.

    Raises:
        ValueError: There is none of this name, or it has results in more than one message.
    """
    if target is None or target in get_args(WrapTarget):
        return target
    if reason := _IN_MORE_MESSAGES.get(str(target)):
        raise ValueError(reason)
    known = ", ".join(get_args(WrapTarget))
    raise ValueError(f"there is no target {target!r}: a result is shown as one of {known}")


def content_of(rendering: RenderedRecord | None) -> Any:  # noqa: ANN401 - its own
    """Return the content of a rendered tool result, in the shape of its target.

    Raises:
        ValueError: There is no rendering, or the target has it in more than one message.
    """
    if rendering is None:
        raise ValueError("the result is stored, and could not be rendered")
    target = rendering["target"]
    if reason := _IN_MORE_MESSAGES.get(target):
        raise ValueError(reason)
    message: Any = rendering["messages"][0]
    if target == "text":
        # Above the words is a line with the call, of which the caller knows.
        _, _, words = message["content"].partition("\n")
        return words or NOTHING
    for step in _WHERE.get(target, ("content",)):
        message = message[step]
    return message
