"""Metrics of the moves of frontiers in the database."""

from typing import Literal, Protocol, TypeAlias

MoveResult: TypeAlias = Literal["moved", "contended", "refused"]
"""`moved`: the move was stored. `contended`: another request has moved the frontier, so the session
is rendered again. `refused`: this has happened too often, and the request failed."""


class FrontierMetrics(Protocol):
    """The part of `Metrics` for named frontiers."""

    def count_move(self, result: MoveResult) -> None:
        """Count an attempt to move a frontier."""
