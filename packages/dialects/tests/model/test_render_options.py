"""Options of renderings are described once, and pieces of a rendering are measured unread."""

import hashlib
from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from pagefault_dialects.model.render_options import (
    JsonPiece,
    MediaPiece,
    Range,
    RecordRenderOptions,
    Rendering,
    RenderOptions,
    StoredTextPiece,
    base64_length,
    describe_option,
    find_changed_options,
    joined_pieces,
    rendering_of,
)

BARE = MediaPiece("d" * 64, 10, is_urlsafe=True, is_padded=False)


@pytest.mark.parametrize(
    ("options", "is_local"),
    [
        (RenderOptions(), True),
        (RenderOptions(media="reference", max_images=1), True),
        (RenderOptions(media="signed-url"), False),
        (RenderOptions(max_tokens=0), False),
        (RenderOptions(frontier="main"), False),
        (RenderOptions(memory=("manifest",)), False),
        (RenderOptions(max_text=500), False),
    ],
)
def test_rendering_is_local_if_no_other_entry_changes_it(
    options: RenderOptions, is_local: bool
) -> None:
    assert options.is_local is is_local


def test_option_has_its_range_and_text() -> None:
    limits, text = describe_option("max_image_pixels")
    assert limits == Range(16, 65_535)
    assert text == (
        "The most pixels of the longer side of an image. A larger one is made smaller, with an "
        "entry of `loss`."
    )
    assert describe_option("memory_tokens")[1] == "The most tokens of the list of pages."


def test_options_that_differ_from_their_defaults_are_found() -> None:
    assert find_changed_options(RecordRenderOptions()) == {}
    options = RenderOptions(accept=("image/png",), count_tokens=False, memory_tokens=1_000)
    assert find_changed_options(options) == {"accept": ("image/png",), "count_tokens": False}


def test_range_limits_numbers_and_the_length_of_texts() -> None:
    number: TypeAdapter[object] = TypeAdapter(Annotated[int | None, Range(1, 3)])
    text: TypeAdapter[object] = TypeAdapter(Annotated[str, Range(1, 3)])
    assert [number.validate_python(value) for value in (1, 3, None)] == [1, 3, None]
    assert [text.validate_python(value) for value in ("x", "xyz")] == ["x", "xyz"]
    for adapter, value in ((number, 0), (number, 4), (text, ""), (text, "wxyz")):
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


@pytest.mark.parametrize(
    ("size_bytes", "padded", "bare"), [(0, 0, 0), (1, 4, 2), (2, 4, 3), (3, 4, 4), (10, 16, 14)]
)
def test_base64_of_a_file_is_measured(size_bytes: int, padded: int, bare: int) -> None:
    assert base64_length(size_bytes) == padded
    assert MediaPiece("d", size_bytes).sent_bytes == padded
    assert MediaPiece("d", size_bytes, is_padded=False).sent_bytes == bare


def test_fingerprint_of_a_piece_has_its_digest_and_spelling() -> None:
    pieces: list[MediaPiece | StoredTextPiece] = [
        MediaPiece("d", 1),
        MediaPiece("d", 1, is_urlsafe=True),
        MediaPiece("d", 1, is_padded=False),
        MediaPiece("d", 1, is_urlsafe=True, is_padded=False),
        StoredTextPiece("d", 1, 2),
    ]
    assert [piece.fingerprint for piece in pieces] == [
        b"d", b"d-url", b"d-bare", b"d-url-bare", b"d-text",
    ]  # fmt: skip


def test_rendering_has_a_size_and_a_digest_of_its_pieces() -> None:
    pieces: list[JsonPiece] = [b'["', BARE, StoredTextPiece("e", 5, 7), b'"]']
    hashed = b'2:["73:%b-url-bare6:e-text2:"]' % (b"d" * 64)
    rendering = rendering_of(pieces)
    assert rendering == Rendering(pieces, hashlib.sha256(hashed).hexdigest())
    assert rendering.size_bytes == 2 + 14 + 7 + 2


def test_neighbouring_bytes_are_joined() -> None:
    pieces: list[JsonPiece] = [b"a", b"b", BARE, BARE, b"c", b"", b"d"]
    assert joined_pieces(pieces) == [b"ab", BARE, BARE, b"cd"]
    assert joined_pieces([]) == []
