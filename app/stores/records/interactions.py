"""Interactions: rows that get their answer once, and never change otherwise."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, func

from app.models.interaction import Bindings, InputKind, StoredInteraction
from app.models.json_value import json_text, parse_stored_json
from app.stores.records.scope import ProjectScope
from app.stores.records.tables import interactions

_PAGE_BYTES = 16 * 1024 * 1024


class InteractionRecords:
    """The interactions of one project."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def add(self, interaction: StoredInteraction) -> None:
        """Store a new interaction; its history entry is appended beside it."""
        self._scope.insert(
            interactions,
            interaction_id=interaction.interaction_id,
            session_id=interaction.session_id,
            seq=interaction.seq,
            input_kind=interaction.input_kind,
            timestamp=interaction.timestamp,
            created_at=interaction.created_at,
            answer_seq=interaction.answer_seq,
            answered_at=interaction.answered_at,
            bindings=bindings_text(interaction.bindings),
            output=interaction.output,
            input=interaction.input,
        )

    def find(self, session_id: str, interaction_id: str) -> StoredInteraction | None:
        """The interaction of a session with this id."""
        row = self._scope.first(
            self._scope.select(interactions).where(
                interactions.c.session_id == session_id,
                interactions.c.interaction_id == interaction_id,
            )
        )
        return stored_interaction(row) if row else None

    def set_output(
        self, interaction_id: str, output: bytes, *, answer_seq: int, now: datetime
    ) -> None:
        """Note the answer of an interaction whose session the caller has entered."""
        self._scope.run(
            self._scope.update(interactions)
            .where(interactions.c.interaction_id == interaction_id)
            .values(output=output, answer_seq=answer_seq, answered_at=now)
        )

    def page(
        self, session_id: str, *, input_kind: InputKind | None, after_seq: int, limit: int
    ) -> Sequence[StoredInteraction]:
        """Up to `limit` interactions of a session after a `seq`, in order.

        They end with the one that passes 16 MiB, as entries of a history do.
        """
        listed = self._after(session_id, input_kind, after_seq).limit(limit)
        # Both databases know the length of a blob without reading it.
        sized = self._scope.all(
            listed.with_only_columns(
                interactions.c.seq,
                (
                    func.length(interactions.c.input)
                    + func.coalesce(func.length(interactions.c.output), 0)
                ).label("size_bytes"),
            )
        )
        fitting = as_many_as_fit(sized)
        rows = self._scope.all(listed.limit(len(fitting))) if fitting else []
        return [stored_interaction(row) for row in rows]

    def are_more(self, session_id: str, *, input_kind: InputKind | None, after_seq: int) -> bool:
        """Whether there are interactions of a session after a `seq`."""
        rest = self._after(session_id, input_kind, after_seq)
        row = self._scope.first(rest.with_only_columns(interactions.c.seq).limit(1))
        return row is not None

    def _after(self, session_id: str, input_kind: InputKind | None, after_seq: int) -> Select[Any]:
        statement = self._scope.select(interactions).where(
            interactions.c.session_id == session_id, interactions.c.seq > after_seq
        )
        if input_kind is not None:
            statement = statement.where(interactions.c.input_kind == input_kind)
        return statement.order_by(interactions.c.seq)


def as_many_as_fit(
    sized: Sequence[Row[Any]], *, most_bytes: int = _PAGE_BYTES
) -> Sequence[Row[Any]]:
    """Rows with a `size_bytes` up to the one that passes 16 MiB: each may be that large."""
    size_bytes = 0
    for index, row in enumerate(sized):
        size_bytes += row.size_bytes
        if size_bytes > most_bytes:
            return sized[: index + 1]
    return sized


def stored_interaction(row: Row[Any]) -> StoredInteraction:
    """The interaction in a row of `interactions`."""
    return StoredInteraction(
        interaction_id=row.interaction_id,
        session_id=row.session_id,
        seq=row.seq,
        input_kind=row.input_kind,
        timestamp=row.timestamp,
        created_at=row.created_at,
        input=row.input,
        output=row.output,
        answer_seq=row.answer_seq,
        answered_at=row.answered_at,
        bindings={} if row.bindings is None else parse_stored_json(row.bindings.encode()),
    )


def bindings_text(bindings: Bindings) -> str | None:
    """Return what the column `bindings` holds; null where all ids say what they are bound to."""
    return json_text(dict(bindings)) if bindings else None
