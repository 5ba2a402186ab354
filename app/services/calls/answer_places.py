"""Where an answer to a tool call belongs among the answers of its session that have the same id.

Some hosts number their calls anew in each turn, and some ask the same thing again and again. So a
call that is made behind the answer of its id is a new one. Its answer has the next number. Without
such a call, an answer is compared with the newest one, which it may be once more.

A call whose message is stored behind its result is no new one: it takes that result.
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

_MOST_LOOKED_BACK = 400
# A message that is sent again comes soon.
_MOST_SINCE_SENT = 50


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Which answer of its id an answer is, and the one that is there if it is no new one."""

    number: int = 1
    existing: RecordedAnswer | None = None

    def behind(self) -> "AnswerPlace":
        """Return the place behind the answer that is there."""
        return self if self.existing is None else AnswerPlace(self.number + 1)


def find_answer_place(
    unit: UnitOfWork, session_id: str | None, call_id: str | None, *, follows_call: bool = False
) -> AnswerPlace:
    """Return where an answer to a call belongs.

    Args:
        unit: It holds the session, so that what is found cannot change before the answer is there.
        session_id: The session; outside of one, every answer is the first.
        call_id: The id of the call, if it has one.
        follows_call: The message that makes the call is appended just before the answer, so answers
            in other messages make no difference.
    """
    if session_id is None or call_id is None:
        return AnswerPlace()
    newest = unit[AnsweredCallRecords].newest_answer(session_id, call_id)
    if newest is not None and not _is_called_again(unit, session_id, newest):
        return AnswerPlace(newest.answer_number, newest)
    if not follows_call:
        after_seq = newest.seq if newest else 0
        for entry in _recent_messages(unit, session_id, after_seq=after_seq):
            is_answer = _last_mentions(entry, {call_id}).get(call_id)
            if is_answer:
                number = newest.answer_number if newest else 1
                return AnswerPlace(number, _recorded_answer(entry, call_id, number))
            if is_answer is not None:
                break
    return AnswerPlace(newest.answer_number + 1 if newest else 1)


def find_place_of_answers(
    unit: UnitOfWork, session_id: str, call_ids: Collection[str], identity: RequestIdentity
) -> AnswerPlace:
    """Return where a message belongs that answers several calls and does nothing else.

    It is a new one if one of its calls has no answer, or is made again behind it. Otherwise the
    entry of the same request exists, or else the newest that answers one of the calls.

    Args:
        unit: See `find_answer_place`.
        session_id: The session.
        call_ids: The ids of the calls. Without ids, calls cannot be told apart.
        identity: The request with the message.
    """
    answers = _recorded_answers(unit, session_id, call_ids)
    is_called_again = False
    for entry in _recent_messages(unit, session_id):
        if identity.is_that_of(entry.request_digest) and not is_called_again:
            return AnswerPlace(existing=_recorded_answer(entry, "", 1))
        for call_id, is_answer in _last_mentions(entry, call_ids).items():
            if call_id in answers:
                is_called_again |= not is_answer
            elif is_answer:
                answers[call_id] = _recorded_answer(entry, call_id, 1)
            else:
                return AnswerPlace()
    if not answers.keys() >= set(call_ids):
        return AnswerPlace()
    return AnswerPlace(existing=max(answers.values(), key=lambda each: each.seq))


def _recorded_answers(
    unit: UnitOfWork, session_id: str, call_ids: Collection[str]
) -> dict[str, RecordedAnswer]:
    """Return the newest answers, in entries of their own, of calls that are not made again."""
    records = unit[AnsweredCallRecords]
    newest = (records.newest_answer(session_id, each) for each in set(call_ids) - {""})
    return {
        each.tool_call_id: each
        for each in newest
        if each is not None and not _is_called_again(unit, session_id, each)
    }


def _recorded_answer(entry: StoredHistoryMessage, call_id: str, number: int) -> RecordedAnswer:
    """Return an answer in a message that holds more than that."""
    return RecordedAnswer(
        call_id, number, entry.seq, entry.message_id, entry.request_digest, is_result=False
    )


def _recent_messages(
    unit: UnitOfWork, session_id: str, *, after_seq: int = 0
) -> Iterator[StoredHistoryMessage]:
    """Yield the messages among the last entries of a session, the newest first."""
    head = unit[SessionHistory].history_head(session_id)
    last_seq = head.last_seq if head else 0
    start = max(after_seq, last_seq - _MOST_SINCE_SENT)
    return unit[SessionHistory].newest_messages(session_id, after_seq=start, to=last_seq)


def _last_mentions(entry: StoredHistoryMessage, call_ids: Collection[str]) -> dict[str, bool]:
    """Return which of some calls a message concerns, and whether it answers each in the end.

    Where one of the calls has no id, each call of the message may be that one, and is open.
    """
    has_ids = "" not in call_ids
    if has_ids and not any(_spell(each) in entry.message for each in call_ids):
        return {}
    found: dict[str, bool] = {}
    for turn in stored_message_turns(entry, {}, audience="everyone", origin=""):
        found |= dict.fromkeys((call.call_id for call in turn.calls), False)
        # An approval is no result, and the result of a denial may follow the denial.
        if turn.role == "tool" and not turn.approval_id:
            found[turn.call_id] = has_ids
    return {each: is_answer for each, is_answer in found.items() if each in call_ids or not has_ids}


def _is_called_again(unit: UnitOfWork, session_id: str, newest: RecordedAnswer) -> bool:
    """Return whether a call is open behind the newest answer of its id."""
    head = unit[SessionHistory].history_head(session_id)
    last_seq = head.last_seq if head else 0
    call_id = newest.tool_call_id
    behind = _calling(unit, session_id, call_id, after_seq=newest.seq, to=last_seq)
    if next(behind, None) is None:
        return False
    before = 0
    if newest.answer_number > 1:
        earlier = unit[AnsweredCallRecords].answer(session_id, call_id, newest.answer_number - 1)
        before = earlier.seq if earlier else 0
    calling = _calling(unit, session_id, call_id, after_seq=before, to=newest.seq - 1)
    # Without a call of its own, the answer is that of the first call behind it.
    return next(calling, None) is not None or next(behind, None) is not None


def _calling(
    unit: UnitOfWork, session_id: str, call_id: str, *, after_seq: int, to: int
) -> Iterator[int]:
    """Yield the numbers of messages that make a call with an id, the newest first.

    Of a long stretch only the end is read: a call is answered soon, and a writer holds the session.
    """
    spelled = _spell(call_id)
    start = max(after_seq, to - _MOST_LOOKED_BACK)
    for entry in unit[SessionHistory].newest_messages(session_id, after_seq=start, to=to):
        if spelled in entry.message and makes_call(entry, call_id):
            yield entry.seq


def _spell(call_id: str) -> bytes:
    """Return an id as it stands in the JSON of a stored message."""
    return json_text(call_id)[1:-1].encode()


def makes_call(entry: StoredHistoryMessage, call_id: str) -> bool:
    """Return whether a message makes a call: its id may be no more than what somebody says."""
    return any(call.call_id == call_id for call in calls_of(entry))
