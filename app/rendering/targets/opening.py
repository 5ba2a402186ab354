"""How a conversation begins for a target: what the system said, and who has to speak first."""

from collections.abc import Sequence
from dataclasses import replace

from app.models.conversation import SettledItem, SettledTurn, TextItem, Turn
from app.rendering.targets.leaves import joined, text_of
from app.rendering.targets.profile import Profile

FROM_THE_SYSTEM = "[Said by the system, not by the user:]"
BEGINNING = "[The conversation begins here.]"


def opened(
    turns: Sequence[SettledTurn], profile: Profile, *, is_whole: bool
) -> tuple[str, Sequence[SettledTurn]]:
    """What the system said before anybody else, where that is told apart, and the turns.

    What the system says later is then said in the user's turns, behind a line that tells so: moved
    to the beginning it would change all that was rendered before.

    Args:
        turns: The conversation.
        profile: The target.
        is_whole: Whether it is one from its beginning. Where the user has to speak first and does
            not, a line begins it.
    """
    system = ""
    if profile.has_system_apart:
        leading = _leading(turns)
        system = joined(text_of(item) for turn in turns[:leading] for item in turn.items)
        turns = tuple(_by_user(turn) for turn in turns[leading:])
    if is_whole and profile.starts_with_user and turns and not _is_said_by_user(turns[0]):
        beginning: SettledTurn = Turn("user", (TextItem("", BEGINNING),), seq=turns[0].seq)
        turns = (beginning, *turns)
    return system, turns


def _leading(turns: Sequence[SettledTurn]) -> int:
    others = (index for index, turn in enumerate(turns) if turn.role != "system")
    return next(others, len(turns))


def _by_user(turn: SettledTurn) -> SettledTurn:
    if turn.role != "system":
        return turn
    mark = (TextItem("", FROM_THE_SYSTEM),) if any(map(_says_something, turn.items)) else ()
    by_user: SettledTurn = replace(turn, role="user", items=(*mark, *turn.items))
    return by_user


def _is_said_by_user(turn: SettledTurn) -> bool:
    return turn.role == "user" and any(map(_says_something, turn.items))


def _says_something(item: SettledItem) -> bool:
    text = text_of(item)
    return text is None or bool(text.strip())
