"""Histories of any dialect, read as conversations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.histories import ForeignMessage, foreign_messages
from pagefault_dialects.messages.message_turns import MessageEntry, message_turns
from pagefault_dialects.model.conversation import ComposedTurn, Invented
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.targets.rules import coded
from pagefault_dialects.turns.pairing import paired


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """A history as it was read."""

    messages: Sequence[ForeignMessage]
    """Its messages, each with its dialect and its place."""
    turns: Sequence[ComposedTurn]
    """The conversation: calls and answers are paired, as every provider demands."""


def read_messages(value: JsonValue) -> ReadHistory:
    """Read a history of any dialect: a list of messages, or a request that holds one.

    Args:
        value: JSON, as `json.loads` returns it.

    Raises:
        InvalidPayloadError: There is no list of messages in it.
    """
    messages = foreign_messages(value)
    if messages is None:
        raise InvalidPayloadError(
            'There is no history in this: take a list of messages, `{"messages": […]}`, or the '
            "request of a provider.",
            faults=[Fault("/messages", "must be a list of messages")],
        )
    return ReadHistory(messages, paired(history_turns(messages)))


def history_turns(messages: Sequence[ForeignMessage]) -> list[ComposedTurn]:
    """Return a history as turns; one turn is made of those whose calls are answered together."""
    return _join_turns(messages, _read_turns(messages))


def _read_turns(messages: Sequence[ForeignMessage]) -> Iterator[ComposedTurn]:
    for index, foreign in enumerate(messages):
        if foreign.message is None:
            continue
        entry = MessageEntry(foreign.message, index + 1, foreign.pointer)
        read = message_turns(entry, {}, audience="assistant", finds_media=True)
        for turn in read:
            if len(read) > 1 and turn.role == "assistant" and not turn.items and not turn.calls:
                # Nothing is said behind the answers.
                continue
            items = tuple(
                item
                if isinstance(item, Invented)
                else replace(item, pointer=foreign.place(item.pointer))
                for item in turn.items
            )
            yield replace(turn, items=items)


def _join_turns(
    messages: Sequence[ForeignMessage], turns: Iterable[ComposedTurn]
) -> list[ComposedTurn]:
    joined: list[ComposedTurn] = []
    for turn in turns:
        last = joined[-1] if joined else None
        said_to_join = messages[(turn.seq or 1) - 1].joins
        if (
            last is not None
            and last.role == "assistant" == turn.role
            and (said_to_join or (last.calls and turn.calls))
        ):
            items, calls = (*last.items, *turn.items), (*last.calls, *turn.calls)
            joined[-1] = replace(last, items=items, calls=calls)
        else:
            joined.append(turn)
    return joined


def locate_loss(
    loss: Sequence[LossEntry], messages: Sequence[ForeignMessage]
) -> Iterator[LossEntry]:
    """Yield the account of a loss by pointers into what was sent, where all of it still is."""
    for foreign in messages:
        if foreign.message is None:
            code, reason = coded("not-a-message")
            yield LossEntry(
                pointer=foreign.pointer,
                from_="entry",
                to="nothing",
                code=code,
                reason=reason,
                restore=foreign.pointer,
            )
    for entry in loss:
        whole = messages[(entry.seq or 1) - 1].pointer
        pointer = entry.pointer or whole
        restore = pointer if entry.restore.startswith("GET /") else entry.restore
        yield entry.model_copy(update={"seq": None, "pointer": pointer, "restore": restore})
