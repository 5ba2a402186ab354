"""Idempotency keys that the service derives for writes that a session makes only once.

Such a write is a tool call or a page that a tool call saves. The key begins with a digest of the
session id, so that all keys of a session can be removed with the session.
"""

import hashlib

from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.json.values import json_text

CALL_ROUTE = "POST /api/sessions/{session_id}/tool-calls"
PAGE_ROUTE = "POST /api/pages"
_ROUTES = (CALL_ROUTE, PAGE_ROUTE)


def key_in_session(session_id: str, name: str) -> str:
    """Return the idempotency key of a write of a session.

    Args:
        session_id: The session.
        name: The id of the write in the session, such as the id of a tool call.
    """
    return f"{_digest(session_id)}{_digest(name)}"


def forget_session(unit: UnitOfWork, session_id: str) -> None:
    """Remove the keys of a deleted session, because a new session may have the same id."""
    unit[IdempotencyRecords].free_all(_ROUTES, _digest(session_id))


def _digest(text: str) -> str:
    return hashlib.sha256(json_text(text).encode()).hexdigest()
