"""Calls and answers brought together, as every provider demands of a conversation.

An answer stands directly behind the turn that made its call, every call has an answer before the
user or the assistant goes on, and no id is used twice. A history need not be like that: hosts that
store results only, results that are stored before the message that calls for them, calls that never
came back, answers that came too late. A call takes the answer that comes behind it; where none has
come when somebody goes on, it takes the one that was stored before it under its id, unless another
tool gave it. What is missing then is written here, each time with a note for the account of the
loss.

What is written comes from what came before and never from what comes after, so that appending
changes nothing that was rendered before. Only the answers of calls that are still open may come in
between, and an answer without a call moves behind its call when that is stored, unless it is one of
those that are kept where they were shown: then the call is left out.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Invented,
    LeftOut,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.targets.rules import coded

_Item = TypeVar("_Item")

NO_RESULT = "[No result of this call was recorded before the conversation went on.]"

UNKNOWN_TOOL = "unknown_tool"

_NO_CALL = coded("no-call")
_LATE = coded("late-answer")
_ANSWERED_BEFORE = coded("answered-before")
_NO_ANSWER = coded("no-answer")


@dataclass(slots=True)
class _Group:
    """A turn, and the answers to its calls, each with the index of the call.

    `waiting` has the calls without an answer, by index; `by_id` and `by_name` lead there. An index
    that is no longer waiting is passed over. A turn that `is_written` is there for its answer only.
    Calls that are `left_out` are answered elsewhere.
    """

    turn: ComposedTurn
    answers: list[tuple[int, ComposedTurn]] = field(default_factory=list)
    waiting: dict[int, TurnCall] = field(default_factory=dict)
    by_id: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    by_name: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    is_written: bool = False
    left_out: set[int] = field(default_factory=set)

    def expect_answers(self) -> None:
        """Wait for the answers to the calls of the turn."""
        for index, call in enumerate(self.turn.calls):
            self.waiting[index] = call
            self.by_id[call.call_id].append(index)
            self.by_name[call.name].append(index)

    def take(self, answer: ComposedTurn) -> bool:
        """Take an answer by its id; else as that of the first call of its name, or of any call."""
        if not answer.call_id and not answer.tool_name and self.waiting:
            index = next(iter(self.waiting))
            del self.waiting[index]
            self.answers.append((index, answer))
            return True
        known, name = (self.by_id, answer.call_id), (self.by_name, answer.tool_name)
        calls, wanted = known if answer.call_id else name
        candidates = calls.get(wanted) or deque()
        while candidates:
            index = candidates.popleft()
            if self.waiting.pop(index, None) is not None:
                self.answers.append((index, answer))
                return True
        return False


class _Orphans:
    """Answers whose call has not come yet; a call takes each of them once, the oldest first.

    Each stands in a group of its own, behind a call that was written for it. Some hosts count their
    calls from `call_0` in every turn, so that under the same id may stand what another tool said.
    """

    def __init__(self, kept: Collection[int]) -> None:
        self._kept = kept
        self._by_id: defaultdict[str, dict[str, deque[_Group]]] = defaultdict(dict)
        self._by_name: defaultdict[str, deque[_Group]] = defaultdict(deque)

    def add(self, group: _Group, answer: ComposedTurn) -> None:
        """Keep an answer until its call comes."""
        if answer.call_id:
            by_tool = self._by_id[answer.call_id]
            by_tool.setdefault(answer.tool_name, deque()).append(group)
        else:
            self._by_name[answer.tool_name].append(group)

    def take(self, call: TurnCall) -> ComposedTurn | None:
        """Return the answer to a call, if there is one; unless kept, it leaves its group."""
        group = self._under_id(call)
        if group is None and (named := self._by_name.get(call.name)):
            group = named.popleft()
        if group is None:
            return None
        [(_, answer)] = group.answers
        if answer.seq not in self._kept:
            group.answers.clear()
        return answer

    def _under_id(self, call: TurnCall) -> _Group | None:
        """Return the answer of the call's id, of its tool or of one that is not named."""
        by_tool = self._by_id.get(call.call_id, {})
        tools = [call.name, ""] if call.name else [*by_tool][:1]
        name = next((each for each in tools if each in by_tool), None)
        if name is None:
            return None
        group = by_tool[name].popleft()
        if not by_tool[name]:
            del by_tool[name]
        return group

    def forget_names(self) -> None:
        """Leave answers that have no id to themselves: a call of later turns is another one."""
        self._by_name.clear()


