"""What subscribers are told of pages.

A write of a page in a session takes the session's next number, though the history does not show it.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from app.models.event import NewEvent
from app.models.page import Page
from app.stores.records import UnitOfWork

PageEventType = Literal["page:created", "page:updated", "page:deleted"]


def note_written(
    unit: UnitOfWork,
    event_type: PageEventType,
    pages: Sequence[Page],
    *,
    version: int,
    now: datetime,
) -> None:
    """Note events of pages whose sessions, if they have one, the transaction holds."""
    in_session: dict[str | None, list[Page]] = defaultdict(list)
    for page in pages:
        in_session[page.fields.session_id].append(page)
    seqs: dict[str, int | None] = {}
    for session_id, written in in_session.items():
        first = None
        if session_id is not None:
            first = unit.sessions.number(session_id, count=len(written))
        for index, page in enumerate(written):
            seqs[page.page_id] = None if first is None else first + index
    for page in pages:
        unit.events.note(
            NewEvent(
                event_type,
                page.page_id,
                now,
                session_id=page.fields.session_id,
                seq=seqs[page.page_id],
                members={
                    "version": version,
                    "modality": page.fields.modality,
                    "pageType": page.fields.page_type,
                },
            )
        )
