"""What subscribers are told of pages.

A write of a page in a session takes the session's next number, though the history does not show it.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from itertools import count
from typing import Literal

from app.models.event import NewEvent
from app.models.page import PageFields
from app.stores.records import UnitOfWork

PageEventType = Literal["page:created", "page:updated", "page:deleted"]


def note_written(
    unit: UnitOfWork,
    event_type: PageEventType,
    pages: Mapping[str, PageFields],
    *,
    version: int,
    now: datetime,
) -> None:
    """Note events of pages, by id, whose sessions, if they have one, the transaction holds."""
    counts = Counter(fields.session_id for fields in pages.values() if fields.session_id)
    seqs = {each: count(unit.sessions.number(each, count=counts[each])) for each in counts}
    for page_id, fields in pages.items():
        unit.events.note(
            NewEvent(
                event_type,
                page_id,
                now,
                session_id=fields.session_id,
                seq=next(seqs[fields.session_id]) if fields.session_id else None,
                members={
                    "version": version,
                    "modality": fields.modality,
                    "pageType": fields.page_type,
                },
            )
        )
