"""Pairing of calls and answers, as every provider requires it.

Providers require that an answer directly follows the turn with its call, that every call has an
answer before the user or the assistant continues, and that ids are unique. Histories may differ:
hosts store only results, store a result before the message with its call, never answer a call, or
answer too late. A call is paired with an earlier answer that has its id and no call, unless that
answer is of another tool. Otherwise it is paired with the next answer after it. Missing calls and
answers are added, each with a note for the loss account.

If a whole call is repeated in one message or before its answer, it is the same call: cumulative
streams and some proxies send calls twice. If it is repeated after its answer, it is a new call,
because some hosts restart the numbers of calls in each turn. A second answer to a call is left out.

Answers in separate entries are put in the order of their calls, so that equal histories of parallel
tools are rendered as equal bytes. Answers in one message or list keep their order.

Additions depend on earlier turns only, so appending to a history does not change its rendering.
There are two exceptions. Answers to open calls are inserted, and an answer without a call moves
after its call when that is stored. If the answer is in `kept`, it does not move, and the call is
left out instead.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import TypeVar

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Omission,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    placed_calls,
)
from pagefault_dialects.targets.rules import code_and_reason
from pagefault_dialects.turns.answered_turns import AnsweredTurn, EarlyAnswers
from pagefault_dialects.turns.known_calls import KnownCalls

_Item = TypeVar("_Item")

NO_RESULT = "[No result of this call was recorded before the conversation went on.]"

UNKNOWN_TOOL = "unknown_tool"

_NO_CALL = code_and_reason("no-call")
_DUPLICATE = code_and_reason("duplicate-answer")
_LATE = code_and_reason("late-answer")
_ANSWERED_BEFORE = code_and_reason("answered-before")
_NO_ANSWER = code_and_reason("no-answer")


@dataclass(frozen=True, slots=True)
class PairedPrefix:
    """The state of pairing after the final turns of a history."""

    calls: KnownCalls = field(default_factory=KnownCalls)
    nameless: frozenset[str] = frozenset()
    """The tools of answers without an id or a call, which do not move any more."""
    notes: tuple[Omission, ...] = ()
    """Notes of repeated answers, for the next turn."""
    entry: tuple[int | None, int] = (None, 0)
    """The last entry with calls, and the number of its calls."""


class Pairing:
    """The pairing of a conversation, from its beginning or after final turns.

    Args:
        kept: The `seq` of answers that do not move away from the calls that were added for them.
        prefix: The state after the final turns.
        settles: Whether turns are final as soon as no call waits for an answer. Earlier answers
            without a call then do not move any more.
    """

    def __init__(
        self,
        kept: Collection[int] = (),
        prefix: PairedPrefix | None = None,
        *,
        settles: bool = False,
    ) -> None:
        prefix = prefix or PairedPrefix()
        calls = prefix.calls.fork()
        self._calls = calls
        self._kept = kept
        self._groups: list[AnsweredTurn] = []
        self._open: AnsweredTurn | None = None
        self._settles = settles
        self._orphans = EarlyAnswers(kept, calls, prefix.nameless, settles=settles)
        self._notes = [*prefix.notes]
        self._entry = prefix.entry

    def is_sealed_by(self, turn: ComposedTurn) -> bool:
        """Return whether the turns so far are final if this is the next turn.

        They are final if no call waits for an answer, the last turn is an answer or the user's, and
        the next turn begins a step of the assistant. An answer without a call begins one as well.
        """
        if not self._groups or turn.joins or not (self._settles or self._begins_step(turn)):
            return False
        last = self._groups[-1]
        if self._open is not None and (self._open.waiting or self._open is not last):
            return False
        return self._settles or bool(last.answers) or last.turn.role == "user"

    def _begins_step(self, turn: ComposedTurn) -> bool:
        if turn.role == "tool":
            is_known = self._calls.of(turn.call_id).is_denied or self._is_repeated(turn)
            return not turn.approval_id and not is_known
        says = (item.text for item in turn.items if isinstance(item, TextItem))
        is_step = bool(turn.calls) or any(text.strip() for text in says)
        return turn.role == "assistant" and is_step

    def seal(self) -> tuple[Sequence[ComposedTurn], PairedPrefix]:
        """Return the final turns, and the state after them."""
        turns = tuple(self._take_turns())
        nameless = self._orphans.seal()
        notes = tuple(self._notes)
        return turns, PairedPrefix(self._calls.compacted(), nameless, notes, self._entry)

    def add(self, turn: ComposedTurn) -> None:
        """Add the next turn of the history."""
        if turn.role == "tool":
            self._add_answer(turn)
            return
        turn = _without_repeated_calls(self._place_calls(turn))
        if turn.role != "system":
            turn = self._with_notes(turn)
        if self._open is not None and self._open.repeats(turn):
            self._open.join(turn)
            self._take_orphans(self._open)
            return
        if turn.role != "system":
            # Open calls may still be answered after a turn of the system.
            self._close_calls(turn)
        if turn.role == "user":
            self._orphans.forget_names()
        group = AnsweredTurn(turn)
        self._groups.append(group)
        if turn.calls:
            group.expect_answers()
            for call in turn.calls:
                self._calls.note(
                    call.call_id, self._calls.of(call.call_id)._replace(name=call.name)
                )
            self._open = group
            self._take_orphans(group)

    def close(self) -> None:
        """Answer the calls that are open at the end."""
        if self._open is not None:
            self._close_calls(self._open.turn)

    def turns(self) -> Sequence[ComposedTurn]:
        """Return the turns in order, and remove them from the pairing."""
        turns = [*self._take_turns()]
        if turns:
            # There is no next turn for the notes of the last repeated answers.
            turns[-1] = replace(turns[-1], items=(*turns[-1].items, *self._notes))
        return tuple(turns)

    def _take_turns(self) -> Iterator[ComposedTurn]:
        # Groups are freed one by one, since freeing a long history at once blocks all threads.
        self._groups.reverse()
        while self._groups:
            group = self._groups.pop()
            if group.is_written and not group.answers:
                # The answer has moved to its own call.
                continue
            names = {index: answer.tool_name for index, answer in group.answers}
            group_calls = placed_calls([group.turn]) if group.left_out else group.turn.calls
            calls = {
                index: self._make_unique(_with_tool_name(call, names.get(index, "")))
                for index, call in enumerate(group_calls)
                if index not in group.left_out
            }
            yield _with_calls(group.turn, tuple(calls.values()))
            for index, answer in group.ordered_answers():
                yield _answer_call(answer, calls[index])

    def _place_calls(self, turn: ComposedTurn) -> ComposedTurn:
        """Return a turn with `TurnCall.place` set if its calls are not the first of their entry."""
        if not turn.calls or turn.seq is None:
            return turn
        seq, count = self._entry
        start = count if seq == turn.seq else 0
        last = turn.calls[-1].place or (turn.seq, start + len(turn.calls) - 1)
        self._entry = (last[0], last[1] + 1)
        if start == 0 and len({call.call_id for call in turn.calls}) == len(turn.calls):
            return turn
        calls = (
            replace(call, place=call.place or (turn.seq, index))
            for index, call in enumerate(turn.calls, start)
        )
        return replace(turn, calls=tuple(calls))

    def _make_unique(self, call: TurnCall) -> TurnCall:
        """Return a call with a unique id: its own, or that with a number."""
        unique = call.call_id
        while self._calls.of(unique).is_taken:
            facts = self._calls.of(call.call_id)
            self._calls.note(call.call_id, facts._replace(number=facts.number + 1))
            unique = f"{call.call_id}-{facts.number + 1}"
        self._calls.note(unique, self._calls.of(unique)._replace(is_taken=True))
        return call if unique == call.call_id else replace(call, call_id=unique)

    def _add_answer(self, turn: ComposedTurn) -> None:
        if turn.approval_id and not turn.is_error:
            # An approval does not answer the call, which still waits for its result.
            omitted = (item for item in turn.items if isinstance(item, Omission))
            self._notes.extend(replace(item, seq=turn.seq) for item in omitted)
            return
        if self._open is not None and (answered := self._open.take(turn)) is not None:
            self._note_answer(answered.call_id, answered.name)
            if turn.approval_id:
                facts = self._calls.of(answered.call_id)
                self._calls.note(answered.call_id, facts._replace(is_denied=True))
            return
        late = self._find_late_call(turn)
        if turn.is_error and self._calls.of(turn.call_id).is_denied:
            # SDKs append a result for a denial to the denial itself.
            return
        if late is None and self._is_repeated(turn):
            self._notes.append(_note_duplicate(turn))
            return
        self._note_answer(turn.call_id, turn.tool_name)
        recorded = None if late else turn.recorded_call
        name = turn.tool_name or self._calls.of(turn.call_id).name or UNKNOWN_TOOL
        call = late or recorded or TurnCall(turn.call_id or "call", name, {})
        code, reason = _LATE if late else _NO_CALL
        calling: ComposedTurn = Turn(
            role="assistant",
            items=() if recorded else (SyntheticNote("call", code, reason, turn.seq),),
            origin=turn.origin,
            seq=turn.seq,
            calls=(call,),
        )
        if late is not None and late.place is not None:
            turn = replace(turn, late_for=late.place[0])
        group = AnsweredTurn(calling, [(0, turn)], is_written=True)
        self._groups.append(group)
        if late is None:
            self._orphans.add(group, turn)

    def _note_answer(self, call_id: str, tool_name: str) -> None:
        facts = self._calls.of(call_id)
        if tool_name not in facts.answered_by:
            names = (*facts.answered_by, tool_name)
            self._calls.note(call_id, facts._replace(answered_by=names))

    def _is_repeated(self, answer: ComposedTurn) -> bool:
        """Return whether an answer is a second one, and not the answer to a later call."""
        if answer.approval_id:
            return True
        names = self._calls.of(answer.call_id).answered_by
        if not answer.call_id or not names or answer.answer_number > 1:
            return False
        return not answer.tool_name or "" in names or answer.tool_name in names

    def _with_notes(self, turn: ComposedTurn) -> ComposedTurn:
        """Return a turn with the notes of repeated answers before it."""
        if not self._notes:
            return turn
        notes, self._notes = self._notes, []
        return replace(turn, items=(*notes, *turn.items))

    def _find_late_call(self, answer: ComposedTurn) -> TurnCall | None:
        """Return the closed call that an answer is late for; `None` if that is of another tool."""
        call = self._calls.closed.get(answer.call_id)
        if call is None or (call.name and answer.tool_name not in ("", call.name)):
            return None
        self._calls.closed[answer.call_id] = None
        return call

    def _close_calls(self, following: ComposedTurn) -> None:
        """Add answers to the open calls, since the conversation continues with another turn."""
        if self._open is None:
            return
        group, self._open = self._open, None
        for index, call in group.waiting.items():
            seq = group.turn.seq
            place = call.place or (None if seq is None else (seq, index))
            self._calls.closed[call.call_id] = replace(call, place=place)
            answer: ComposedTurn = Turn(
                role="tool",
                items=(
                    SyntheticNote("answer", *_NO_ANSWER, group.turn.seq),
                    TextItem("", NO_RESULT),
                ),
                origin=group.turn.origin,
                seq=following.seq,
                call_id=call.call_id,
                tool_name=call.name,
                is_error=True,
            )
            group.answers.append((index, answer))
        group.waiting.clear()

    def _take_orphans(self, group: AnsweredTurn) -> None:
        """Answer the calls of a turn with earlier results."""
        early = [
            (index, answer)
            for index, call in group.waiting.items()
            if (answer := self._orphans.take(call)) is not None
        ]
        for index, _ in early:
            del group.waiting[index]
        group.left_out |= {index for index, answer in early if answer.seq in self._kept}
        group.answers[:0] = [item for item in early if item[0] not in group.left_out]


def _without_repeated_calls(turn: ComposedTurn) -> ComposedTurn:
    """Return a turn without repetitions of a call."""
    if len({call.call_id for call in turn.calls}) == len(turn.calls):
        return turn
    kept: defaultdict[str, list[TurnCall]] = defaultdict(list)
    for call in turn.calls:
        if call not in kept[call.call_id]:
            kept[call.call_id].append(call)
    return replace(turn, calls=tuple(chain.from_iterable(kept.values())))


def _note_duplicate(answer: ComposedTurn) -> Omission:
    """Return the note of a repeated answer."""
    pointers = (item.pointer for item in answer.items if not isinstance(item, SyntheticNote))
    note = Omission(next(pointers, ""), "answer", *_DUPLICATE, restore=f"GET {answer.origin}")
    return replace(note, seq=answer.seq)


def _with_tool_name(call: TurnCall, tool_name: str) -> TurnCall:
    """Return a call with the name of its tool; if it has none, with that of its answer."""
    return call if call.name else replace(call, name=tool_name or UNKNOWN_TOOL)


def _with_calls(turn: ComposedTurn, calls: tuple[TurnCall, ...]) -> ComposedTurn:
    """Return a turn with these calls, and a note for each call that is left out."""
    if calls == turn.calls:
        return turn
    notes = [Omission("", "call", *_ANSWERED_BEFORE)] * (len(turn.calls) - len(calls))
    return replace(turn, calls=calls, items=(*turn.items, *notes))


def _answer_call(turn: ComposedTurn, call: TurnCall) -> ComposedTurn:
    """Return an answer with the id and the name of its call, which providers compare."""
    if (turn.call_id, turn.tool_name) == (call.call_id, call.name):
        return turn
    return replace(turn, call_id=call.call_id, tool_name=call.name)


def paired(
    turns: Iterable[ComposedTurn], *, kept: Collection[int] = (), closes: bool = False
) -> Sequence[ComposedTurn]:
    """Return the turns of a history as a conversation that providers accept.

    Args:
        turns: The turns, in the order of their `seq`.
        kept: The `seq` of answers that do not move away from the calls that were added for them.
        closes: Whether calls that are open at the end are answered as well.

    Returns:
        The same turns, with every answer after its call. Calls are added for answers without one.
        Answers are added for calls without one that a later turn follows. An added call has the
        `seq` of its answer.
    """
    pairing = Pairing(kept)
    for turn in turns:
        pairing.add(turn)
    if closes:
        pairing.close()
    return pairing.turns()


def places(turns: Iterable[Turn[_Item]]) -> Iterator[int]:
    """Yield for each turn of a conversation the `seq` since which it has its place."""
    place = 0
    for turn in turns:
        if turn.role != "tool":
            place = turn.seq or 0
        # The place of an answer that was stored before its call is behind the call.
        yield max(place, turn.seq or 0)


def orphans_in(turns: Iterable[ComposedTurn]) -> tuple[int, ...]:
    """Return the `seq` of answers, in order, whose call was added by the pairing."""
    return tuple(
        answer.seq
        for calling, answer in pairwise(turns)
        if answer.seq is not None and answer.seq == calling.seq and _is_written_for(calling, answer)
    )


def _is_written_for(calling: ComposedTurn, answer: ComposedTurn) -> bool:
    """Return whether a turn was added for the answer behind it, which had no call."""
    if answer.recorded_call is not None:
        return len(calling.calls) == 1 and not calling.items
    notes = (item for item in calling.items if isinstance(item, SyntheticNote))
    return any(note.code == _NO_CALL[0] for note in notes)
