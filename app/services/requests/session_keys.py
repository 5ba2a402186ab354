"""Idempotency keys of writes that are done only once in a session."""

import hashlib

from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.json.values import json_text

CALL_ROUTE = "POST /api/sessions/{session_id}/tool-calls"
PAGE_ROUTE = "POST /api/pages"
_ROUTES_OF_SESSIONS = (CALL_ROUTE, PAGE_ROUTE)


def key_in_session(session_id: str, name: str) -> str:
    """Return the idempotency key of a write that is done only once in a session.

    If the session is deleted, `forget_session` removes the key.
    """
    return f"{_digest(session_id)}{_digest(name)}"


def forget_session(unit: UnitOfWork, session_id: str) -> None:
    """Remove the keys of a deleted session, because a new session may have its id."""
    unit[IdempotencyRecords].free_all(_ROUTES_OF_SESSIONS, _digest(session_id))


def _digest(text: str) -> str:
    return hashlib.sha256(json_text(text).encode()).hexdigest()
