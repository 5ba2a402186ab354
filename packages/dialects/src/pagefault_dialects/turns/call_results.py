"""Calls and their results while a history is paired: open calls, and results without a call.

`Pairing` in `pairing.py` uses both classes. Turns of a history are *final* if they were already
returned, so that later turns may not change them any more.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import eq, itemgetter

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    SyntheticNote,
    TurnCall,
    locate_calls,
    with_entry_seq,
)
from pagefault_dialects.turns.call_index import CallIndex


class PrefixChangedError(Exception):
    """Raised if a new turn would change final turns of the history.

    An example is a call whose result is among the final turns: the result would have to move after
    the call.
    """


@dataclass(slots=True)
class TurnWithResults:
    """A turn, the results of its calls, and its calls that have no result yet."""

    turn: ComposedTurn
    results: list[tuple[int, ComposedTurn]] = field(default_factory=list)
    """The results, each with the index of its call."""
    waiting_calls: dict[int, TurnCall] = field(default_factory=dict)
    """The calls without a result, by index."""
    indexes_by_id: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    """The indexes of calls by call id, also of calls that have a result by now."""
    indexes_by_tool: defaultdict[str, deque[int]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    """The indexes of calls by tool, also of calls that have a result by now."""
    is_added: bool = False
    """True if the turn is not in the history, and was added for a result without a call."""
    omitted_calls: set[int] = field(default_factory=set)
    """The indexes of calls that are omitted because their result stays after another turn."""

    def expect_results(self, start: int = 0) -> None:
        """Let the calls of the turn wait for results, from the call with the index `start` on."""
        for index, call in enumerate(self.turn.calls[start:], start):
            self.waiting_calls[index] = call
            self.indexes_by_id[call.call_id].append(index)
            self.indexes_by_tool[call.name].append(index)

    def add_result(self, result: ComposedTurn) -> TurnCall | None:
        """Add a result to the call that waits for it.

        The response to an approval request belongs to the call with the same approval id, and a
        result with a call id to the call with that id. A result without an id belongs to the first
        waiting call of its tool; if it has no tool either, to the first waiting call.

        Returns:
            The call; `None` if no call waits for the result, which is not added then.
        """
        if result.approval_id:
            candidates = deque(
                index
                for index, call in self.waiting_calls.items()
                if call.approval_id == result.approval_id
            )
        elif result.call_id:
            candidates = self.indexes_by_id.get(result.call_id) or deque()
        elif result.tool_name:
            candidates = self.indexes_by_tool.get(result.tool_name) or deque()
        else:
            candidates = deque([*self.waiting_calls][:1])
        while candidates:
            index = candidates.popleft()
            if (call := self.waiting_calls.pop(index, None)) is not None:
                self.results.append((index, result))
                return call
        return None

    def repeats_waiting_call(self, turn: ComposedTurn) -> bool:
        """Return whether a later turn repeats a call that waits for its result."""
        return any(map(self._is_waiting, turn.calls))

    def merge(self, turn: ComposedTurn) -> None:
        """Add the items and calls of a turn that repeats calls of this turn.

        Its first items are not added if they equal those of this turn, and its calls are not added
        if they wait for a result here.
        """
        calls = tuple(call for call in locate_calls([turn]) if not self._is_waiting(call))
        items = turn.items[_count_equal_items(self.turn.items, turn.items) :]
        if not calls and not items:
            return
        # The merged turn gets the later `seq`, because a client that has read up to the earlier
        # `seq` lacks the new items.
        earlier_items = (with_entry_seq(item, self.turn.seq) for item in self.turn.items)
        all_calls = (*locate_calls([self.turn]), *calls)
        start = len(self.turn.calls)
        self.turn = replace(
            self.turn, items=(*earlier_items, *items), calls=all_calls, seq=turn.seq
        )
        self.expect_results(start)

    def _is_waiting(self, call: TurnCall) -> bool:
        """Return whether an equal call of this turn waits for its result."""
        indexes = self.indexes_by_id.get(call.call_id, ())
        return any(self.waiting_calls.get(index) == call for index in indexes)

    def sort_results(self) -> Iterator[tuple[int, ComposedTurn]]:
        """Yield the results, each with the index of its call.

        Results that were stored together, in one message or list, keep their order. Results that
        were stored alone (`Turn.is_stored_alone`) are put between them in the order of their calls.
        """
        stored_alone = deque(
            sorted((item for item in self.results if item[1].is_stored_alone), key=itemgetter(0))
        )
        for index, result in self.results:
            if result.is_stored_alone:
                continue
            while stored_alone and stored_alone[0][0] < index:
                yield stored_alone.popleft()
            yield index, result
        yield from stored_alone


class EarlyResults:
    """Results that were stored before their call. A later call takes the oldest result that fits.

    Until its call is found, a result follows an *added turn*, which has a call made for the result.
    Some hosts number calls from `call_0` in every turn, so results of different tools may have the
    same id.

    Args:
        pinned_results: The `seq` of results that stay after their added turn, even if their call
            is found.
        calls: The calls of the history. `CallFacts.has_fixed_result` tells whether a result among
            the final turns has the id of a call.
        tools_without_ids: The tools of the results among the final turns that have no call id.
        freezes_turns: Whether a call for which there is a result among the final turns is accepted.
            Otherwise `PrefixChangedError` is raised.
    """

    def __init__(
        self,
        pinned_results: Collection[int],
        calls: CallIndex,
        tools_without_ids: frozenset[str],
        *,
        freezes_turns: bool,
    ) -> None:
        self._pinned_results = pinned_results
        self._freezes_turns = freezes_turns
        self._calls = calls
        self._tools_without_ids = tools_without_ids
        self._by_id: defaultdict[str, dict[str, deque[TurnWithResults]]] = defaultdict(dict)
        self._by_tool: defaultdict[str, deque[TurnWithResults]] = defaultdict(deque)

    def seal(self) -> frozenset[str]:
        """Make the results final: they stay after their added turns.

        Returns:
            The tools of the final results that have no call id.
        """
        for call_id in (key for key, tools in self._by_id.items() if tools):
            facts = self._calls.get_facts(call_id)
            self._calls.set_facts(call_id, facts._replace(has_fixed_result=True))
        return self._tools_without_ids | {tool for tool, turns in self._by_tool.items() if turns}

    def add(self, added_turn: TurnWithResults, result: ComposedTurn) -> None:
        """Add a result without a call, and the turn that was added for it."""
        if result.call_id:
            by_tool = self._by_id[result.call_id]
            by_tool.setdefault(result.tool_name, deque()).append(added_turn)
        else:
            self._by_tool[result.tool_name].append(added_turn)

    def take_result(self, call: TurnCall) -> ComposedTurn | None:
        """Return the result of a call, and remove it from its added turn; `None` if there is none.

        A pinned result stays in its added turn as well.

        Raises:
            PrefixChangedError: The result is among the final turns.
        """
        is_final = (
            self._calls.get_facts(call.call_id).has_fixed_result
            or call.name in self._tools_without_ids
        )
        if is_final and not self._freezes_turns:
            raise PrefixChangedError
        added_turn = self._take_by_id(call)
        if added_turn is None and (added_turns := self._by_tool.get(call.name)):
            added_turn = added_turns.popleft()
        if added_turn is None:
            return None
        [(_, result)] = added_turn.results
        if result.seq not in self._pinned_results:
            added_turn.results.clear()
        return result

    def _take_by_id(self, call: TurnCall) -> TurnWithResults | None:
        """Remove the added turn of a result with the id of a call, and return it.

        The result and the call have the same tool, or the tool of one of them is unknown.
        """
        by_tool = self._by_id.get(call.call_id, {})
        tools = [call.name, ""] if call.name else [*by_tool][:1]
        name = next((tool for tool in tools if tool in by_tool), None)
        if name is None:
            return None
        added_turn = by_tool[name].popleft()
        if not by_tool[name]:
            del by_tool[name]
        return added_turn

    def forget_results_without_ids(self) -> None:
        """Remove the results without a call id.

        They can only belong to calls before the next turn of the user.
        """
        self._by_tool.clear()
        self._tools_without_ids = frozenset()


def _count_equal_items(items: Sequence[Item], repeated: Sequence[Item]) -> int:
    """Return the number of items at the beginning of two turns that are equal but for pointers."""
    are_equal = map(eq, map(_remove_pointer, items), map(_remove_pointer, repeated))
    return sum(1 for _ in takewhile(bool, are_equal))


def _remove_pointer(item: Item) -> Item:
    return item if isinstance(item, SyntheticNote) else replace(item, pointer="", seq=None)
