"""The interactions of sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func

from app.models.stored_interaction import InputKind, StoredInteraction
from app.stores.records.history import MOST_BYTES, as_many_as_fit, stored_interaction
from app.stores.records.scope import NewRow, values_of
from app.stores.records.tables import interactions
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.json.values import json_text


class InteractionRecords(Repository):
    """The interactions of one project."""

    @staticmethod
    def row(interaction: StoredInteraction) -> NewRow:
        """Return the row of a new interaction, to be stored with its history entry."""
        return NewRow(interactions, interaction_values(interaction))

    def find(self, session_id: str, interaction_id: str) -> StoredInteraction | None:
        """Return the interaction of a session with this id."""
        row = self._scope.find(interactions, session_id=session_id, interaction_id=interaction_id)
        return stored_interaction(row) if row else None

    def set_output(
        self, interaction_id: str, output: bytes, *, answer_seq: int, now: datetime
    ) -> None:
        """Note the answer of an interaction whose session the caller has entered."""
        self._scope.set_values(
            interactions,
            interactions.c.interaction_id == interaction_id,
            output=output,
            answer_seq=answer_seq,
            answered_at=now,
        )

    def page(
        self,
        session_id: str,
        *,
        input_kind: InputKind | None,
        after_seq: int,
        limit: int,
        most_bytes: int = MOST_BYTES,
    ) -> Sequence[StoredInteraction]:
        """Return up to `limit` interactions of a session after a `seq`, in order.

        They end with the one that passes `most_bytes`, as entries of a history do.
        """
        listed = self._after(session_id, input_kind, after_seq).limit(limit)
        # Both databases know the length of a blob without reading it.
        answer = func.coalesce(func.length(interactions.c.output), 0)
        size = (func.length(interactions.c.input) + answer).label("size_bytes")
        sized = self._scope.all(listed.with_only_columns(interactions.c.seq, size))
        fitting = as_many_as_fit(sized, most_bytes)
        rows = self._scope.all(listed.limit(len(fitting))) if fitting else []
        return [stored_interaction(row) for row in rows]

    def are_more(self, session_id: str, *, input_kind: InputKind | None, after_seq: int) -> bool:
        """Return whether there are interactions of a session after a `seq`."""
        rest = self._after(session_id, input_kind, after_seq)
        row = self._scope.first(rest.with_only_columns(interactions.c.seq).limit(1))
        return row is not None

    def _after(self, session_id: str, input_kind: InputKind | None, after_seq: int) -> Select[Any]:
        statement = self._scope.select(
            interactions, interactions.c.session_id == session_id, interactions.c.seq > after_seq
        )
        if input_kind is not None:
            statement = statement.where(interactions.c.input_kind == input_kind)
        return statement.order_by(interactions.c.seq)


def interaction_values(interaction: StoredInteraction) -> dict[str, object]:
    """Return the columns of an interaction; no bindings where all ids say what they name."""
    bindings = interaction.bindings
    return values_of(interaction, bindings=json_text(dict(bindings)) if bindings else None)
