"""Messages as they are stored, as turns of a conversation."""

from collections.abc import Mapping

import msgspec

from app.models.message import StoredHistoryMessage
from pagefault_dialects.json.values import parse_stored_json
from pagefault_dialects.media.embedded_data_uris import load_forms
from pagefault_dialects.messages.message_turns import MessageEntry, message_turns
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.turns.page_turns import PageFaultCall


def stored_message_turns(
    entry: StoredHistoryMessage,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    origin: str,
) -> list[ComposedTurn]:
    """Return a stored message as turns; see `message_turns`.

    Args:
        entry: The message.
        resources: What it refers to, by id.
        audience: For whom the turns are.
        origin: The path the message is read from.
    """
    read = MessageEntry(
        parse_stored_json(entry.message),
        entry.seq,
        origin,
        is_page_fault=entry.is_page_fault,
        page_fault=_page_fault(entry),
        moved_out=moved_out_of(entry),
    )
    return message_turns(read, resources, audience=audience)


def _page_fault(entry: StoredHistoryMessage) -> PageFaultCall | None:
    fault = entry.page_fault
    return None if fault is None else msgspec.json.decode(fault, type=PageFaultCall)


def moved_out_of(entry: StoredHistoryMessage) -> frozenset[str]:
    """Return the ids of what was moved out of a message's texts when it was stored."""
    forms = load_forms(entry.inline_form).values()
    kept = {form.text_resource_id for form in forms}
    return frozenset(each for form in forms for each in form.resource_ids if each not in kept)
