"""Reads a whole history of any dialect as a conversation in which calls and results are paired."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.messages.entry_reading import join_turns, read_turns
from pagefault_dialects.messages.histories import read_history_messages
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.targets.rules import code_and_reason
from pagefault_dialects.turns.pairing import pair_calls


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """A history as a conversation, and the steps on the way there."""

    messages: Sequence[ForeignMessage]
    """The messages in common form, each with its dialect and its pointer."""
    turns: Sequence[ComposedTurn]
    """The conversation, in which each result follows its call."""
    recorded: Sequence[ComposedTurn] = ()
    """The turns of the messages, before joining and pairing."""
    joined: Sequence[ComposedTurn] = ()
    """The turns before pairing, in which consecutive turns with calls are joined to one."""


def read_messages(value: JsonValue, *, closes: bool = False) -> ReadHistory:
    """Read a history of any dialect: a list of messages, or a request that contains one.

    Args:
        value: JSON, as `json.loads` returns it.
        closes: Whether calls without a result at the end get a note in its place.

    Raises:
        InvalidPayloadError: The value has no list of messages.
    """
    messages = read_history_messages(value)
    if messages is None:
        raise InvalidPayloadError(
            'There is no history in this: send a list of messages, `{"messages": […]}`, or the '
            "request of a provider.",
            faults=[Fault("/messages", "must be a list of messages")],
        )
    return pair_turns(messages, [*_read_all_turns(messages)], closes_calls=closes)


def pair_turns(
    messages: Sequence[ForeignMessage], recorded: Sequence[ComposedTurn], *, closes_calls: bool
) -> ReadHistory:
    """Pair the calls and results of a history whose messages were read as turns already.

    Args:
        messages: The messages of the history.
        recorded: The turns of the messages. `seq` is the number of the message, from 1 on.
        closes_calls: Whether calls without a result at the end get a note in its place.
    """
    turns_with_flags = ((turn, messages[(turn.seq or 1) - 1].continues_turn) for turn in recorded)
    joined = join_turns(turns_with_flags, joins_calls=True)
    turns = (_remove_repeated_calls(turn) for turn in joined)
    return ReadHistory(messages, pair_calls(turns, closes_calls=closes_calls), recorded, joined)


def _remove_repeated_calls(turn: ComposedTurn) -> ComposedTurn:
    """Return a turn with each call once. Proxies and cumulative streams repeat calls.

    Calls are the same if their ids, names and arguments are equal.
    """
    if len({call.call_id for call in turn.calls}) == len(turn.calls):
        return turn
    calls = {(call.call_id, call.name, json_text(call.arguments)): call for call in turn.calls}
    return replace(turn, calls=tuple(calls.values()))


def _read_all_turns(messages: Sequence[ForeignMessage]) -> Iterator[ComposedTurn]:
    for index, foreign in enumerate(messages):
        if foreign.message is not None:
            yield from read_turns(foreign, index + 1, foreign.pointer)


def locate_loss(
    loss: Sequence[LossEntry], messages: Sequence[ForeignMessage]
) -> Iterator[LossEntry]:
    """Yield the entries of a loss account with pointers into the history as it was sent.

    The pointer to a message replaces its number. The pointer to an omitted value replaces the
    request that reads it, since the caller has the history. Each value in the history that is no
    message gets an entry, before all others.
    """
    for foreign in messages:
        if foreign.message is None:
            code, reason = code_and_reason("not-a-message")
            yield LossEntry(
                pointer=foreign.pointer,
                from_="entry",
                to="nothing",
                code=code,
                reason=reason,
                restore=foreign.pointer,
            )
    for entry in loss:
        if entry.from_seq is not None and entry.to_seq is not None:
            run = messages[entry.from_seq - 1 : entry.to_seq]
            pointer, restore = run[0].pointer, f"{run[0].pointer} to {run[-1].pointer}"
            changes = {"from_seq": None, "to_seq": None, "pointer": pointer, "restore": restore}
            yield entry.model_copy(update=changes)
            continue
        pointer = entry.pointer or messages[(entry.seq or 1) - 1].pointer
        restore = pointer if entry.restore.startswith("GET /") else entry.restore
        yield entry.model_copy(update={"seq": None, "pointer": pointer, "restore": restore})
