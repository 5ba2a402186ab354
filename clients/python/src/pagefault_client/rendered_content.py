"""The content of a rendered tool result, extracted from its message."""

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
"""The targets that render a result as one message.

`openai-chat` and `mistral` put images into a second message.
"""

EMPTY_RESULT = "The tool returned nothing."

_UNSUPPORTED = {
    target: f"{target} puts images into a second message: use a turn, or the target `text`"
    for target in ("openai-chat", "mistral")
}
_CONTENT_PATHS: dict[str, tuple[str | int, ...]] = {
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


def check_target(target: WrapTarget | None) -> WrapTarget | None:
    """Return a target unchanged, after a check.

    Raises:
        ValueError: The target is unknown, or splits a result over several messages.
    """
    if target is None or target in get_args(WrapTarget):
        return target
    if reason := _UNSUPPORTED.get(str(target)):
        raise ValueError(reason)
    known = ", ".join(get_args(WrapTarget))
    raise ValueError(f"there is no target {target!r}: a result is rendered as one of {known}")


def extract_content(rendering: RenderedRecord | None) -> Any:  # noqa: ANN401 - the type of the target
    """Return the content of a rendered tool result, in the shape of its target.

    Raises:
        ValueError: There is no rendering, or the target splits a result over several messages.
    """
    if rendering is None:
        raise ValueError("the result is stored, but could not be rendered")
    target = rendering["target"]
    if reason := _UNSUPPORTED.get(target):
        raise ValueError(reason)
    message: Any = rendering["messages"][0]
    if target == "text":
        # The first line repeats the call, which the caller knows.
        _, _, text = message["content"].partition("\n")
        return text or EMPTY_RESULT
    for step in _CONTENT_PATHS.get(target, ("content",)):
        message = message[step]
    return message
