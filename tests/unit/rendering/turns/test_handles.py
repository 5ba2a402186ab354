"""Lines that name stored media."""

import pytest

from app.models.conversation import (
    Address,
    ComposedTurn,
    InlineBytes,
    Medium,
    StoredBytes,
    TextItem,
    Turn,
)
from app.models.resource import MediaHints
from app.rendering.turns.handles import with_handles

STORED = StoredBytes("9a0e04717cce2431260284cf548150ee", "00" * 32)
HANDLE = "@blob:9a0e04717cce2431260284cf548150ee"
TIMES = "\N{MULTIPLICATION SIGN}"


def medium(**changes: object) -> Medium:
    """A stored picture, but for some changes."""
    members = {
        "pointer": "/sanitized/parts/0",
        "source": STORED,
        "kind": "image",
        "mime_type": "image/png",
        "filename": "shot.png",
        "size_bytes": 100,
        "hints": MediaHints(320, 180),
    }
    return Medium(**(members | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, f"[image {HANDLE} shot.png 320{TIMES}180]"),
        ({"filename": None}, f"[image {HANDLE} 320{TIMES}180]"),
        ({"kind": "video", "hints": MediaHints(None, None, 2.5)}, f"[video {HANDLE} shot.png]"),
        ({"filename": "a]\n[b", "hints": MediaHints()}, f"[image {HANDLE} a)\\n(b]"),
    ],
)
def test_line_behind_a_stored_medium_names_it(changes: dict[str, object], line: str) -> None:
    shown = medium(**changes)
    (turn,) = with_handles([Turn("tool", (shown, TextItem("/sanitized/parts/1", "after")))])
    assert turn.items == (
        shown,
        TextItem("/sanitized/parts/0", line),
        TextItem("/sanitized/parts/1", "after"),
    )


@pytest.mark.parametrize("source", [InlineBytes(b"a"), Address("https://example.com/a.png")])
def test_what_is_not_stored_has_no_name(source: InlineBytes | Address) -> None:
    turns: list[ComposedTurn] = [Turn("tool", (medium(source=source),))]
    assert with_handles(turns) == turns
