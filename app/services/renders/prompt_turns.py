"""The prompt of a session: the members of a model request beside `messages`, as system turns."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile

from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.messages.entry_reading import read_turns
from pagefault_dialects.messages.histories import SYSTEM_NAMES, read_history_messages
from pagefault_dialects.model.conversation import ComposedTurn

_MODEL_NAMES = ("model", "modelId")


def read_prompt_turns(prompt: bytes, *, origin: str) -> Sequence[ComposedTurn]:
    """Return the system messages of a prompt as turns.

    Args:
        prompt: A JSON object with the members of a request beside its messages. `messages` has
            its leading system messages.
        origin: The origin of the turns.
    """
    members = parse_stored_json(prompt)
    system = {name: members[name] for name in SYSTEM_NAMES if name in members}
    messages = read_history_messages({**system, "messages": members.get("messages", [])}) or []
    turns = (turn for message in messages for turn in read_turns(message, 0, origin))
    return [replace(turn, seq=None) for turn in turns if turn.role == "system"]


def read_prompt_model(prompt: bytes) -> str | None:
    """Return the name of the model in a prompt; `None` if it has none."""
    members = parse_stored_json(prompt)
    values = (members.get(name) for name in _MODEL_NAMES)
    return next((item for item in values if isinstance(item, str) and item), None)


def replace_system_turns(
    prompt: Sequence[ComposedTurn], turns: Sequence[ComposedTurn]
) -> Sequence[ComposedTurn]:
    """Return turns whose leading system turns are replaced by those of a prompt, if it has any."""
    if not prompt:
        return turns
    return [*prompt, *dropwhile(lambda turn: turn.role == "system", turns)]
