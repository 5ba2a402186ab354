"""The interactions of sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Integer, Select, bindparam, func

from app.models.stored_interaction import InputKind, StoredInteraction
from app.stores.records.history import MAX_BYTES, limit_row_bytes, stored_interaction
from app.stores.records.scope import NewRow, values_of
from app.stores.records.statements import scoped_select, scoped_update
from app.stores.records.tables import interactions
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.json.values import json_text

_FIND = scoped_select(interactions, by=["session_id", "interaction_id"])
_SET_OUTPUT = scoped_update(interactions, by={"interaction_id": "of_interaction"})
# Both databases return the length of a blob without reading it.
_SIZE = func.length(interactions.c.input) + func.coalesce(func.length(interactions.c.output), 0)


def _select_after(*by: str) -> Select[Any]:
    listed = scoped_select(interactions, by=["session_id", *by])
    listed = listed.where(interactions.c.seq > bindparam("after_seq"))
    return listed.order_by(interactions.c.seq).limit(bindparam("limit", type_=Integer()))


def _select_sizes(listed: Select[Any]) -> Select[Any]:
    return listed.with_only_columns(interactions.c.seq, _SIZE.label("size_bytes"))


_LIST, _LIST_KIND = _select_after(), _select_after("input_kind")
_LIST_SIZES, _LIST_KIND_SIZES = _select_sizes(_LIST), _select_sizes(_LIST_KIND)


class InteractionRecords(Repository):
    """The interactions of one project."""

    @staticmethod
    def row(interaction: StoredInteraction) -> NewRow:
        """Return the row of a new interaction, to be stored with its history entry."""
        return NewRow(interactions, interaction_values(interaction))

    def find(self, session_id: str, interaction_id: str) -> StoredInteraction | None:
        """Return the interaction of a session with this id."""
        row = self._scope.first(_FIND, session_id=session_id, interaction_id=interaction_id)
        return stored_interaction(row) if row else None

    def set_output(
        self, interaction_id: str, output: bytes, *, answer_seq: int, now: datetime
    ) -> None:
        """Store the output of an interaction. The caller has locked the session."""
        self._scope.run(
            _SET_OUTPUT,
            of_interaction=interaction_id,
            output=output,
            answer_seq=answer_seq,
            answered_at=now,
        )

    def list_interactions(
        self,
        session_id: str,
        *,
        input_kind: InputKind | None,
        after_seq: int,
        limit: int,
        max_bytes: int = MAX_BYTES,
    ) -> Sequence[StoredInteraction]:
        """Return up to `limit` interactions of a session after a `seq`, in order.

        The interaction that makes the list exceed `max_bytes` is its last one.
        """
        values = {"session_id": session_id, "input_kind": input_kind, "after_seq": after_seq}
        listed, sizes = _LIST, _LIST_SIZES
        if input_kind is not None:
            listed, sizes = _LIST_KIND, _LIST_KIND_SIZES
        sized = self._scope.all(sizes, **values, limit=limit)
        fitting = limit_row_bytes(sized, max_bytes)
        rows = self._scope.all(listed, **values, limit=len(fitting)) if fitting else []
        return [stored_interaction(row) for row in rows]

    def has_more(self, session_id: str, *, input_kind: InputKind | None, after_seq: int) -> bool:
        """Return whether there are interactions of a session after a `seq`."""
        values = {"session_id": session_id, "input_kind": input_kind, "after_seq": after_seq}
        sizes = _LIST_SIZES if input_kind is None else _LIST_KIND_SIZES
        return self._scope.first(sizes, **values, limit=1) is not None


def interaction_values(interaction: StoredInteraction) -> dict[str, object]:
    """Return the columns of an interaction; `bindings` is null if it is empty."""
    bindings = interaction.bindings
    return values_of(interaction, bindings=json_text(dict(bindings)) if bindings else None)
