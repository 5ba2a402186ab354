"""What sessions take of the store, and what they are called."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from app.models.message import SessionUse
from app.models.search_entry import EntrySource
from app.rendering.entry_texts import entry_texts, first_line
from app.stores.records import UnitOfWork


def uses_of(unit: UnitOfWork, session_ids: Collection[str]) -> dict[str, SessionUse]:
    """Return what each of these sessions, at most 1,000, takes, with its title."""
    openings = unit.session_resources.openings(session_ids)
    return {
        session_id: replace(use, title=_title(openings.get(session_id, ())))
        for session_id, use in unit.session_resources.use_of(session_ids).items()
    }


def _title(opening: Sequence[EntrySource]) -> str | None:
    """Return the first line that a user says."""
    for source in opening:
        texts = entry_texts(source)
        # The title of a message is its role.
        if source.kind == "interaction" or texts.title == "user":
            for text in texts.searchable.text:
                if line := first_line(text):
                    return line
    return None
