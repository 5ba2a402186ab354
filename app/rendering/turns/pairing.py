"""Calls and answers brought together, as every provider demands of a conversation.

An answer stands directly behind the turn that made its call, every call has an answer before the
user or the assistant goes on, and no id is used twice. A history need not be like that: hosts that
store results only, calls that never came back, answers that came too late. What is missing is
written here, from what came before and never from what comes after, so that appending changes
nothing that was rendered before. Only the answers of calls that are still open may come in between.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.models.conversation import Call, ComposedTurn, TextItem, Turn

NO_RESULT = "[No result of this call was recorded before the conversation went on.]"


@dataclass(slots=True)
class _Group:
    """A turn, and the answers to its calls.

    `waiting` has the calls without an answer by the id they have here; `by_id` and `by_name` lead
    there from what the history calls them. An id that is no longer waiting is passed over.
    """

    turn: ComposedTurn
    answers: list[ComposedTurn] = field(default_factory=list)
    waiting: dict[str, Call] = field(default_factory=dict)
    by_id: defaultdict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))
    by_name: defaultdict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))

    def expect(self, known_as: str, call: Call) -> None:
        """Wait for the answer to a call."""
        self.waiting[call.call_id] = call
        self.by_id[known_as].append(call.call_id)
        self.by_name[call.name].append(call.call_id)

    def called(self, answer: ComposedTurn) -> Call | None:
        """The call that is answered: by its id, else, without one, the first by the name."""
        known, name = (self.by_id, answer.call_id), (self.by_name, answer.tool_name)
        calls, wanted = known if answer.call_id else name
        candidates = calls.get(wanted) or deque()
        while candidates:
            call = self.waiting.pop(candidates.popleft(), None)
            if call is not None:
                return call
        return None


class _Pairing:
    """A conversation being put in order."""

    def __init__(self) -> None:
        self._groups: list[_Group] = []
        self._open: _Group | None = None
        self._closed: dict[str, Call] = {}
        self._used: set[str] = set()
        self._numbers: defaultdict[str, int] = defaultdict(lambda: 1)

    def add(self, turn: ComposedTurn) -> None:
        """Take the next turn of the history."""
        if turn.role == "tool":
            self._answer(turn)
            return
        if turn.role != "system":
            # What the system says stands behind the answers to calls that are open.
            self._close(turn)
        calls = tuple(replace(call, call_id=self._unique(call.call_id)) for call in turn.calls)
        group = _Group(replace(turn, calls=calls) if calls else turn)
        for known, call in zip(turn.calls, calls, strict=True):
            group.expect(known.call_id, call)
        self._groups.append(group)
        if calls:
            self._open = group

    def turns(self) -> Iterator[ComposedTurn]:
        """All of them, in order."""
        for group in self._groups:
            yield group.turn
            yield from group.answers

    def _answer(self, turn: ComposedTurn) -> None:
        call = self._open.called(turn) if self._open else None
        if call is not None and self._open is not None:
            self._open.answers.append(_answering(turn, call))
            return
        # What it was called with is known if it only came too late.
        late = self._closed.pop(turn.call_id, None)
        call_id = self._unique(turn.call_id or "call")
        call = replace(late, call_id=call_id) if late else Call(call_id, turn.tool_name, {})
        calling: ComposedTurn = Turn(
            role="assistant", items=(), origin=turn.origin, seq=turn.seq, calls=(call,)
        )
        self._groups.append(_Group(calling, [_answering(turn, call)]))

    def _close(self, following: ComposedTurn) -> None:
        """Answer the calls that are open when somebody goes on."""
        if self._open is None:
            return
        group, self._open = self._open, None
        known = {here: known_as for known_as, ids in group.by_id.items() for here in ids}
        for call in group.waiting.values():
            self._closed[known[call.call_id]] = call
            answer: ComposedTurn = Turn(
                role="tool",
                items=(TextItem("", NO_RESULT),),
                origin=group.turn.origin,
                seq=following.seq,
                call_id=call.call_id,
                tool_name=call.name,
                is_error=True,
            )
            group.answers.append(answer)
        group.waiting.clear()

    def _unique(self, call_id: str) -> str:
        unique = call_id
        while unique in self._used:
            self._numbers[call_id] += 1
            unique = f"{call_id}-{self._numbers[call_id]}"
        self._used.add(unique)
        return unique


def _answering(turn: ComposedTurn, call: Call) -> ComposedTurn:
    if turn.call_id == call.call_id and turn.tool_name:
        return turn
    return replace(turn, call_id=call.call_id, tool_name=turn.tool_name or call.name)


def paired(turns: Iterable[ComposedTurn]) -> Sequence[ComposedTurn]:
    """The turns of a history as a conversation that providers take.

    Args:
        turns: In the order of their `seq`.

    Returns:
        The same turns, with a call before every answer that has none, and an answer for every call
        that has none when somebody goes on. What is added has the `seq` of the turn it is for.
    """
    pairing = _Pairing()
    for turn in turns:
        pairing.add(turn)
    return tuple(pairing.turns())
