"""Finds the tools whose results messages have. Most dialects name them only in their calls."""

from collections.abc import Sequence

from app.models.search_entry import EntrySource
from app.services.calls.stored_message_turns import find_calls
from app.stores.records.history import SessionHistory
from app.stores.records.unit_of_work import UnitOfWork
from app.words.entry_tools import unnamed_answers

_MAX_DISTANCE = 64
"""How many numbers before a result its call is looked for."""


def find_answered_tools(
    sources: Sequence[EntrySource], unit: UnitOfWork
) -> dict[str, tuple[str, ...]]:
    """Return the names of the tools whose results messages have, by the ids of these messages.

    Tools whose call is far away are omitted.
    """
    found: dict[str, tuple[str, ...]] = {}
    for source in sources:
        names, call_ids = unnamed_answers(source)
        missing = set(call_ids)
        if missing and source.session_id is not None and source.seq is not None:
            earlier = unit[SessionHistory].newest_messages(
                source.session_id, max_numbers=_MAX_DISTANCE, to=source.seq - 1
            )
            calls: dict[str, str] = {}
            for message in earlier:
                # Of two calls with one id, the later one is answered.
                calls = {call.call_id: call.name for call in find_calls(message)} | calls
                missing -= calls.keys()
                if not missing:
                    break
            names = [*names, *(calls[call_id] for call_id in call_ids if call_id in calls)]
        found[source.entry_id] = tuple(dict.fromkeys(names))
    return found
