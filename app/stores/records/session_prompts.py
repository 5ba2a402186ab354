"""The prompts of sessions: system, tools and model of the newest list of messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement

from app.stores.records.scope import read_row, values_of
from app.stores.records.statements import Excluded, scoped_select
from app.stores.records.tables import session_prompts
from app.stores.records.unit_of_work import Repository

_FIND = scoped_select(session_prompts, by=["session_id"])


@dataclass(frozen=True, slots=True)
class SessionPrompt:
    """The prompt of a session, and the receipt of the last PUT of its conversation.

    `prompt` is a JSON object, and `dialect` is the dialect of the messages. `receipt` is JSON of
    the service; `None` if the prompt was copied from another session by a fork.
    """

    dialect: str | None
    prompt: bytes
    receipt: str | None = None


class SessionPromptRecords(Repository):
    """The prompts of one project's sessions."""

    def find(self, session_id: str) -> SessionPrompt | None:
        """Return the prompt of a session, if it has one."""
        row = self._scope.first(_FIND, session_id=session_id)
        return read_row(SessionPrompt, row) if row else None

    def put(self, session_id: str, prompt: SessionPrompt, now: datetime) -> None:
        """Store the prompt of a session that the caller has locked."""
        values = values_of(prompt, session_id=session_id, updated_at=now)
        self._scope.merge_all(session_prompts, [values], _replace)


def _replace(excluded: Excluded) -> Mapping[str, ColumnElement[Any]]:
    return {name: excluded[name] for name in ("dialect", "prompt", "receipt", "updated_at")}
