"""The answers to the tool calls of a session, by call id. An answer is a tool result or a message.

Call ids may repeat, because some hosts number their calls from 1 in each turn. So the answers to
calls with the same id are numbered. The id and the number give the answer key, which is in the
column `tool_call_id` (see `app.models.call_ids`). If the key is not the id itself, the id is in the
column `whole_call_id`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, or_

from app.models.call_ids import call_key, number_of_key
from app.stores.records.scope import read_row
from app.stores.records.statements import AnyTable, Lookup, is_among, scoped_exists, scoped_select
from app.stores.records.tables import messages, tool_results
from app.stores.records.unit_of_work import Repository

_ANSWERS = ((tool_results, "tool_result_id"), (messages, "message_id"))


def _make_lookup(table: AnyTable, id_column: str) -> Lookup:
    """Return the lookup of the answers in a table by their answer keys."""
    names = ("tool_call_id", "whole_call_id", "seq", "request_digest")
    columns = (*(table.c[name] for name in names), table.c[id_column].label("entry_id"))
    answers = scoped_select(table, *columns, by=["session_id"])
    return Lookup(answers.where(is_among(table.c.tool_call_id, "keys")))


# This is executed for each result that is stored. `IN` instead of `OR` would take twice as long.
_HAS_ANSWER = Lookup(
    scoped_exists(
        scoped_select(table, table.c.seq, by=["session_id"]).where(
            or_(*(table.c.tool_call_id == bindparam(name) for name in ("first", "second")))
        )
        for table, _ in _ANSWERS
    )
)
_FIND_ANSWERS = {table.name: _make_lookup(table, id_column) for table, id_column in _ANSWERS}
# The maximum number of keys in one lookup.
_AT_ONCE = 32
# The numbers 1, 2, 4 … that are looked up first. A history has at most 2**24 answers.
_DOUBLINGS = tuple(2**power for power in range(25))


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer to a tool call: its history entry, and the digest of the request that stored it."""

    tool_call_id: str
    answer_number: int
    """The number of the answer among the answers to the same call id, from 1."""
    seq: int
    entry_id: str
    request_digest: str
    is_result: bool
    """True for a row of `tool_results`, false for a message."""


class AnsweredCallRecords(Repository):
    """The answers to tool calls of one project."""

    def newest_answer(self, session_id: str, call_id: str) -> RecordedAnswer | None:
        """Return the newest answer to a call id in a session, or `None`, which is usual.

        The numbers of answers have no gaps, because a history only grows and is deleted as a whole.
        So the highest number is found by looking up 1, 2, 4 …, and then numbers in between.

        Answers in messages with several answers have no key, so they are not found. Callers that
        need them search the newest messages.
        """
        # Answer 1 may be in a message with several answers; then answer 2 has the first key.
        first, second = (call_key(call_id, number) for number in (1, 2))
        rows = self._scope.look_up(_HAS_ANSWER, session_id=session_id, first=first, second=second)
        if not rows[0].row_exists:
            return None
        found = self._find_answers(session_id, call_id, _DOUBLINGS)
        # No answer has the number `above` or a higher one.
        newest, above = found[-1], found[-1].answer_number * 2
        while newest.answer_number + 1 < above:
            step = max(1, (above - newest.answer_number) // _AT_ONCE)
            numbers = range(newest.answer_number + step, above, step)
            found = self._find_answers(session_id, call_id, numbers)
            newest = found[-1] if found else newest
            above = newest.answer_number + step
        return newest

    def find_answer(self, session_id: str, call_id: str, number: int) -> RecordedAnswer | None:
        """Return the answer to a call id in a session with this number."""
        found = self._find_answers(session_id, call_id, [number])
        return found[0] if found else None

    def _find_answers(
        self, session_id: str, call_id: str, numbers: Sequence[int]
    ) -> Sequence[RecordedAnswer]:
        """Return the answers with these numbers that exist, in order."""
        keys = [call_key(call_id, number) for number in numbers]
        found = [
            read_row(RecordedAnswer, row, is_result=name == tool_results.name, **call_fields(row))
            for name, lookup in _FIND_ANSWERS.items()
            for row in self._scope.look_up(lookup, session_id=session_id, keys=keys)
        ]
        return sorted(found, key=lambda item: (item.answer_number, item.seq))


def call_fields(row: Row[Any]) -> dict[str, Any]:
    """Return the fields of the call that a row answers: its id, and the number of the answer."""
    key, whole = row.tool_call_id, row.whole_call_id
    if whole is None:
        return {"tool_call_id": key, "answer_number": 1}
    return {"tool_call_id": whole, "answer_number": number_of_key(key)}


def call_columns(call_id: str | None, answer_number: int) -> dict[str, str | None]:
    """Return the columns of an answer that identify its call."""
    key = None if call_id is None else call_key(call_id, answer_number)
    return {"tool_call_id": key, "whole_call_id": None if key == call_id else call_id}
