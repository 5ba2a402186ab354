"""What the system says around the messages of a session, as turns in front of them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile

from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.messages.entry_reading import foreign_turns
from pagefault_dialects.messages.histories import SYSTEM_NAMES, foreign_messages
from pagefault_dialects.model.conversation import ComposedTurn

_MESSAGES = "messages"
_MODELS = ("model", "modelId")


def prompt_turns(prompt: bytes, *, origin: str) -> Sequence[ComposedTurn]:
    """Return the system of a prompt as turns; none if it has no system.

    Args:
        prompt: A JSON object with the members that stood around a list of messages, and, in
            `messages`, what the system said at the beginning of that.
        origin: The path that the turns name as their origin.
    """
    around = parse_stored_json(prompt)
    said = {name: around[name] for name in SYSTEM_NAMES if name in around}
    read = foreign_messages({**said, _MESSAGES: around.get(_MESSAGES, [])}) or []
    turns = (turn for each in read for turn in foreign_turns(each, 0, origin))
    return [replace(turn, seq=None) for turn in turns if turn.role == "system"]


def prompt_model(prompt: bytes) -> str | None:
    """Return the model that a prompt names, if it names one."""
    around = parse_stored_json(prompt)
    named = (around.get(name) for name in _MODELS)
    return next((each for each in named if isinstance(each, str) and each), None)


def with_prompt(
    prompt: Sequence[ComposedTurn], turns: Sequence[ComposedTurn]
) -> Sequence[ComposedTurn]:
    """Return turns behind those of a prompt, in the place of what the system said first."""
    if not prompt:
        return turns
    return [*prompt, *dropwhile(lambda turn: turn.role == "system", turns)]