class _Pairing:
    """A conversation being put in order."""

    def __init__(self, kept: Collection[int]) -> None:
        self._kept = kept
        self._groups: list[_Group] = []
        self._open: _Group | None = None
        self._orphans = _Orphans(kept)
        self._closed: dict[str, TurnCall] = {}
        self._ids: set[str] = set()
        self._names: dict[str, str] = {}
        self._numbers: defaultdict[str, int] = defaultdict(lambda: 1)

    def add(self, turn: ComposedTurn) -> None:
        """Take the next turn of the history."""
        if turn.role == "tool":
            self._answer(turn)
            return
        if turn.role != "system":
            # What the system says stands behind the answers to calls that are open.
            self._close(turn)
        if turn.role == "user":
            self._orphans.forget_names()
        group = _Group(turn)
        self._groups.append(group)
        if turn.calls:
            group.expect_answers()
            self._names |= {call.call_id: call.name for call in turn.calls}
            self._open = group

    def close(self) -> None:
        """Answer the calls that are open at the end, as if somebody went on."""
        if self._open is not None:
            self._close(self._open.turn)

    def turns(self) -> Iterator[ComposedTurn]:
        """Return all of them, in order."""
        if self._open is not None:
            self._take_orphans(self._open)
        for group in self._groups:
            if group.is_written and not group.answers:
                # The answer that the turn was written for has found its call.
                continue
            calls = {
                index: self._under_own_id(call)
                for index, call in enumerate(group.turn.calls)
                if index not in group.left_out
            }
            yield _calling(group.turn, tuple(calls.values()))
            for index, answer in group.answers:
                yield _answering(answer, calls[index])

    def _under_own_id(self, call: TurnCall) -> TurnCall:
        """Return a call under an id that no other one has."""
        unique = call.call_id
        while unique in self._ids:
            self._numbers[call.call_id] += 1
            unique = f"{call.call_id}-{self._numbers[call.call_id]}"
        self._ids.add(unique)
        return call if unique == call.call_id else replace(call, call_id=unique)

    def _answer(self, turn: ComposedTurn) -> None:
        if self._open is not None and self._open.take(turn):
            return
        # What it was called with is known if it only came too late.
        late = self._late(turn)
        recorded = None if late else turn.recorded_call
        name = turn.tool_name or self._names.get(turn.call_id) or UNKNOWN_TOOL
        call = late or recorded or TurnCall(turn.call_id or "call", name, {})
        code, reason = _LATE if late else _NO_CALL
        calling: ComposedTurn = Turn(
            role="assistant",
            items=() if recorded else (Invented("call", code, reason, turn.seq),),
            origin=turn.origin,
            seq=turn.seq,
            calls=(call,),
        )
        group = _Group(calling, [(0, turn)], is_written=True)
        self._groups.append(group)
        if late is None:
            self._orphans.add(group, turn)

    def _late(self, answer: ComposedTurn) -> TurnCall | None:
        """Take the closed call that is answered, unless another tool's is of the same id."""
        call = self._closed.get(answer.call_id)
        if call is None or (call.name and answer.tool_name not in ("", call.name)):
            return None
        return self._closed.pop(answer.call_id)

    def _close(self, following: ComposedTurn) -> None:
        """Answer the calls that are open when somebody goes on."""
        if self._open is None:
            return
        group, self._open = self._open, None
        self._take_orphans(group)
        for index, call in group.waiting.items():
            self._closed[call.call_id] = call
            answer: ComposedTurn = Turn(
                role="tool",
                items=(Invented("answer", *_NO_ANSWER, group.turn.seq), TextItem("", NO_RESULT)),
                origin=group.turn.origin,
                seq=following.seq,
                call_id=call.call_id,
                tool_name=call.name,
                is_error=True,
            )
            group.answers.append((index, answer))
        group.waiting.clear()

    def _take_orphans(self, group: _Group) -> None:
        """Answer the calls of a turn with what was stored before it."""
        early = [
            (index, answer)
            for index, call in group.waiting.items()
            if (answer := self._orphans.take(call)) is not None
        ]
        for index, _ in early:
            del group.waiting[index]
        group.left_out = {index for index, answer in early if answer.seq in self._kept}
        group.answers[:0] = [each for each in early if each[0] not in group.left_out]


def _calling(turn: ComposedTurn, calls: tuple[TurnCall, ...]) -> ComposedTurn:
    if calls == turn.calls:
        return turn
    notes = [LeftOut("", "call", *_ANSWERED_BEFORE)] * (len(turn.calls) - len(calls))
    return replace(turn, calls=calls, items=(*turn.items, *notes))


def _answering(turn: ComposedTurn, call: TurnCall) -> ComposedTurn:
    if turn.call_id == call.call_id and turn.tool_name:
        return turn
    return replace(turn, call_id=call.call_id, tool_name=turn.tool_name or call.name)


def paired(
    turns: Iterable[ComposedTurn], *, kept: Collection[int] = (), closes: bool = False
) -> Sequence[ComposedTurn]:
    """Return the turns of a history as a conversation that providers take.

    Args:
        turns: In the order of their `seq`.
        kept: The `seq` of answers that stay behind the calls that were written for them.
        closes: Whether calls that are still open at the end are answered as well.

    Returns:
        The same turns, with every answer behind its call, a call before every answer that has none,
        and an answer for every call that has none when somebody goes on. What is added has the
        `seq` of the turn it is for.
    """
    pairing = _Pairing(kept)
    for turn in turns:
        pairing.add(turn)
    if closes:
        pairing.close()
    return tuple(pairing.turns())


def places(turns: Iterable[Turn[_Item]]) -> Iterator[int]:
    """Yield for each turn of a conversation the `seq` from which on it stands there."""
    place = 0
    for turn in turns:
        if turn.role != "tool":
            place = turn.seq or 0
        # An answer that was stored before its call has its place behind it.
        yield max(place, turn.seq or 0)


def orphans_in(turns: Iterable[ComposedTurn]) -> tuple[int, ...]:
    """Return the `seq` of answers, in order, that stand behind a call that was written for them."""
    return tuple(
        answer.seq
        for calling, answer in pairwise(turns)
        if answer.seq is not None and answer.seq == calling.seq and _is_written_for(calling, answer)
    )


def _is_written_for(calling: ComposedTurn, answer: ComposedTurn) -> bool:
    """Return whether a turn was written for the answer behind it, which had no call."""
    if answer.recorded_call is not None:
        return len(calling.calls) == 1 and not calling.items
    notes = (item for item in calling.items if isinstance(item, Invented))
    return any(note.code == _NO_CALL[0] for note in notes)
