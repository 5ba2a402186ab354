"""Positions of answers among the answers of a session to calls with the same id.

Some hosts number the calls of each turn from the beginning, so ids are used again; some repeat a
call. If a call is stored after the newest answer with its id, it is a new call, and its answer has
the next number. Otherwise an answer is compared with the newest one, and may be a repetition of it.
If a result is stored before its call, the first call after it is the call of that result.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from app.models.message import StoredHistoryMessage
from app.services.calls.stored_message_turns import calls_of, stored_message_turns
from app.services.requests.request_identity import RequestIdentity
from app.stores.records.answered_calls import AnsweredCallRecords, RecordedAnswer
from app.stores.records.history import SessionHistory
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.json.values import json_text

# The limit of entries in which an unanswered call is searched for.
_MAX_CALL_ENTRIES = 400
# The limit of entries in which a repeated message is searched for; messages are repeated soon.
_MAX_REPEAT_ENTRIES = 50


@dataclass(frozen=True, slots=True)
class AnswerPosition:
    """The number of an answer among those of its id, and the stored answer if it is not new."""

    number: int = 1
    existing: RecordedAnswer | None = None

    def after_existing(self) -> "AnswerPosition":
        """Return the position after the stored answer, or this one if there is none."""
        return self if self.existing is None else AnswerPosition(self.number + 1)


def find_answer_position(
    unit: UnitOfWork, session_id: str | None, call_id: str | None, *, follows_call: bool = False
) -> AnswerPosition:
    """Return the position of an answer to a call.

    Args:
        unit: A transaction. If it has locked the session, the position cannot change.
        session_id: The session; without one, every answer is the first.
        call_id: The id of the call, if it has one.
        follows_call: The message of the call is appended just before the answer, so answers in
            other messages do not count.
    """
    if session_id is None or call_id is None:
        return AnswerPosition()
    newest = unit[AnsweredCallRecords].newest_answer(session_id, call_id)
    if newest is not None and not _is_called_again(unit, session_id, newest):
        return AnswerPosition(newest.answer_number, newest)
    if not follows_call:
        after_seq = newest.seq if newest else 0
        for entry in _recent_messages(unit, session_id, after_seq=after_seq):
            is_answer = _last_mentions(entry, {call_id}).get(call_id)
            if is_answer:
                number = newest.answer_number if newest else 1
                return AnswerPosition(number, _recorded_answer(entry, call_id, number))
            if is_answer is not None:
                break
    return AnswerPosition(newest.answer_number + 1 if newest else 1)


def find_joint_answer_position(
    unit: UnitOfWork, session_id: str, call_ids: Collection[str], identity: RequestIdentity
) -> AnswerPosition:
    """Return the position of a message with the answers to several calls and no other content.

    The message is new if one of the calls has no answer, or is made again after its answer.
    Otherwise the existing answer is that of the same request, or the newest to one of the calls.
    """
    answers = {
        item: found
        for item in set(call_ids) - {""}
        if (found := find_answer_position(unit, session_id, item, follows_call=True).existing)
    }
    is_called_again = False
    for entry in _recent_messages(unit, session_id):
        if identity.matches(entry.request_digest) and not is_called_again:
            return AnswerPosition(existing=_recorded_answer(entry, "", 1))
        for call_id, is_answer in _last_mentions(entry, call_ids).items():
            if call_id in answers:
                is_called_again |= not is_answer
            elif is_answer:
                answers[call_id] = _recorded_answer(entry, call_id, 1)
            else:
                return AnswerPosition()
    if not answers.keys() >= set(call_ids):
        return AnswerPosition()
    return AnswerPosition(existing=max(answers.values(), key=lambda answer: answer.seq))


def repeats_open_call(unit: UnitOfWork, session_id: str, message: StoredHistoryMessage) -> bool:
    """Return whether a message has only one call, which is stored already and has no answer."""
    turns = stored_message_turns(message, {}, audience="everyone", origin="")
    if len(turns) != 1 or turns[0].items or len(turns[0].calls) != 1:
        return False
    call = turns[0].calls[0]
    newest = unit[AnsweredCallRecords].newest_answer(session_id, call.call_id)
    for entry in _recent_messages(unit, session_id, after_seq=newest.seq if newest else 0):
        if (is_answer := _last_mentions(entry, {call.call_id}).get(call.call_id)) is not None:
            stored = {item.call_id: (item.name, item.arguments) for item in calls_of(entry)}
            return not is_answer and stored.get(call.call_id) == (call.name, call.arguments)
    return False


def _recorded_answer(entry: StoredHistoryMessage, call_id: str, number: int) -> RecordedAnswer:
    """Return the answer to a call in a message that has other content too."""
    return RecordedAnswer(
        call_id, number, entry.seq, entry.message_id, entry.request_digest, is_result=False
    )


def _recent_messages(
    unit: UnitOfWork, session_id: str, *, after_seq: int = 0
) -> Iterator[StoredHistoryMessage]:
    """Yield the messages among the last entries of a session, the newest first."""
    history = unit[SessionHistory]
    return history.newest_messages(session_id, max_numbers=_MAX_REPEAT_ENTRIES, after_seq=after_seq)


def _last_mentions(entry: StoredHistoryMessage, call_ids: Collection[str]) -> dict[str, bool]:
    """Map the calls that a message mentions to whether their last mention is an answer.

    A call without an id may be any call of the message, and has no answer.
    """
    has_ids = "" not in call_ids
    if has_ids and not any(_encode_id(call_id) in entry.message for call_id in call_ids):
        return {}
    found: dict[str, bool] = {}
    for turn in stored_message_turns(entry, {}, audience="everyone", origin=""):
        found |= dict.fromkeys((call.call_id for call in turn.calls), False)
        # An approval is no result, and the result of a denial may follow the denial.
        if turn.role == "tool" and not turn.approval_id:
            found[turn.call_id] = has_ids
    return {key: is_answer for key, is_answer in found.items() if key in call_ids or not has_ids}


def _is_called_again(unit: UnitOfWork, session_id: str, newest: RecordedAnswer) -> bool:
    """Return whether an unanswered call is stored after the newest answer to its id."""
    call_id = newest.tool_call_id
    later_calls = _find_calls(unit, session_id, call_id, after_seq=newest.seq)
    if next(later_calls, None) is None:
        return False
    previous_seq = 0
    if newest.answer_number > 1:
        earlier = unit[AnsweredCallRecords].answer(session_id, call_id, newest.answer_number - 1)
        previous_seq = earlier.seq if earlier else 0
    calls = _find_calls(unit, session_id, call_id, after_seq=previous_seq, to=newest.seq - 1)
    # If no call precedes the answer, it answers the first call after it.
    return next(calls, None) is not None or next(later_calls, None) is not None


def _find_calls(
    unit: UnitOfWork, session_id: str, call_id: str, *, after_seq: int, to: int | None = None
) -> Iterator[int]:
    """Yield the `seq` of messages with a call of an id, the newest first.

    Only the newest are read, because calls are answered soon and the session is locked.
    """
    encoded_id = _encode_id(call_id)
    for entry in unit[SessionHistory].newest_messages(
        session_id, max_numbers=_MAX_CALL_ENTRIES, after_seq=after_seq, to=to
    ):
        if encoded_id in entry.message and makes_call(entry, call_id):
            yield entry.seq


def _encode_id(call_id: str) -> bytes:
    """Return an id as it appears in the JSON of stored messages."""
    return json_text(call_id)[1:-1].encode()


def makes_call(entry: StoredHistoryMessage, call_id: str) -> bool:
    """Return whether a message makes a call; an id in its texts does not count."""
    return any(call.call_id == call_id for call in calls_of(entry))
