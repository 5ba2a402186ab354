"""Messages as they are stored, as turns of a conversation."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from app.models.message import StoredHistoryMessage
from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.media.embedded_data_uris import load_forms
from pagefault_dialects.messages.entry_reading import EntryReading, entry_turns, read_stored
from pagefault_dialects.messages.message_turns import MessageEntry, message_turns
from pagefault_dialects.model.conversation import ComposedTurn, TurnCall
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.turns.page_turns import PageFaultCall


def stored_message_turns(
    entry: StoredHistoryMessage,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    origin: str,
    finds_media: bool = False,
) -> list[ComposedTurn]:
    """Return a stored message as turns, by the reading it came in by.

    Args:
        entry: The message.
        resources: The resources that it refers to, by id.
        audience: The readers of the turns.
        origin: The path the message is read from.
        finds_media: See `message_turns`.
    """
    turns = _turns(entry, resources, audience=audience, origin=origin, finds_media=finds_media)
    if entry.answer_number == 1 and not entry.is_apart:
        return turns
    number, is_apart = entry.answer_number, bool(entry.is_apart)
    return [
        replace(turn, answer_number=number, is_apart=is_apart) if turn.role == "tool" else turn
        for turn in turns
    ]


def _turns(
    entry: StoredHistoryMessage,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    origin: str,
    finds_media: bool,
) -> list[ComposedTurn]:
    reading = stored_reading(entry)
    if reading is not None:
        turns = entry_turns(
            reading,
            entry.seq,
            origin,
            resources,
            audience=audience,
            moved_out=moved_out_of(entry),
            finds_media=finds_media,
        )
        return [replace(turns[0], joins=True), *turns[1:]] if reading.joins and turns else turns
    read = MessageEntry(
        parse_stored_json(entry.message),
        entry.seq,
        origin,
        is_page_fault=entry.is_page_fault,
        page_fault=_page_fault(entry),
        moved_out=moved_out_of(entry),
    )
    return message_turns(read, resources, audience=audience, finds_media=finds_media)


def calls_of(entry: StoredHistoryMessage) -> Iterator[TurnCall]:
    """Yield the calls that a stored message makes."""
    for turn in stored_message_turns(entry, {}, audience="everyone", origin=""):
        yield from turn.calls


def stored_reading(entry: StoredHistoryMessage) -> EntryReading | None:
    """Return a message as it was read when it came.

    `None` if that is not known: it is a page fault, or from before messages had a dialect.
    """
    if entry.dialect is None or entry.reading is None:
        return None
    pointer = "/message" if entry.is_wrapped else ""
    return read_stored(parse_stored_json(entry.sent), entry.dialect, entry.reading, pointer)


def _page_fault(entry: StoredHistoryMessage) -> PageFaultCall | None:
    fault = entry.page_fault
    return None if fault is None else msgspec.json.decode(fault, type=PageFaultCall)


def moved_out_of(entry: StoredHistoryMessage) -> frozenset[str]:
    """Return the ids of media that were moved out of the texts of a message when it was stored."""
    forms = load_forms(entry.inline_form).values()
    kept = {form.text_resource_id for form in forms}
    return frozenset(key for form in forms for key in form.resource_ids if key not in kept)
