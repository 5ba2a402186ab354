"""The messages of `ollama`: a text and a list of images in base64.

The images are in reading order; their positions between the texts are lost. Calls have no ids: a
result names its tool, and results are in the order of their calls. Arguments are an object.

Source: ollama 0.6, `Message`; documentation of Ollama's API, "Generate a chat completion".
"""

from collections.abc import Sequence

from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import MediaItem, ProviderBlock, ResolvedTurn, TurnRole
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    copy_provider_block,
    join_texts,
    text_of,
)
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import Shape, fits

_THOUGHT_SHAPE: Shape = {"thinking": str}


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` is not used, since these messages have no member for it.
    """
    messages = [_write_message(turn, profile) for turn in turns]
    return [message for message in messages if _has_content(message)]


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether Ollama accepts members: only that with the assistant's thoughts."""
    return role == "assistant" and fits(block, _THOUGHT_SHAPE)


def _has_content(message: dict[str, Node]) -> bool:
    return bool(message["content"]) or not message.keys() <= {"role", "content"}


def _write_message(turn: ResolvedTurn, profile: Profile) -> dict[str, Node]:
    message: dict[str, Node] = {"role": turn.role, "content": join_texts(map(text_of, turn.items))}
    if images := [base64_leaf(item) for item in turn.items if isinstance(item, MediaItem)]:
        message["images"] = images
    for item in turn.items:
        if isinstance(item, ProviderBlock):
            message |= copy_provider_block(item)
    if turn.role == "tool":
        message["tool_name"] = profile.tool_name.fit(turn.tool_name)
    if turn.calls:
        message["tool_calls"] = [
            {
                "function": {
                    "name": profile.tool_name.fit(call.name),
                    "arguments": JsonLeaf(call.arguments),
                }
            }
            for call in turn.calls
        ]
    return message
