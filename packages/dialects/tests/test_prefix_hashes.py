"""Hashes of the messages that were sent, and the number of equal ones."""

import pytest

from pagefault_dialects.model.conversation import (
    MediaItem,
    Medium,
    ResolvedTurn,
    StoredBytes,
    TextItem,
    Turn,
)
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.rendered_documents import build_session_document, count_unchanged_messages
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.table import TARGETS

HINTS = MediaHints(4_000, 3_000)
MEDIUM = Medium("/parts/0", StoredBytes("a" * 32, "a" * 64), "image", "image/png", None, 9, HINTS)


def hashes_with(digest: str, *, address: str | None = None) -> list[bytes]:
    """Return the hashes of a conversation with a smaller image."""
    made = StoredBytes(digest[:32], digest)
    smaller = MediaItem(
        MEDIUM, made, "image", "image/jpeg", 500, MediaHints(800, 600), address=address
    )
    turns: tuple[ResolvedTurn, ...] = (
        Turn("user", (TextItem("/content", "Look."),), seq=1),
        Turn("assistant", (TextItem("/content", "I look."),), seq=2),
        Turn("user", (smaller,), seq=3),
        Turn("assistant", (TextItem("/content", "A fox."),), seq=4),
    )
    resolved = ResolvedTurns(turns, (), (0,) * len(turns))
    document = build_session_document(
        resolved, TARGETS["anthropic"], RenderOptions(), last_seq=4, since=0
    )
    return [*document.hashes]


@pytest.mark.parametrize(
    ("now", "stable"),
    [
        (hashes_with("b" * 64), 4),
        # The image of another version of the encoder.
        (hashes_with("c" * 64), 2),
        (hashes_with("b" * 64, address="https://one.example/?signature=1"), 2),
    ],
)
def test_image_of_another_encoder_ends_the_equal_messages(now: list[bytes], stable: int) -> None:
    assert count_unchanged_messages(b"".join(hashes_with("b" * 64)), now) == stable
