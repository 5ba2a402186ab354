"""Histories of any dialect, read as conversations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.messages.entry_reading import foreign_turns, join_turns
from pagefault_dialects.messages.histories import ForeignMessage, foreign_messages
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.targets.rules import code_and_reason
from pagefault_dialects.turns.pairing import pair_calls


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """The reading of a history."""

    messages: Sequence[ForeignMessage]
    """The messages, each with its dialect and its place."""
    turns: Sequence[ComposedTurn]
    """The conversation, with calls and answers paired."""
    recorded: Sequence[ComposedTurn] = ()
    """The turns before pairing."""
    joined: Sequence[ComposedTurn] = ()
    """The turns before pairing, with one for turns whose calls are answered together."""


def read_messages(value: JsonValue, *, closes: bool = False) -> ReadHistory:
    """Read a history of any dialect: a list of messages, or a request that holds one.

    Args:
        value: JSON, as `json.loads` returns it.
        closes: Whether calls that are open at the end are answered as well.

    Raises:
        InvalidPayloadError: There is no list of messages in it.
    """
    messages = foreign_messages(value)
    if messages is None:
        raise InvalidPayloadError(
            'There is no history in this: send a list of messages, `{"messages": […]}`, or the '
            "request of a provider.",
            faults=[Fault("/messages", "must be a list of messages")],
        )
    return pair_turns(messages, [*_read_turns(messages)], closes=closes)


def pair_turns(
    messages: Sequence[ForeignMessage], recorded: Sequence[ComposedTurn], *, closes: bool
) -> ReadHistory:
    """Return a history with its turns paired.

    Args:
        messages: The messages, whose numbers begin at 1.
        recorded: The turns, with these numbers.
        closes: Whether calls that are open at the end are answered as well.
    """
    flagged = ((turn, messages[(turn.seq or 1) - 1].joins) for turn in recorded)
    joined = join_turns(flagged, joins_calls=True)
    whole = (_without_repeated_calls(turn) for turn in joined)
    return ReadHistory(messages, pair_calls(whole, closes=closes), recorded, joined)


def _without_repeated_calls(turn: ComposedTurn) -> ComposedTurn:
    """Return a turn without repeated calls, as proxies and cumulative streams send them."""
    if len({call.call_id for call in turn.calls}) == len(turn.calls):
        return turn
    calls = {(call.call_id, call.name, json_text(call.arguments)): call for call in turn.calls}
    return replace(turn, calls=tuple(calls.values()))


def _read_turns(messages: Sequence[ForeignMessage]) -> Iterator[ComposedTurn]:
    for index, foreign in enumerate(messages):
        if foreign.message is not None:
            yield from foreign_turns(foreign, index + 1, foreign.pointer)


def locate_loss(
    loss: Sequence[LossEntry], messages: Sequence[ForeignMessage]
) -> Iterator[LossEntry]:
    """Yield a loss account with pointers into the original history, which has everything."""
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
            located = {"from_seq": None, "to_seq": None, "pointer": pointer, "restore": restore}
            yield entry.model_copy(update=located)
            continue
        whole = messages[(entry.seq or 1) - 1].pointer
        pointer = entry.pointer or whole
        restore = pointer if entry.restore.startswith("GET /") else entry.restore
        yield entry.model_copy(update={"seq": None, "pointer": pointer, "restore": restore})
