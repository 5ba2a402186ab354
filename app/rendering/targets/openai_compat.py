"""The messages of `openai-compat`: images stand in the tool message, as some servers take them.

User, assistant and system turns are those of `openai-chat`.

Source: spec 000, "Multi-block Tool Results".
"""

from collections.abc import Sequence

from app.models.conversation import SettledTurn
from app.models.rendering import ImageDetail
from app.rendering.targets.leaves import Node
from app.rendering.targets.openai_chat import said, shown
from app.rendering.targets.profile import Profile


def write(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Settled turns as messages."""
    messages: list[Node] = []
    for turn in turns:
        if turn.role != "tool":
            messages += said(turn, profile, detail)
            continue
        call_id = profile.call_id.fit(turn.call_id)
        content = shown(turn.items, detail)
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return messages
