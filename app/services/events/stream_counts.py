"""What the streams tell about how many they are and how they end."""

from typing import Literal, Protocol, TypeAlias

EndReason: TypeAlias = Literal["left", "slow", "stalled", "access-lost", "stopping", "failed"]
"""Why a stream ended: its listener left, or was cut off."""


class StreamCounts(Protocol):
    """Counts streams; an implementation may not fail the work it counts."""

    def count_stream_opened(self) -> None:
        """Count a stream that was opened."""
        ...

    def count_stream_ended(self, reason: EndReason) -> None:
        """Count a stream that has ended."""
        ...
