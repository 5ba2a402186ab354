"""Changes of turns that a target requires: lines between turns, and system text at the beginning.

`insert_required_lines` inserts the lines before the media of turns are resolved. Each line has a
note, so that it is an entry of the loss account.
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
from pagefault_dialects.targets.base64_leaves import join_texts, text_of
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.rules import code_and_reason

_Item = TypeVar("_Item")

FROM_THE_SYSTEM = "[Said by the system, not by the user:]"
"""The line before system text that is not at the beginning."""
BEGINNING = "[The conversation begins here.]"
"""The line of the user before a conversation that does not begin with the user."""
NOTHING_SAID = "[The user said nothing.]"
"""The line in an empty turn of the user."""
NO_REPLY = "[The assistant said nothing to these results.]"
"""The line of the assistant after results, if the user is next."""

# The code and the reason of each line in the loss account.
_NO_BEGINNING = code_and_reason("no-beginning")
_LATE_SYSTEM = code_and_reason("late-system")
_EMPTY_CONTENT = code_and_reason("empty-content")
_NO_REPLY = code_and_reason("no-reply")


def insert_required_lines(
    turns: Sequence[ComposedTurn], profile: Profile, *, is_whole: bool
) -> Sequence[ComposedTurn]:
    """Return a conversation with the lines that the target requires, each with a note.

    Args:
        turns: The conversation.
        profile: The target.
        is_whole: True if the conversation begins with these turns. If the target requires that the
            user speaks first, a line of the user is then inserted before them.
    """
    leading = 0 if profile.allows_late_system else _count_leading_system(turns)
    following = [*_fill_empty_turns(_note_late_system(turns[leading:], profile), profile)]
    if profile.continues_thoughts:
        following = [*_drop_last_thoughts(following, profile)]
    if profile.has_assistant_after_results:
        following = [*_insert_replies(following, profile)]
    if is_whole and profile.starts_with_user and following:
        first = following[0]
        # A fold at the beginning is a message of the user too, but the line before it must not
        # disappear as soon as the first turns are folded.
        is_fold = any(isinstance(item, Omission) and item.run for item in first.items)
        if first.role != "user" or is_fold or not any(map(_has_content, first.items)):
            line = (SyntheticNote("line", *_NO_BEGINNING, first.seq), TextItem("", BEGINNING))
            following.insert(0, Turn("user", line, first.origin, first.seq))
    return [*turns[:leading], *following]


def split_system_text(
    turns: Sequence[ResolvedTurn], profile: Profile
) -> tuple[str, Sequence[ResolvedTurn]]:
    """Split the system text at the beginning from the other turns.

    The text is empty for targets that have the system text in the list of messages. Later system
    turns become turns of the user, with a line that marks them. Moving them to the beginning would
    change earlier messages, which providers cache.

    Args:
        turns: The conversation.
        profile: The target.
    """
    if profile.allows_late_system:
        return "", turns
    leading = _count_leading_system(turns)
    following = tuple(map(_as_user_turn, turns[leading:]))
    if not profile.has_separate_system:
        return "", (*turns[:leading], *following)
    system = join_texts(text_of(item) for turn in turns[:leading] for item in turn.items)
    return system, following


def _note_late_system(turns: Sequence[ComposedTurn], profile: Profile) -> Iterator[ComposedTurn]:
    """Yield turns, with a note in each system turn that becomes a turn of the user."""
    for turn in turns:
        is_late = turn.role == "system" and not profile.allows_late_system
        if is_late and any(map(_has_content, turn.items)):
            note = SyntheticNote("line", *_LATE_SYSTEM, turn.seq)
            yield replace(turn, items=(note, *turn.items))
        else:
            yield turn


def _fill_empty_turns(turns: Iterable[ComposedTurn], profile: Profile) -> Iterator[ComposedTurn]:
    """Yield turns with a line in each empty user turn that follows the assistant.

    Targets do not write an empty turn. So without the line, the messages could end on the
    assistant, and the model would continue the assistant's text.
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


def _insert_replies(turns: Iterable[ComposedTurn], profile: Profile) -> Iterator[ComposedTurn]:
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


def _drop_last_thoughts(turns: Sequence[ComposedTurn], profile: Profile) -> Sequence[ComposedTurn]:
    """Return turns without the thoughts that end a turn of the assistant.

    Thoughts at the end of the history are kept, since the text after them may not be written yet.
    """
    backwards: list[ComposedTurn] = []
    following: TurnRole | None = None
    for turn in reversed(turns):
        is_ended = turn.role == "assistant" and following not in (None, "assistant")
        if is_ended and not turn.calls:
            turn = _drop_thoughts_at_end(turn, profile)  # noqa: PLW2901 - the shorter turn
        if turn.calls or _is_written(turn, profile):
            following = turn.role
        backwards.append(turn)
    return backwards[::-1]


def _drop_thoughts_at_end(turn: ComposedTurn, profile: Profile) -> ComposedTurn:
    items = [*turn.items]
    for index in reversed(range(len(items))):
        item = items[index]
        if isinstance(item, ProviderBlock) and item.code == "reasoning" and item.forms:
            # A block without forms is not written, and is an entry of the loss account.
            items[index] = replace(item, forms={})
        elif _is_item_written(item, turn.role, profile):
            break
    return replace(turn, items=tuple(items))


def _is_written(turn: ComposedTurn, profile: Profile) -> bool:
    return any(_is_item_written(item, turn.role, profile) for item in turn.items)


def _is_item_written(item: Item, role: TurnRole, profile: Profile) -> bool:
    if isinstance(item, TextItem) and profile.allows_blank_texts:
        return bool(item.text)
    if isinstance(item, ProviderBlock) and profile.accepts_provider_block(item, role):
        return True
    return _has_content(item)


def _count_leading_system(turns: Sequence[Turn[_Item]]) -> int:
    others = (index for index, turn in enumerate(turns) if turn.role != "system")
    return next(others, len(turns))


def _as_user_turn(turn: ResolvedTurn) -> ResolvedTurn:
    """Return a system turn as a turn of the user, with a line that marks it."""
    if turn.role != "system":
        return turn
    mark = (TextItem("", FROM_THE_SYSTEM),) if any(map(_has_content, turn.items)) else ()
    items = (*mark, *turn.items)
    user_turn: ResolvedTurn = replace(turn, role="user", items=items, copied_messages=None)
    return user_turn


def _has_content(item: Item | ResolvedItem) -> bool:
    if isinstance(item, Omission | SyntheticNote):
        return False
    if isinstance(item, ProviderBlock):
        return bool(item.words)
    text = item.text if isinstance(item, TextItem) else None
    return text is None or bool(text.strip())
