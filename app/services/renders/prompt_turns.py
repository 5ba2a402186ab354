"""Reads the prompt of a session: the members of a model request that are not messages.

Such members are `system`, `tools` and `model`. The system texts in them become system turns at the
start of a rendering.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile

from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.messages.entry_reading import read_turns
from pagefault_dialects.messages.histories import SYSTEM_NAMES, read_history_messages
from pagefault_dialects.model.conversation import ComposedTurn

_MODEL_NAMES = ("model", "modelId")


def read_prompt_turns(prompt: bytes, *, origin: str) -> Sequence[ComposedTurn]:
    """Return the system texts of a prompt as turns, without a `seq`.

    Args:
        prompt: A JSON object with the members of a model request. Its member `messages` has only
            the leading system messages of the request.
        origin: The path of the session, for the losses of a rendering.
    """
    members = parse_stored_json(prompt)
    system_members = {name: members[name] for name in SYSTEM_NAMES if name in members}
    request = {**system_members, "messages": members.get("messages", [])}
    messages = read_history_messages(request) or []
    turns = (turn for message in messages for turn in read_turns(message, 0, origin))
    return [replace(turn, seq=None) for turn in turns if turn.role == "system"]


def read_prompt_model(prompt: bytes) -> str | None:
    """Return the name of the model in a prompt; `None` if it has none."""
    members = parse_stored_json(prompt)
    values = (members.get(name) for name in _MODEL_NAMES)
    return next((item for item in values if isinstance(item, str) and item), None)


def replace_system_turns(
    prompt_turns: Sequence[ComposedTurn], turns: Sequence[ComposedTurn]
) -> Sequence[ComposedTurn]:
    """Replace the leading system turns of a conversation by those of its prompt, if it has any."""
    if not prompt_turns:
        return turns
    return [*prompt_turns, *dropwhile(lambda turn: turn.role == "system", turns)]
