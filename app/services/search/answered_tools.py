"""Finds the names of the tools whose results are in messages.

In most dialects, a result has only the id of its call, and the name of the tool is in the call.
"""

from collections.abc import Sequence

from app.models.search_entry import EntrySource
from app.services.calls.stored_message_turns import find_calls
from app.stores.records.history import SessionHistory
from app.stores.records.unit_of_work import UnitOfWork
from app.words.entry_tools import list_result_tools

_MAX_DISTANCE = 16
"""The number of `seq`s before a result in which its call is searched."""
_MAX_BYTES = 4 * 1024 * 1024
"""The size of the messages after which no more messages are read for the hits of one search."""


def find_answered_tools(
    sources: Sequence[EntrySource], unit: UnitOfWork
) -> dict[str, tuple[str, ...]]:
    """Return the names of the tools whose results messages have, by the ids of these messages.

    A tool is omitted if its call is more than 16 numbers before the message. If the messages that
    are read become too long, the tools of the last hits are omitted.
    """
    found: dict[str, tuple[str, ...]] = {}
    read_bytes = 0
    for source in sources:
        names, call_ids = list_result_tools(source)
        missing = set(call_ids)
        session_id, seq = source.session_id, source.seq
        if missing and session_id and seq and read_bytes < _MAX_BYTES:
            earlier = unit[SessionHistory].iterate_newest_messages(
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
