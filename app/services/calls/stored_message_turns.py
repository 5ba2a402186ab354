"""Reads stored messages as turns of a conversation, in the dialect in which they were received."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from app.models.message import StoredHistoryMessage
from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.media.embedded_data_uris import load_forms
from pagefault_dialects.messages.entry_reading import EntryReading, read_entry_turns, read_stored
from pagefault_dialects.messages.message_turns import MessageEntry, make_message_turns
from pagefault_dialects.model.conversation import ComposedTurn, TurnCall
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.turns.page_turns import PageFaultCall


def read_message_turns(
    entry: StoredHistoryMessage,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    origin: str,
    finds_media: bool = False,
) -> list[ComposedTurn]:
    """Return the turns of a stored message.

    Args:
        entry: The message.
        resources: The resources that the message refers to, by id.
        audience: The reader of the turns. Blocks for other readers are left out.
        origin: The path of the entry, for the losses of a rendering.
        finds_media: True to search the texts of the message for base64.
    """
    turns = _read_turns(entry, resources, audience=audience, origin=origin, finds_media=finds_media)
    if entry.answer_number == 1 and not entry.is_apart:
        return turns
    number, is_stored_alone = entry.answer_number, bool(entry.is_apart)
    return [
        replace(turn, answer_number=number, is_stored_alone=is_stored_alone)
        if turn.role == "tool"
        else turn
        for turn in turns
    ]


def _read_turns(
    entry: StoredHistoryMessage,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    origin: str,
    finds_media: bool,
) -> list[ComposedTurn]:
    reading = load_reading(entry)
    if reading is not None:
        turns = read_entry_turns(
            reading,
            entry.seq,
            origin,
            resources,
            audience=audience,
            moved_media_ids=find_moved_media_ids(entry),
            finds_media=finds_media,
        )
        return (
            [replace(turns[0], continues_turn=True), *turns[1:]]
            if reading.continues_turn and turns
            else turns
        )
    fault = entry.page_fault
    message = MessageEntry(
        parse_stored_json(entry.message),
        entry.seq,
        origin,
        is_page_fault=entry.is_page_fault,
        page_fault=None if fault is None else msgspec.json.decode(fault, type=PageFaultCall),
        moved_media_ids=find_moved_media_ids(entry),
    )
    return make_message_turns(message, resources, audience=audience, finds_media=finds_media)


def find_calls(entry: StoredHistoryMessage) -> Iterator[TurnCall]:
    """Yield the calls that a stored message makes."""
    for turn in read_message_turns(entry, {}, audience="everyone", origin=""):
        yield from turn.calls


def load_reading(entry: StoredHistoryMessage) -> EntryReading | None:
    """Read a stored message again in the dialect in which it was received.

    Returns:
        `None` for a page fault, and for a message of an old version that has stored no dialect.
    """
    if entry.dialect is None or entry.reading is None:
        return None
    pointer = "/message" if entry.is_wrapped else ""
    return read_stored(parse_stored_json(entry.sent), entry.dialect, entry.reading, pointer)


def find_moved_media_ids(entry: StoredHistoryMessage) -> frozenset[str]:
    """Return the ids of the resources into which media in the texts of a message were moved.

    A text that contained media may have become a resource too; its id is not among them.
    """
    forms = load_forms(entry.inline_form).values()
    text_ids = {form.text_resource_id for form in forms}
    return frozenset(
        resource_id
        for form in forms
        for resource_id in form.resource_ids
        if resource_id not in text_ids
    )
