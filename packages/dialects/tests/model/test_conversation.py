"""Turns, their items and calls know their entries, media and blocks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pagefault_dialects.model.conversation import (
    CACHE_MARK,
    Address,
    BlockLabel,
    DataItem,
    InlineBytes,
    Item,
    MediaItem,
    Medium,
    NativeBlock,
    Omission,
    ProviderBlock,
    StoredBytes,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    block_of,
    is_cache_mark,
    locate_calls,
    stored_medium,
    with_entry_seq,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.media import CHUNK_BYTES, InMemoryMedia
from pagefault_dialects.model.media_handles import handle_of
from pagefault_dialects.model.normalized import BodyWarning, more_warnings
from pagefault_dialects.model.resource import (
    ImageRecipe,
    MediaHints,
    Resource,
    ResourceKind,
    parse_resource_id,
    resource_kind,
)
from pagefault_dialects.model.timestamps import format_timestamp, rfc3339

BLOCK = NativeBlock("anthropic", {}, 1, ())
MEDIUM = Medium("/parts/0", StoredBytes("r", "d"), "image", "image/png", "a.png", 3)
RESOURCE_ID = "0123456789abcdef" * 2


def test_medium_that_is_left_out_or_collected_is_a_line() -> None:
    evicted, collected = replace(MEDIUM, is_evicted=True), replace(MEDIUM, is_collected=True)
    assert [m.is_line for m in (MEDIUM, evicted, collected)] == [False, True, True]


def test_medium_has_the_type_that_its_block_declares() -> None:
    labelled = replace(MEDIUM, label=BlockLabel(mime_type="image/x"))
    assert (MEDIUM.declared_type, labelled.declared_type) == (None, "image/x")


def test_rendered_medium_has_a_url_unless_it_is_a_reference() -> None:
    item = MediaItem(MEDIUM, MEDIUM.source, "image", "image/png", 3, MediaHints(), "https://a.test")
    assert (item.filename, item.url) == ("a.png", "https://a.test")
    assert replace(item, is_reference=True).url is None


def test_cache_mark_is_a_block_with_its_code() -> None:
    mark = ProviderBlock("/0", {}, "a mark", CACHE_MARK, "")
    assert is_cache_mark(mark)
    assert not is_cache_mark(replace(mark, code="file-id"))
    assert not is_cache_mark(Omission("/0", "a mark", CACHE_MARK, ""))


@pytest.mark.parametrize(
    ("item", "block"),
    [
        (TextItem("/0", "t", block=BLOCK), BLOCK),
        (replace(MEDIUM, block=BLOCK), BLOCK),
        (TextItem("/0", "t"), None),
        (DataItem("/0", {}), None),
        (SyntheticNote("line", "c", "r", 1), None),
    ],
)
def test_item_has_the_block_it_was_read_from(item: Item, block: NativeBlock | None) -> None:
    assert block_of(item) is block


def test_item_gets_the_number_of_its_entry_once() -> None:
    text, note = TextItem("/0", "t"), SyntheticNote("line", "c", "r", None)
    numbered = with_entry_seq(text, 4)
    assert isinstance(numbered, TextItem)
    assert (numbered.seq, numbered.text) == (4, "t")
    assert with_entry_seq(numbered, 5) is numbered
    assert with_entry_seq(note, 5) is note


@pytest.mark.parametrize(
    ("origin", "item_seq", "expected"),
    [("/api/sessions/s", None, 3), ("/api/sessions/s", 5, 5), ("", 5, None), ("/x/api/", 5, None)],
)
def test_item_of_a_stored_record_has_the_number_of_its_entry(
    origin: str, item_seq: int | None, expected: int | None
) -> None:
    assert Turn("user", (), origin, seq=3).entry_seq(item_seq) == expected


def test_calls_are_located_by_their_entry_and_index() -> None:
    calls = tuple(TurnCall(f"c{number}", "f", {}) for number in range(6))
    placed = replace(calls[1], entry_position=(9, 4))
    turns: list[Turn[Item]] = [
        Turn("assistant", (), seq=1, calls=(calls[0], placed)),
        Turn("assistant", (), calls=(calls[2],)),
        Turn("assistant", (), seq=1, calls=(calls[3],)),
        Turn("assistant", (), seq=2, calls=(calls[4],)),
    ]
    located = [(call.call_id, call.entry_position) for call in locate_calls(turns)]
    assert located == [
        ("c0", (1, 0)), ("c1", (9, 4)), ("c2", None), ("c3", (1, 2)), ("c4", (2, 0)),
    ]  # fmt: skip


def test_stored_resource_is_a_medium_of_a_record() -> None:
    hints = MediaHints(1, 2)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    resource = Resource(RESOURCE_ID, "d", "audio/wav", "a.wav", 5, "audio", hints, now)
    assert stored_medium(resource, "/p") == Medium(
        "/p", StoredBytes(RESOURCE_ID, "d"), "audio", "audio/wav", "a.wav", 5, hints
    )
    assert (resource.uri, resource.reference) == (f"blob:{RESOURCE_ID}", f"@blob:{RESOURCE_ID}")


def test_medium_has_a_handle_by_its_resource_or_its_bytes_in_an_entry() -> None:
    inline = replace(MEDIUM, source=InlineBytes(b"abc"))
    assert handle_of(MEDIUM, None) == "@blob:r"
    # The beginning of the SHA-256 of `abc` (FIPS 180).
    assert handle_of(inline, 12) == "@entry:12/ba7816bf8f01"
    assert handle_of(inline, 0) == "@entry:0/ba7816bf8f01"
    assert handle_of(inline, None) is None
    assert handle_of(replace(MEDIUM, source=Address("https://a.test")), 1) is None


@pytest.mark.parametrize("prefix", ["", "blob:", "@blob:"])
def test_resource_id_is_read_with_and_without_its_prefix(prefix: str) -> None:
    assert parse_resource_id(prefix + RESOURCE_ID) == RESOURCE_ID


@pytest.mark.parametrize("text", ["", RESOURCE_ID[1:], RESOURCE_ID + "0", "@" + RESOURCE_ID,
                                  RESOURCE_ID.upper(), RESOURCE_ID + "\n"])  # fmt: skip
def test_other_text_is_no_resource_id(text: str) -> None:
    assert parse_resource_id(text) is None


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [("application/json", "text"), ("text/csv", "text"), ("image/png", "image"),
     ("audio/wav", "audio"), ("video/mp4", "video"), ("application/pdf", "binary"),
     ("images", "binary")],
)  # fmt: skip
def test_mime_type_has_a_kind(mime_type: str, kind: ResourceKind) -> None:
    assert resource_kind(mime_type) == kind


def test_recipe_of_an_image_has_a_key() -> None:
    recipe = ImageRecipe(("image/jpeg", "image/png"), 2_000, 3_750_000)
    assert recipe.key == "v1;jpeg,png;2000;3750000"
    assert ImageRecipe(("image/png",)).key == "v1;png;-;-"
    assert ImageRecipe(("image/png",), min_side=0).key == "v1;png;-;-;0"


def test_medium_in_memory_is_read_in_pieces() -> None:
    data = bytes(range(256)) * (CHUNK_BYTES // 256) + b"end"
    medium = InMemoryMedia(data, "image/png")
    assert (medium.size_bytes, medium.head(3), medium.read(1, 2)) == (
        CHUNK_BYTES + 3, b"\0\1\2", b"\1\2",
    )  # fmt: skip
    assert [*medium.chunks()] == [data[:CHUNK_BYTES], b"end"]


def test_moment_is_written_in_utc_or_with_its_offset() -> None:
    east = timezone(timedelta(hours=1, minutes=30))
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=east)
    assert rfc3339(moment) == "2026-01-02T01:34:05.000000Z"
    assert rfc3339(moment.astimezone(UTC)) == "2026-01-02T01:34:05.000000Z"
    assert format_timestamp(moment) == "2026-01-02T03:04:05+01:30"
    assert format_timestamp(moment.astimezone(timezone.utc)) == "2026-01-02T01:34:05Z"  # noqa: UP017


def test_further_warnings_are_counted() -> None:
    detail = "There were 7 more warnings like these."
    assert more_warnings(7) == BodyWarning("more-warnings", "", detail)


def test_frontier_is_limited_to_an_entry() -> None:
    frontier = Frontier(folded=5, floor=2, orphans=(1, 3, 4))
    assert frontier.up_to(3) == Frontier(folded=3, floor=2, orphans=(1, 3))
