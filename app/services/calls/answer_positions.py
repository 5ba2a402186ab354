"""Finds out if an answer to a tool call is new, or repeats a stored answer.

Ids of calls are not unique in a session: some hosts number the calls of each turn from 1. So the
answers to calls with the same id are numbered. If a call is stored after the newest answer with its
id, it is a new call, and its answer gets the next number. Otherwise the answer has the number of
the newest answer, and the caller compares the two. If a result is stored before its call, the first
call after the result is its call.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from app.models.message import StoredHistoryMessage
from app.services.calls.stored_message_turns import find_calls, read_message_turns
from app.services.requests.request_identity import RequestIdentity
from app.stores.records.answered_calls import AnsweredCallRecords, RecordedAnswer
from app.stores.records.history import SessionHistory
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.json.values import json_text

# The number of newest entries that are searched for an unanswered call.
_MAX_CALL_ENTRIES = 400
# The number of newest entries that are searched for an equal message. Clients repeat messages soon.
_MAX_REPEAT_ENTRIES = 50


@dataclass(frozen=True, slots=True)
class AnswerPosition:
    """The position of an answer among the answers to calls with the same id."""

    number: int = 1
    """The number of the answer, from 1."""
    existing: RecordedAnswer | None = None
    """The stored answer that has this number already."""

    def after_existing(self) -> "AnswerPosition":
        """Return the next position if there is an existing answer, otherwise this position."""
        return self if self.existing is None else AnswerPosition(self.number + 1)


def find_answer_position(
    unit: UnitOfWork, session_id: str | None, call_id: str | None, *, follows_call: bool = False
) -> AnswerPosition:
    """Return the position of an answer to a call.

    Args:
        unit: A transaction. If it has locked the session, the position cannot change.
        session_id: The session; `None` if there is none, so that every answer is the first.
        call_id: The id of the call; `None` if it has none.
        follows_call: True if the message with the call is appended just before the answer. Then
            messages that have an answer beside other content are not searched.
    """
    if session_id is None or call_id is None:
        return AnswerPosition()
    newest = unit[AnsweredCallRecords].newest_answer(session_id, call_id)
    if newest is not None and not _is_called_again(unit, session_id, newest):
        return AnswerPosition(newest.answer_number, newest)
    if not follows_call:
        after_seq = newest.seq if newest else 0
        for entry in _recent_messages(unit, session_id, after_seq=after_seq):
            is_answered = _find_mentions(entry, {call_id}).get(call_id)
            if is_answered:
                number = newest.answer_number if newest else 1
                return AnswerPosition(number, _make_recorded_answer(entry, call_id, number))
            if is_answered is not None:
                break
    return AnswerPosition(newest.answer_number + 1 if newest else 1)


def find_joint_answer_position(
    unit: UnitOfWork, session_id: str, call_ids: Collection[str], identity: RequestIdentity
) -> AnswerPosition:
    """Return the position of a message that consists of the answers to several calls.

    The message is new if one of the calls has no answer, or was made again after its answer.
    Otherwise `existing` is the message of an equal request, or the newest answer to one of the
    calls.

    Args:
        unit: A transaction that has locked the session.
        session_id: The session.
        call_ids: The ids of the calls. A call without an id has an empty one.
        identity: The digest of the message.
    """
    answers: dict[str, RecordedAnswer] = {}
    for call_id in set(call_ids) - {""}:
        position = find_answer_position(unit, session_id, call_id, follows_call=True)
        if position.existing is not None:
            answers[call_id] = position.existing
    is_called_again = False
    for entry in _recent_messages(unit, session_id):
        if identity.matches(entry.request_digest) and not is_called_again:
            return AnswerPosition(existing=_make_recorded_answer(entry, "", 1))
        for call_id, is_answered in _find_mentions(entry, call_ids).items():
            if call_id in answers:
                is_called_again |= not is_answered
            elif is_answered:
                answers[call_id] = _make_recorded_answer(entry, call_id, 1)
            else:
                return AnswerPosition()
    if not answers.keys() >= set(call_ids):
        return AnswerPosition()
    return AnswerPosition(existing=max(answers.values(), key=lambda answer: answer.seq))


def repeats_open_call(unit: UnitOfWork, session_id: str, message: StoredHistoryMessage) -> bool:
    """Return True if a message is one call that is stored already and has no answer.

    Args:
        unit: A transaction that has locked the session.
        session_id: The session.
        message: The message, which is not stored yet.
    """
    turns = read_message_turns(message, {}, audience="everyone", origin="")
    if len(turns) != 1 or turns[0].items or len(turns[0].calls) != 1:
        return False
    call = turns[0].calls[0]
    newest = unit[AnsweredCallRecords].newest_answer(session_id, call.call_id)
    for entry in _recent_messages(unit, session_id, after_seq=newest.seq if newest else 0):
        is_answered = _find_mentions(entry, {call.call_id}).get(call.call_id)
        if is_answered is not None:
            stored = {item.call_id: (item.name, item.arguments) for item in find_calls(entry)}
            return not is_answered and stored.get(call.call_id) == (call.name, call.arguments)
    return False


def _make_recorded_answer(entry: StoredHistoryMessage, call_id: str, number: int) -> RecordedAnswer:
    """Return an answer that is only a part of a message, so it has no row of its own."""
    return RecordedAnswer(
        call_id, number, entry.seq, entry.message_id, entry.request_digest, is_result=False
    )


def _recent_messages(
    unit: UnitOfWork, session_id: str, *, after_seq: int = 0
) -> Iterator[StoredHistoryMessage]:
    """Yield the messages among the newest entries of a session, the newest first."""
    history = unit[SessionHistory]
    return history.iterate_newest_messages(
        session_id, max_numbers=_MAX_REPEAT_ENTRIES, after_seq=after_seq
    )


def _find_mentions(entry: StoredHistoryMessage, call_ids: Collection[str]) -> dict[str, bool]:
    """Find the calls that a message makes or answers.

    Args:
        entry: The message.
        call_ids: The ids of the calls. If one of them is empty, all calls of the message are found,
            because a call without an id may be any of them.

    Returns:
        By the id of each call: True if the message answers it, False if the message makes it and
        does not answer it after that.
    """
    has_ids = "" not in call_ids
    if has_ids and not any(_encode_id(call_id) in entry.message for call_id in call_ids):
        return {}
    found: dict[str, bool] = {}
    for turn in read_message_turns(entry, {}, audience="everyone", origin=""):
        found |= dict.fromkeys((call.call_id for call in turn.calls), False)
        # An approval or denial of a call is not its result, which may follow.
        if turn.role == "tool" and not turn.approval_id:
            found[turn.call_id] = has_ids
    return {key: is_answer for key, is_answer in found.items() if key in call_ids or not has_ids}


def _is_called_again(unit: UnitOfWork, session_id: str, newest: RecordedAnswer) -> bool:
    """Return True if an unanswered call is stored after the newest answer to its id."""
    call_id = newest.tool_call_id
    later_calls = _find_calls(unit, session_id, call_id, after_seq=newest.seq)
    if next(later_calls, None) is None:
        return False
    previous_seq = 0
    if newest.answer_number > 1:
        earlier = unit[AnsweredCallRecords].find_answer(
            session_id, call_id, newest.answer_number - 1
        )
        previous_seq = earlier.seq if earlier else 0
    calls = _find_calls(unit, session_id, call_id, after_seq=previous_seq, to=newest.seq - 1)
    # If no call precedes the answer, it answers the first call after it.
    return next(calls, None) is not None or next(later_calls, None) is not None


def _find_calls(
    unit: UnitOfWork, session_id: str, call_id: str, *, after_seq: int, to: int | None = None
) -> Iterator[int]:
    """Yield the `seq` of messages that make a call with an id, the newest first.

    Only the newest messages are read: calls are answered soon, and the session is locked meanwhile.
    """
    encoded_id = _encode_id(call_id)
    for entry in unit[SessionHistory].iterate_newest_messages(
        session_id, max_numbers=_MAX_CALL_ENTRIES, after_seq=after_seq, to=to
    ):
        if encoded_id in entry.message and makes_call(entry, call_id):
            yield entry.seq


def _encode_id(call_id: str) -> bytes:
    """Return an id as it appears in the JSON of stored messages."""
    return json_text(call_id)[1:-1].encode()


def makes_call(entry: StoredHistoryMessage, call_id: str) -> bool:
    """Return True if a message makes a call. An id in its texts does not count."""
    return any(call.call_id == call_id for call in find_calls(entry))
