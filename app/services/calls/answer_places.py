"""Where an answer to a tool call belongs among the answers of its session that have the same id.

Some hosts number their calls anew in each turn, and some ask the same thing again and again. So a
call that is made behind the answer of its id is a new one. Its answer has the next number. Without
such a call, an answer is compared with the newest one, which it may be once more.

A call whose message is stored behind its result is no new one: it takes that result.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from app.models.message import StoredHistoryMessage
from app.services.calls.stored_message_turns import calls_of, ids_in
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


def find_answer_place(unit: UnitOfWork, session_id: str | None, call_id: str | None) -> AnswerPlace:
    """Return where an answer to a call belongs.

    Args:
        unit: It holds the session, so that what is found cannot change before the answer is there.
        session_id: The session; outside of one, every answer is the first.
        call_id: The id of the call, if it has one.
    """
    if session_id is None or call_id is None:
        return AnswerPlace()
    newest = unit[AnsweredCallRecords].newest_answer(session_id, call_id)
    if newest is None:
        return AnswerPlace()
    place = AnswerPlace(newest.answer_number, newest)
    return place.behind() if _is_called_again(unit, session_id, newest) else place


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


def find_repeated_answers(
    unit: UnitOfWork, session_id: str, call_ids: Collection[str], identity: RequestIdentity
) -> StoredHistoryMessage | None:
    """Return the message that answers several calls, if it is stored already.

    It is the newest one that answers one of the calls, and nothing calls for them behind it.

    Args:
        unit: See `find_answer_place`.
        session_id: The session.
        call_ids: The ids of the calls. Without ids, calls cannot be told apart.
        identity: The request with the message.
    """
    head = unit[SessionHistory].history_head(session_id)
    last_seq = head.last_seq if head else 0
    start = max(0, last_seq - _MOST_SINCE_SENT)
    for entry in unit[SessionHistory].newest_messages(session_id, after_seq=start, to=last_seq):
        if identity.is_that_of(entry.request_digest):
            return entry
        concerned = ids_in(entry)
        if concerned and ("" in call_ids or not concerned.isdisjoint(call_ids)):
            return None
    return None


def _calling(
    unit: UnitOfWork, session_id: str, call_id: str, *, after_seq: int, to: int
) -> Iterator[int]:
    """Yield the numbers of messages that make a call with an id, the newest first.

    Of a long stretch only the end is read: a call is answered soon, and a writer holds the session.
    """
    spelled = json_text(call_id)[1:-1].encode()
    start = max(after_seq, to - _MOST_LOOKED_BACK)
    for entry in unit[SessionHistory].newest_messages(session_id, after_seq=start, to=to):
        if spelled in entry.message and makes_call(entry, call_id):
            yield entry.seq


def makes_call(entry: StoredHistoryMessage, call_id: str) -> bool:
    """Return whether a message makes a call: its id may be no more than what somebody says."""
    return any(call.call_id == call_id for call in calls_of(entry))
