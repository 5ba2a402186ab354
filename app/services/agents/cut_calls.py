"""Finds calls with arguments that were cut in an old call, which must not be run.

Such a call is answered when its message is appended, and the receipt names it, so that the host
does not run it. If the same turn has an answer, the call was already run.
"""

from collections.abc import Collection, Iterable, Iterator

from app.models.message import StoredHistoryMessage
from app.services.calls.stored_message_turns import stored_message_turns
from pagefault_dialects.context.cut_marks import MARK_WORDS, find_refused
from pagefault_dialects.model.conversation import TurnCall


def find_cut_calls(
    messages: Iterable[StoredHistoryMessage], answered: Collection[str]
) -> Iterator[tuple[TurnCall, str]]:
    """Yield calls with a cut argument, and the handle of the whole argument.

    Args:
        messages: The messages of a turn.
        answered: The ids of calls that other entries of the turn answer.
    """
    messages = list(messages)
    # Few messages have the mark, and only these are parsed.
    if not any(MARK_WORDS in each.message for each in messages):
        return
    turns = [
        turn
        for each in messages
        for turn in stored_message_turns(each, {}, audience="everyone", origin="")
    ]
    results = {turn.call_id for turn in turns if turn.role == "tool"}
    for call in (call for turn in turns for call in turn.calls):
        is_answered = not call.call_id or call.call_id in results or call.call_id in answered
        if not is_answered and (handle := find_refused(call.name, call.arguments)) is not None:
            yield call, handle
