"""Metrics of named frontiers."""

from typing import Literal, Protocol, TypeAlias

MoveResult: TypeAlias = Literal["moved", "contended", "refused"]
"""`moved`: stored. `contended`: another request has moved it, so the session is rendered again.
`refused`: this has happened too often."""


class FrontierMetrics(Protocol):
    """Metrics of named frontiers; `Metrics` has all."""

    def count_move(self, result: MoveResult) -> None:
        """Count an attempt to move a frontier."""
