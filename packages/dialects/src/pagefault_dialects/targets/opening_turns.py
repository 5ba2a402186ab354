"""The beginning of a conversation for a target: system messages, and the role that comes first.

Synthetic lines are noted before the turns are resolved, so that they are entries of the loss
account.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    Omission,
    ProviderBlock,
    ResolvedItem,
    ResolvedTurn,
    SyntheticNote,
    TextItem,
    Turn,
    TurnRole,
)
from pagefault_dialects.targets.base64_leaves import joined, text_of
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.rules import coded

_Item = TypeVar("_Item")

FROM_THE_SYSTEM = "[Said by the system, not by the user:]"
BEGINNING = "[The conversation begins here.]"
NOTHING_SAID = "[The user said nothing.]"
NO_REPLY = "[The assistant said nothing to these results.]"

_NO_BEGINNING = coded("no-beginning")
_LATE_SYSTEM = coded("late-system")
_EMPTY_CONTENT = coded("empty-content")
_NO_REPLY = coded("no-reply")


def with_lines(
    turns: Sequence[ComposedTurn], profile: Profile, *, is_whole: bool
) -> Sequence[ComposedTurn]:
    """Return the conversation with the lines that the target requires, and notes of all such lines.

    Args:
        turns: The conversation.
        profile: The target.
        is_whole: Whether the conversation is complete. If the user has to come first and does not,
            a line is inserted.
    """
    leading = 0 if profile.takes_late_system else _leading(turns)
    following = [*_filled(_noted(turns[leading:], profile), profile)]
    if profile.continues_thoughts:
        following = [*_without_last_thoughts(following, profile)]
    if profile.has_assistant_after_results:
        following = [*_replied(following, profile)]
    if is_whole and profile.starts_with_user and following:
        first = following[0]
        # A fold of the beginning keeps the inserted line that preceded it.
        is_fold = any(isinstance(item, Omission) and item.run for item in first.items)
        if first.role != "user" or is_fold or not any(map(_says_something, first.items)):
            line = (SyntheticNote("line", *_NO_BEGINNING, first.seq), TextItem("", BEGINNING))
            following.insert(0, Turn("user", line, first.origin, first.seq))
    return [*turns[:leading], *following]


def opened(turns: Sequence[ResolvedTurn], profile: Profile) -> tuple[str, Sequence[ResolvedTurn]]:
    """Return the leading system text, if the target has it apart, and the remaining turns.

    Later system text is then in the user's turns, after a line that marks it: moving it to the
    beginning would change everything that was rendered before.

    Args:
        turns: The conversation.
        profile: The target.
    """
    if profile.takes_late_system:
        return "", turns
    leading = _leading(turns)
    following = tuple(map(_by_user, turns[leading:]))
    if not profile.has_system_apart:
        return "", (*turns[:leading], *following)
    system = joined(text_of(item) for turn in turns[:leading] for item in turn.items)
    return system, following


def _noted(turns: Sequence[ComposedTurn], profile: Profile) -> Iterator[ComposedTurn]:
    for turn in turns:
        is_late = turn.role == "system" and not profile.takes_late_system
        if is_late and any(map(_says_something, turn.items)):
            note = SyntheticNote("line", *_LATE_SYSTEM, turn.seq)
            yield replace(turn, items=(note, *turn.items))
        else:
            yield turn


def _filled(turns: Iterable[ComposedTurn], profile: Profile) -> Iterator[ComposedTurn]:
    """Yield turns with a line in each empty user turn that follows the assistant.

    Without it, the history could end on the assistant, whose text the next answer then continues.
    """
    is_after_assistant = False
    for turn in turns:
        if _is_written(turn, profile):
            yield turn
        elif is_after_assistant and turn.role == "user":
            line = (SyntheticNote("line", *_EMPTY_CONTENT, turn.seq), TextItem("", NOTHING_SAID))
            yield replace(turn, items=(*turn.items, *line))
        else:
            yield turn
            if turn.role != "tool" and not turn.calls:
                continue
        is_after_assistant = turn.role == "assistant"


def _replied(turns: Iterable[ComposedTurn], profile: Profile) -> Iterator[ComposedTurn]:
    """Yield turns with a line of the assistant between results and the user."""
    is_after_results = False
    for turn in turns:
        if (turn.calls or _is_written(turn, profile)) and turn.role != "tool":
            if is_after_results and turn.role != "assistant":
                line = (SyntheticNote("line", *_NO_REPLY, turn.seq), TextItem("", NO_REPLY))
                yield Turn("assistant", line, turn.origin, turn.seq)
            is_after_results = False
        yield turn
        is_after_results = is_after_results or turn.role == "tool"


def _without_last_thoughts(
    turns: Sequence[ComposedTurn], profile: Profile
) -> Sequence[ComposedTurn]:
    """Return turns without the thoughts at the end of the assistant's turns.

    At the end of a history, the text after a thought may still come.
    """
    backwards: list[ComposedTurn] = []
    following: TurnRole | None = None
    for turn in reversed(turns):
        is_ended = turn.role == "assistant" and following not in (None, "assistant")
        kept = _without_last_thought(turn, profile) if is_ended and not turn.calls else turn
        if kept.calls or _is_written(kept, profile):
            following = kept.role
        backwards.append(kept)
    return backwards[::-1]


def _without_last_thought(turn: ComposedTurn, profile: Profile) -> ComposedTurn:
    items = [*turn.items]
    for index in reversed(range(len(items))):
        item = items[index]
        if isinstance(item, ProviderBlock) and item.code == "reasoning" and item.forms:
            # A block without a form is omitted, with an entry in the loss account.
            items[index] = replace(item, forms={})
        elif _is_item_written(item, turn.role, profile):
            break
    return replace(turn, items=tuple(items))


def _is_written(turn: ComposedTurn, profile: Profile) -> bool:
    return any(_is_item_written(item, turn.role, profile) for item in turn.items)


def _is_item_written(item: Item, role: TurnRole, profile: Profile) -> bool:
    if isinstance(item, TextItem) and profile.takes_blank_texts:
        return bool(item.text)
    if isinstance(item, ProviderBlock) and profile.takes_block(item, role):
        return True
    return _says_something(item)


def _leading(turns: Sequence[Turn[_Item]]) -> int:
    following = (index for index, turn in enumerate(turns) if turn.role != "system")
    return next(following, len(turns))


def _by_user(turn: ResolvedTurn) -> ResolvedTurn:
    if turn.role != "system":
        return turn
    mark = (TextItem("", FROM_THE_SYSTEM),) if any(map(_says_something, turn.items)) else ()
    items = (*mark, *turn.items)
    by_user: ResolvedTurn = replace(turn, role="user", items=items, written=None)
    return by_user


def _says_something(item: Item | ResolvedItem) -> bool:
    if isinstance(item, Omission | SyntheticNote):
        return False
    if isinstance(item, ProviderBlock):
        return bool(item.words)
    text = item.text if isinstance(item, TextItem) else None
    return text is None or bool(text.strip())
