"""Lines that name the handles of stored media."""

import pytest

from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Medium,
    Omission,
    StoredBytes,
    TextItem,
    Turn,
)
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.texts.cuts import make_preview
from pagefault_dialects.turns.handles import add_handles

STORED = StoredBytes("9a0e04717cce2431260284cf548150ee", "00" * 32)
ENTRY = "/api/sessions/s/messages/7"
HANDLE = "@blob:9a0e04717cce2431260284cf548150ee"
TIMES = "\N{MULTIPLICATION SIGN}"


def medium(**changes: object) -> Medium:
    """Return a stored picture with some fields changed."""
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
    image = medium(**changes)
    (turn,) = add_handles([Turn("tool", (image, TextItem("/sanitized/parts/1", "after")))])
    assert turn.items == (
        image,
        TextItem("/sanitized/parts/0", line),
        TextItem("/sanitized/parts/1", "after"),
    )


@pytest.mark.parametrize("source", [InlineBytes(b"a"), Address("https://example.com/a.png")])
def test_medium_that_is_not_stored_has_no_name(source: InlineBytes | Address) -> None:
    turns: list[ComposedTurn] = [Turn("tool", (medium(source=source),))]
    assert add_handles(turns) == turns


@pytest.mark.parametrize(
    ("own_seq", "is_evicted", "seq"), [(None, False, 12), (13, False, 13), (None, True, 12)]
)
def test_medium_within_its_entry_is_named_by_entry_and_digest(
    own_seq: int | None, is_evicted: bool, seq: int
) -> None:
    image = medium(source=InlineBytes(b"a"), seq=own_seq, is_evicted=is_evicted)
    (turn,) = add_handles([Turn("tool", (image,), ENTRY, seq=12)])
    line = f"[image @entry:{seq}/ca978112ca1b shot.png 320{TIMES}180]"
    assert turn.items == (image, TextItem("/sanitized/parts/0", line))


WHOLE = "é" * 9_001
PREVIEW = make_preview(WHOLE, HANDLE[1:])


@pytest.mark.parametrize(
    ("item", "seq", "line"),
    [
        (TextItem("/p", PREVIEW), None, f"[text {HANDLE} 9,001 characters]"),
        (TextItem("/p", PREVIEW), 7, f"[text {HANDLE} 9,001 characters]"),
        (TextItem("/p", WHOLE), 7, "[text @entry:7 9,001 characters]"),
        (TextItem("/p", WHOLE), None, None),
        (TextItem("/p", WHOLE[:8_000]), 7, None),
        (DataItem("/p", [WHOLE]), 7, "[text @entry:7 9,005 characters]"),
    ],
)
def test_line_behind_a_long_text_names_it(
    item: TextItem | DataItem, seq: int | None, line: str | None
) -> None:
    (turn,) = add_handles([Turn("user", (item,), ENTRY, seq=seq)])
    assert turn.items == (item, *([TextItem("/p", line)] if line else []))
    assert add_handles([Turn("system", (item,), ENTRY, seq=seq)])[0].items[1:] == (
        turn.items[1:] if line and HANDLE in line else ()
    )


def test_structured_content_rendered_as_a_value_has_no_line() -> None:
    value = [WHOLE]
    apart = Omission("/p", "structuredContent", "stored-apart", "long", handle_line="[text …]")
    for item in (DataItem("/p", value), apart):
        turn: ComposedTurn = Turn("tool", (item,), ENTRY, seq=7, structured=(value,))
        assert add_handles([turn], lambda _: True) == [turn]
        assert len(add_handles([turn])[0].items) == 2
