"""The messages of `text`: every turn as words, for people and for models that take nothing else.

A medium is the line that stands in its place. What a tool answered is headed by the call it
belongs to, and a call is one line, whatever its arguments hold.
"""

from collections.abc import Sequence

from app.models.conversation import Call, SettledTurn
from app.models.json_value import json_text
from app.models.rendering import ImageDetail
from app.rendering.pages.lines import one_line
from app.rendering.targets.leaves import Node, joined, text_of
from app.rendering.targets.profile import Profile


def write(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Settled turns as messages, one for each."""
    return [{"role": turn.role, "content": _words(turn, profile)} for turn in turns]


def _words(turn: SettledTurn, profile: Profile) -> str:
    words = joined(map(text_of, turn.items))
    if turn.role == "tool":
        return "\n".join(filter(None, (_heading(turn, profile), words)))
    return joined((words, "\n".join(_line(call, profile) for call in turn.calls)))


def _heading(turn: SettledTurn, profile: Profile) -> str:
    name = one_line(profile.tool_name.fit(turn.tool_name))
    return f"Tool {name} (call {one_line(profile.call_id.fit(turn.call_id))}):"


def _line(call: Call, profile: Profile) -> str:
    name = one_line(profile.tool_name.fit(call.name))
    return f"[calls {name} {one_line(json_text(call.arguments))}]"
