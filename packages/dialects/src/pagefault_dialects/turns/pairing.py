"""Pairs tool calls and their results, in the order that every provider requires.

Providers require that a result directly follows the turn with its call, that every call has a
result before the user or the assistant continues, and that ids are unique. Histories may differ:
hosts store only results, store a result before the message with its call, store no result of a
call, or store it too late.

- A call is paired with an earlier result that has the call's id and no call of its own, unless that
  result is of another tool. Otherwise the call is paired with the next result after it.
- Missing calls and results are added, each with a note for the loss account. A result for which a
  call was added is an *orphan*.
- If a whole call is repeated in one message, or before its result, it is the same call: cumulative
  streams and some proxies send calls twice. If it is repeated after its result, it is a new call:
  some hosts restart the numbers of calls in each turn. A second result of a call is omitted.
- Results in entries of their own are put in the order of their calls, so that equal histories of
  parallel tools are rendered as equal bytes. Results in one message or list keep their order.

The added calls and results depend on earlier turns only, so appending to a history does not change
its rendering, with two exceptions. Results of open calls are inserted after their calls. An orphan
moves to its call when the call is stored, unless it is one of `pinned_results`: then the call is
omitted.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Omission,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    locate_calls,
)
from pagefault_dialects.targets.rules import code_and_reason
from pagefault_dialects.turns.call_index import CallIndex
from pagefault_dialects.turns.call_results import EarlyResults, TurnWithResults

NO_RESULT = "[No result of this call was recorded before the conversation went on.]"
"""The text of an added result, for the model."""

UNKNOWN_TOOL = "unknown_tool"
"""The tool of a call that names none."""

# Codes in the loss account, each with its reason.
_NO_CALL = code_and_reason("no-call")
_DUPLICATE = code_and_reason("duplicate-answer")
_LATE = code_and_reason("late-answer")
_ANSWERED_BEFORE = code_and_reason("answered-before")
_NO_ANSWER = code_and_reason("no-answer")


@dataclass(frozen=True, slots=True)
class PairingState:
    """The state of the pairing after the final turns of a history, from which it continues."""

    calls: CallIndex = field(default_factory=CallIndex)
    tools_without_ids: frozenset[str] = frozenset()
    """The tools of orphans without an id, which do not move to a later call any more."""
    notes: tuple[Omission, ...] = ()
    """Notes of omitted results, which the next turn gets."""
    last_entry: tuple[int | None, int] = (None, 0)
    """The `seq` of the last entry with calls, and the number of its calls."""


class Pairing:
    """Pairs the calls and results of a history, to which turns are added one by one.

    Args:
        pinned_results: The `seq` of orphans that stay after their added call.
        prefix: The state after the final turns, if the history does not begin with the first turn.
        freezes_turns: Whether turns become final as soon as no call waits for a result, even if
            later turns would change them. Orphans among them then do not move any more.
    """

    def __init__(
        self,
        pinned_results: Collection[int] = (),
        prefix: PairingState | None = None,
        *,
        freezes_turns: bool = False,
    ) -> None:
        prefix = prefix or PairingState()
        self._calls = prefix.calls.fork()
        self._pinned_results = pinned_results
        self._turns: list[TurnWithResults] = []
        self._open_turn: TurnWithResults | None = None
        """The last turn with calls, until the conversation continues after their results."""
        self._freezes_turns = freezes_turns
        self._early_results = EarlyResults(
            pinned_results, self._calls, prefix.tools_without_ids, freezes_turns=freezes_turns
        )
        self._notes = [*prefix.notes]
        self._last_entry = prefix.last_entry

    def can_seal_before(self, turn: ComposedTurn) -> bool:
        """Return whether the turns so far are final, given the next turn.

        They are final if no call waits for a result, the last turn is a result or the user's, and
        the next turn begins a step of the assistant. A result without a call begins a step, too.
        With `freezes_turns`, it is enough that no call waits for a result.
        """
        if (
            not self._turns
            or turn.continues_turn
            or not (self._freezes_turns or self._begins_step(turn))
        ):
            return False
        last = self._turns[-1]
        if self._open_turn is not None and (
            self._open_turn.waiting_calls or self._open_turn is not last
        ):
            return False
        return self._freezes_turns or bool(last.results) or last.turn.role == "user"

    def _begins_step(self, turn: ComposedTurn) -> bool:
        """Return whether a turn begins a step: content or calls of the assistant, or a result."""
        if turn.role == "tool":
            is_omitted = self._calls.get_facts(turn.call_id).is_denied or self._is_duplicate(turn)
            return not turn.approval_id and not is_omitted
        texts = (item.text for item in turn.items if isinstance(item, TextItem))
        has_content = bool(turn.calls) or any(text.strip() for text in texts)
        return turn.role == "assistant" and has_content

    def seal(self) -> tuple[Sequence[ComposedTurn], PairingState]:
        """Return the turns so far, which are final, and the state to continue from."""
        turns = tuple(self._pop_turns())
        tools_without_ids = self._early_results.seal()
        notes = tuple(self._notes)
        return turns, PairingState(
            self._calls.compact(), tools_without_ids, notes, self._last_entry
        )

    def add(self, turn: ComposedTurn) -> None:
        """Add the next turn of the history.

        Raises:
            PrefixChangedError: The turn has a call whose result is among the final turns of
                `prefix`.
        """
        if turn.role == "tool":
            self._add_result(turn)
            return
        turn = _remove_repeated_calls(self._set_entry_positions(turn))
        if turn.role != "system":
            turn = self._add_notes(turn)
        if self._open_turn is not None and self._open_turn.repeats_waiting_call(turn):
            self._open_turn.merge(turn)
            self._take_early_results(self._open_turn)
            return
        if turn.role != "system":
            # After a turn of the system, calls stay open: their results may still follow.
            self._close_calls(turn)
        if turn.role == "user":
            self._early_results.forget_results_without_ids()
        added = TurnWithResults(turn)
        self._turns.append(added)
        if turn.calls:
            added.expect_results()
            for call in turn.calls:
                facts = self._calls.get_facts(call.call_id)
                self._calls.set_facts(call.call_id, facts._replace(tool_name=call.name))
            self._open_turn = added
            self._take_early_results(added)

    def close(self) -> None:
        """Add a note in place of the result to each call that is open at the end."""
        if self._open_turn is not None:
            self._close_calls(self._open_turn.turn)

    def take_turns(self) -> Sequence[ComposedTurn]:
        """Return the turns in order, and remove them from the pairing."""
        turns = [*self._pop_turns()]
        if turns:
            # No turn follows that could get the notes of the last omitted results.
            turns[-1] = replace(turns[-1], items=(*turns[-1].items, *self._notes))
        return tuple(turns)

    def _pop_turns(self) -> Iterator[ComposedTurn]:
        # Turns are freed one by one, since freeing a long history at once blocks all threads.
        self._turns.reverse()
        while self._turns:
            paired = self._turns.pop()
            if paired.is_added and not paired.results:
                # The result has moved to its own call.
                continue
            tools = {index: result.tool_name for index, result in paired.results}
            # If calls are omitted, the other calls keep their positions in the entry.
            all_calls = locate_calls([paired.turn]) if paired.omitted_calls else paired.turn.calls
            calls = {
                index: self._make_id_unique(
                    call if call.name else replace(call, name=tools.get(index) or UNKNOWN_TOOL)
                )
                for index, call in enumerate(all_calls)
                if index not in paired.omitted_calls
            }
            yield _replace_calls(paired.turn, tuple(calls.values()))
            for index, result in paired.sort_results():
                # Providers compare the id and the name of a result with those of the call.
                call_id, name = calls[index].call_id, calls[index].name
                is_same = (result.call_id, result.tool_name) == (call_id, name)
                yield result if is_same else replace(result, call_id=call_id, tool_name=name)

    def _set_entry_positions(self, turn: ComposedTurn) -> ComposedTurn:
        """Return a turn whose calls have an `entry_position`, if that differs from their index.

        It differs if an earlier turn has calls of the same entry, or if a call is repeated and will
        be removed.
        """
        if not turn.calls or turn.seq is None:
            return turn
        seq, count = self._last_entry
        start = count if seq == turn.seq else 0
        last_seq, last_index = turn.calls[-1].entry_position or (
            turn.seq,
            start + len(turn.calls) - 1,
        )
        self._last_entry = (last_seq, last_index + 1)
        if start == 0 and len({call.call_id for call in turn.calls}) == len(turn.calls):
            return turn
        calls = (
            replace(call, entry_position=call.entry_position or (turn.seq, index))
            for index, call in enumerate(turn.calls, start)
        )
        return replace(turn, calls=tuple(calls))

    def _make_id_unique(self, call: TurnCall) -> TurnCall:
        """Return a call with a number after its id, if an earlier call has the id already."""
        call_id = call.call_id
        while self._calls.get_facts(call_id).is_taken:
            facts = self._calls.get_facts(call.call_id)
            self._calls.set_facts(call.call_id, facts._replace(call_count=facts.call_count + 1))
            call_id = f"{call.call_id}-{facts.call_count + 1}"
        self._calls.set_facts(call_id, self._calls.get_facts(call_id)._replace(is_taken=True))
        return call if call_id == call.call_id else replace(call, call_id=call_id)

    def _add_result(self, turn: ComposedTurn) -> None:
        """Add a result after its call, or after an added call. A duplicate becomes only a note."""
        if turn.approval_id and not turn.is_error:
            # The user allowed the call, which still waits for its result.
            omitted = (item for item in turn.items if isinstance(item, Omission))
            self._notes.extend(replace(item, seq=turn.seq) for item in omitted)
            return
        if self._open_turn is not None and (call := self._open_turn.add_result(turn)) is not None:
            self._record_result(call.call_id, call.name)
            if turn.approval_id:
                facts = self._calls.get_facts(call.call_id)
                self._calls.set_facts(call.call_id, facts._replace(is_denied=True))
            return
        late_call = self._take_closed_call(turn)
        if turn.is_error and self._calls.get_facts(turn.call_id).is_denied:
            # SDKs send an error as the result of a denied call, after the denial itself.
            return
        if late_call is None and self._is_duplicate(turn):
            self._notes.append(_note_duplicate(turn))
            return
        self._record_result(turn.call_id, turn.tool_name)
        self._add_result_with_call(turn, late_call)

    def _add_result_with_call(self, turn: ComposedTurn, late_call: TurnCall | None) -> None:
        """Add a result after an added turn with its call.

        Args:
            turn: The result.
            late_call: The closed call that the result belongs to, if it is late. The call is
                repeated; otherwise, the added call is the one that was recorded with the result, or
                has no arguments.
        """
        recorded = None if late_call else turn.recorded_call
        name = turn.tool_name or self._calls.get_facts(turn.call_id).tool_name or UNKNOWN_TOOL
        call = late_call or recorded or TurnCall(turn.call_id or "call", name, {})
        code, reason = _LATE if late_call else _NO_CALL
        added_turn: ComposedTurn = Turn(
            role="assistant",
            items=() if recorded else (SyntheticNote("call", code, reason, turn.seq),),
            origin=turn.origin,
            seq=turn.seq,
            calls=(call,),
        )
        if late_call is not None and late_call.entry_position is not None:
            turn = replace(turn, late_call_seq=late_call.entry_position[0])
        added = TurnWithResults(added_turn, [(0, turn)], is_added=True)
        self._turns.append(added)
        if late_call is None:
            self._early_results.add(added, turn)

    def _record_result(self, call_id: str, tool_name: str) -> None:
        """Record that a call id has a result of a tool."""
        facts = self._calls.get_facts(call_id)
        if tool_name not in facts.tools_with_results:
            tools = (*facts.tools_with_results, tool_name)
            self._calls.set_facts(call_id, facts._replace(tools_with_results=tools))

    def _is_duplicate(self, result: ComposedTurn) -> bool:
        """Return whether the call of a result has a result already.

        A result of another tool, or with a higher `answer_number`, belongs to a later call.
        """
        if result.approval_id:
            return True
        tools = self._calls.get_facts(result.call_id).tools_with_results
        if not result.call_id or not tools or result.answer_number > 1:
            return False
        return not result.tool_name or "" in tools or result.tool_name in tools

    def _add_notes(self, turn: ComposedTurn) -> ComposedTurn:
        """Return a turn that begins with the notes of the results omitted before it."""
        if not self._notes:
            return turn
        notes, self._notes = self._notes, []
        return replace(turn, items=(*notes, *turn.items))

    def _take_closed_call(self, result: ComposedTurn) -> TurnCall | None:
        """Return the closed call that a late result belongs to; `None` if there is none.

        The call is returned only once, so a second late result is a duplicate.
        """
        call = self._calls.closed_calls.get(result.call_id)
        if call is None or (call.name and result.tool_name not in ("", call.name)):
            return None
        self._calls.closed_calls[result.call_id] = None
        return call

    def _close_calls(self, following: ComposedTurn) -> None:
        """Add a note in place of the result to each open call, before the turn that follows."""
        if self._open_turn is None:
            return
        closed, self._open_turn = self._open_turn, None
        for index, call in closed.waiting_calls.items():
            seq = closed.turn.seq
            position = call.entry_position or (None if seq is None else (seq, index))
            self._calls.closed_calls[call.call_id] = replace(call, entry_position=position)
            result: ComposedTurn = Turn(
                role="tool",
                items=(SyntheticNote("answer", *_NO_ANSWER, seq), TextItem("", NO_RESULT)),
                origin=closed.turn.origin,
                seq=following.seq,
                call_id=call.call_id,
                tool_name=call.name,
                is_error=True,
            )
            closed.results.append((index, result))
        closed.waiting_calls.clear()

    def _take_early_results(self, turn: TurnWithResults) -> None:
        """Move earlier results to the calls of a turn that wait for them.

        Pinned results do not move: their calls are omitted.
        """
        early = [
            (index, result)
            for index, call in turn.waiting_calls.items()
            if (result := self._early_results.take_result(call)) is not None
        ]
        for index, _ in early:
            del turn.waiting_calls[index]
        turn.omitted_calls |= {
            index for index, result in early if result.seq in self._pinned_results
        }
        turn.results[:0] = [item for item in early if item[0] not in turn.omitted_calls]


def _remove_repeated_calls(turn: ComposedTurn) -> ComposedTurn:
    """Return a turn without repeated calls, in which different calls with one id are adjacent."""
    if len({call.call_id for call in turn.calls}) == len(turn.calls):
        return turn
    by_id: defaultdict[str, list[TurnCall]] = defaultdict(list)
    for call in turn.calls:
        if call not in by_id[call.call_id]:
            by_id[call.call_id].append(call)
    return replace(turn, calls=tuple(chain.from_iterable(by_id.values())))


def _note_duplicate(result: ComposedTurn) -> Omission:
    """Return the note that a second result of a call is omitted."""
    pointers = (item.pointer for item in result.items if not isinstance(item, SyntheticNote))
    note = Omission(next(pointers, ""), "answer", *_DUPLICATE, restore=f"GET {result.origin}")
    return replace(note, seq=result.seq)


def _replace_calls(turn: ComposedTurn, calls: tuple[TurnCall, ...]) -> ComposedTurn:
    """Return a turn with other calls, and a note for each call that is omitted."""
    if calls == turn.calls:
        return turn
    notes = [Omission("", "call", *_ANSWERED_BEFORE)] * (len(turn.calls) - len(calls))
    return replace(turn, calls=calls, items=(*turn.items, *notes))


def pair_calls(
    turns: Iterable[ComposedTurn],
    *,
    pinned_results: Collection[int] = (),
    closes_calls: bool = False,
) -> Sequence[ComposedTurn]:
    """Return the turns of a history as a conversation that providers accept.

    Args:
        turns: The turns, in the order of their `seq`.
        pinned_results: The `seq` of results that stay after the call that was added for them.
        closes_calls: Whether calls without a result at the end get a note in its place.

    Returns:
        The same turns, with every result after its call. Calls are added for results without a
        call, and have the `seq` of the result. Notes are added for calls without a result if a
        later turn continues the conversation.
    """
    pairing = Pairing(pinned_results)
    for turn in turns:
        pairing.add(turn)
    if closes_calls:
        pairing.close()
    return pairing.take_turns()


def find_position_seqs(turns: Iterable[Turn[Any]]) -> Iterator[int]:
    """Yield for each turn of a conversation the `seq` of the entry that fixed its position.

    That is the turn's own entry. Only an early result has its position since its call was stored,
    so a client that had read the history up to then lacks the result at this position.
    """
    call_seq = 0
    for turn in turns:
        if turn.role != "tool":
            call_seq = turn.seq or 0
        yield max(call_seq, turn.seq or 0)


def find_orphans(turns: Iterable[ComposedTurn]) -> tuple[int, ...]:
    """Return the `seq` of each result in a paired conversation for which a call was added."""
    return tuple(
        result.seq
        for before, result in pairwise(turns)
        if result.seq is not None and result.seq == before.seq and _is_added_for(before, result)
    )


def _is_added_for(before: ComposedTurn, result: ComposedTurn) -> bool:
    """Return whether the turn before a result was added, with a call for the result."""
    if result.recorded_call is not None:
        return len(before.calls) == 1 and not before.items
    notes = (item for item in before.items if isinstance(item, SyntheticNote))
    return any(note.code == _NO_CALL[0] for note in notes)
