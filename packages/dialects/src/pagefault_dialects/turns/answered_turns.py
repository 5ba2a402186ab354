"""Turns with the answers to their calls, and answers that were stored before their call."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    SyntheticNote,
    TurnCall,
    in_entry,
    placed_calls,
)
from pagefault_dialects.turns.known_calls import KnownCalls


class PrefixChangedError(Exception):
    """Raised if a call matches an answer in a part of the history that is final.

    Its answer would have to move there, and renderings of that part would change.
    """


@dataclass(slots=True)
class AnsweredTurn:
    """A turn, and the answers to its calls."""

    turn: ComposedTurn
    answers: list[tuple[int, ComposedTurn]] = field(default_factory=list)
    """The answers, each with the index of its call."""
    waiting: dict[int, TurnCall] = field(default_factory=dict)
    """The calls without an answer, by index."""
    by_id: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    """The indexes of calls by id; some may be answered."""
    by_name: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    """The indexes of calls by tool; some may be answered."""
    is_written: bool = False
    """True if the turn was not stored, and only has the call of an early answer."""
    left_out: set[int] = field(default_factory=set)
    """The indexes of calls that are left out, since another turn has their answer."""

    def expect_answers(self, start: int = 0) -> None:
        """Add the calls of the turn, from an index on, to the calls that wait for an answer."""
        for index, call in enumerate(self.turn.calls[start:], start):
            self.waiting[index] = call
            self.by_id[call.call_id].append(index)
            self.by_name[call.name].append(index)

    def take(self, answer: ComposedTurn) -> TurnCall | None:
        """Add an answer, and return its call; `None` if no waiting call fits.

        An answer to an approval belongs to the call with the same approval id, any other answer to
        the call with the same id. An answer without an id belongs to the first waiting call of its
        tool; without an id and a tool, it belongs to the first waiting call.
        """
        if answer.approval_id:
            waiting = self.waiting.items()
            candidates = deque(
                index for index, call in waiting if call.approval_id == answer.approval_id
            )
        elif answer.call_id:
            candidates = self.by_id.get(answer.call_id) or deque()
        elif answer.tool_name:
            candidates = self.by_name.get(answer.tool_name) or deque()
        else:
            candidates = deque([*self.waiting][:1])
        while candidates:
            index = candidates.popleft()
            if (call := self.waiting.pop(index, None)) is not None:
                self.answers.append((index, answer))
                return call
        return None

    def repeats(self, turn: ComposedTurn) -> bool:
        """Return whether a turn repeats a call that waits for its answer."""
        return any(map(self._is_waiting, turn.calls))

    def join(self, turn: ComposedTurn) -> None:
        """Add the items and calls of another turn.

        Items at its beginning that equal those of this turn, and calls that still wait, are not
        added again.
        """
        calls = tuple(call for call in placed_calls([turn]) if not self._is_waiting(call))
        items = turn.items[_count_equal_items(self.turn.items, turn.items) :]
        if not calls and not items:
            return
        # The joined turn gets the later `seq`: a client that read up to the earlier one lacks the
        # new part.
        own_items = (in_entry(item, self.turn.seq) for item in self.turn.items)
        all_calls = (*placed_calls([self.turn]), *calls)
        start = len(self.turn.calls)
        self.turn = replace(self.turn, items=(*own_items, *items), calls=all_calls, seq=turn.seq)
        self.expect_answers(start)

    def _is_waiting(self, call: TurnCall) -> bool:
        indexes = self.by_id.get(call.call_id, ())
        return any(self.waiting.get(index) == call for index in indexes)

    def ordered_answers(self) -> Iterator[tuple[int, ComposedTurn]]:
        """Yield the answers, each with the index of its call.

        Answers of one entry keep their order. Answers with entries of their own are put between
        them, by the index of their call.
        """
        apart = deque(sorted((item for item in self.answers if item[1].is_apart), key=_index_of))
        for index, answer in self.answers:
            if answer.is_apart:
                continue
            while apart and apart[0][0] < index:
                yield apart.popleft()
            yield index, answer
        yield from apart


class EarlyAnswers:
    """Answers that were stored before their call. Each belongs to one later call, oldest first.

    Until its call is found, a turn that was not stored has a call for the answer. Some hosts count
    calls from `call_0` in every turn, so answers of different tools may have the same id.

    Args:
        kept: The `seq` of answers that also stay where they are when their call is found.
        calls: What is known of the calls, such as which ids have an early answer in the final part.
        nameless: The tools of the answers without an id in the final part.
        settles: Whether a call may fit an answer in the final part, which stays as it is; otherwise
            it is an error.
    """

    def __init__(
        self, kept: Collection[int], calls: KnownCalls, nameless: frozenset[str], *, settles: bool
    ) -> None:
        self._kept = kept
        self._settles = settles
        self._calls = calls
        self._nameless = nameless
        self._by_id: defaultdict[str, dict[str, deque[AnsweredTurn]]] = defaultdict(dict)
        self._by_name: defaultdict[str, deque[AnsweredTurn]] = defaultdict(deque)

    def seal(self) -> frozenset[str]:
        """Keep all answers where they are; return the tools of the answers without an id."""
        for call_id in (key for key, tools in self._by_id.items() if tools):
            self._calls.note(call_id, self._calls.of(call_id)._replace(is_early=True))
        return self._nameless | {name for name, groups in self._by_name.items() if groups}

    def add(self, group: AnsweredTurn, answer: ComposedTurn) -> None:
        """Add an answer that precedes its call."""
        if answer.call_id:
            by_tool = self._by_id[answer.call_id]
            by_tool.setdefault(answer.tool_name, deque()).append(group)
        else:
            self._by_name[answer.tool_name].append(group)

    def take(self, call: TurnCall) -> ComposedTurn | None:
        """Return the answer to a call, if there is one, and remove it from its turn.

        Answers in `kept` stay in their turn as well.

        Raises:
            PrefixChangedError: The answer is in the final part.
        """
        is_final = self._calls.of(call.call_id).is_early or call.name in self._nameless
        if is_final and not self._settles:
            raise PrefixChangedError
        group = self._take_by_id(call)
        if group is None and (groups := self._by_name.get(call.name)):
            group = groups.popleft()
        if group is None:
            return None
        [(_, answer)] = group.answers
        if answer.seq not in self._kept:
            group.answers.clear()
        return answer

    def _take_by_id(self, call: TurnCall) -> AnsweredTurn | None:
        """Take the turn of the answer with the call's id, if its tool is the same or unknown."""
        by_tool = self._by_id.get(call.call_id, {})
        tools = [call.name, ""] if call.name else [*by_tool][:1]
        name = next((tool for tool in tools if tool in by_tool), None)
        if name is None:
            return None
        group = by_tool[name].popleft()
        if not by_tool[name]:
            del by_tool[name]
        return group

    def forget_names(self) -> None:
        """Remove answers without an id: a call in a later turn cannot be theirs."""
        self._by_name.clear()
        self._nameless = frozenset()


def _count_equal_items(items: Sequence[Item], repeated: Sequence[Item]) -> int:
    """Return the number of equal items at the beginning of two turns."""
    pairs = zip(map(_without_pointer, items), map(_without_pointer, repeated), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _without_pointer(item: Item) -> Item:
    return item if isinstance(item, SyntheticNote) else replace(item, pointer="", seq=None)


def _index_of(answer: tuple[int, ComposedTurn]) -> int:
    return answer[0]
