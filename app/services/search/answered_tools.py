"""Finds the tools whose results messages have. Most dialects name them only in their calls."""

from collections.abc import Sequence

from app.models.search_entry import EntrySource
from app.services.calls.stored_message_turns import find_calls
from app.stores.records.history import SessionHistory
from app.stores.records.unit_of_work import UnitOfWork
from app.words.entry_tools import unnamed_answers

_MAX_DISTANCE = 16
"""The numbers before a result among which its call is searched."""
_MAX_BYTES = 4 * 1024 * 1024
"""The size of the messages that are read for the hits of one search, before the last one."""


def find_answered_tools(
    sources: Sequence[EntrySource], unit: UnitOfWork
) -> dict[str, tuple[str, ...]]:
    """Return the names of the tools whose results messages have, by the ids of these messages.

    Tools whose call is far away are omitted. If messages are long, so are those of the last hits.
    """
    found: dict[str, tuple[str, ...]] = {}
    read_bytes = 0
    for source in sources:
        names, call_ids = unnamed_answers(source)
        missing = set(call_ids)
        session_id, seq = source.session_id, source.seq
        if missing and session_id and seq and read_bytes < _MAX_BYTES:
            earlier = unit[SessionHistory].newest_messages(
                session_id, max_numbers=_MAX_DISTANCE, to=seq - 1
            )
            calls: dict[str, str] = {}
            for message in earlier:
                read_bytes += len(message.message)
                # Of two calls with one id, the later one is answered.
                calls = {call.call_id: call.name for call in find_calls(message)} | calls
                missing -= calls.keys()
                if not missing or read_bytes >= _MAX_BYTES:
                    break
            names = [*names, *(calls[call_id] for call_id in call_ids if call_id in calls)]
        found[source.entry_id] = tuple(dict.fromkeys(names))
    return found
