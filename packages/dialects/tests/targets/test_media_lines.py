"""Lines in place of media name their kind, name, size and origin."""

import pytest

from pagefault_dialects.model.conversation import (
    Address,
    BlockLabel,
    MediaItem,
    Medium,
    ResolvedTurn,
    StoredBytes,
    Turn,
)
from pagefault_dialects.model.resource import MediaHints, ResourceKind
from pagefault_dialects.targets.media_lines import (
    format_attachment_line,
    format_label_line,
    format_medium_name,
    format_origin_line,
    format_placeholder,
    format_size,
)

STORED = StoredBytes("r", "d")


def medium(
    kind: ResourceKind = "video", name: str | None = "demo.mp4", size: int | None = 5_200_000
) -> Medium:
    return Medium("/0", STORED, kind, "video/mp4", name, size)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (5_249, "5.2 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_500_000_000, "1.5 GB"),
        (999_950_000_000, "1.0 TB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_size_is_written_for_people(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (medium(), "Video: demo.mp4 (5.2 MB)"),
        (medium("image", "a[1]\n.png"), "Image: a(1)\\n.png (5.2 MB)"),
        (medium("audio", None, 0), "Audio: video/mp4 (0 B)"),
        (medium("binary", ""), "File: video/mp4 (5.2 MB)"),
        (medium("text", size=None), "File: demo.mp4"),
        (
            Medium("/0", Address("https://h.test/a\nb"), "image", "image/png", None, None),
            "Image: image/png (https://h.test/a\\nb)",
        ),
    ],
)
def test_medium_is_described_by_kind_name_and_size(found: Medium, name: str) -> None:
    assert format_medium_name(found) == name
    assert format_placeholder(found) == f"[{name}]"


def test_medium_that_is_sent_elsewhere_has_a_line_at_both_places() -> None:
    item = MediaItem(medium(), STORED, "video", "video/mp4", 1, MediaHints())
    assert format_attachment_line(item, "attached below") == (
        "[Video: demo.mp4 (5.2 MB), attached below]"
    )
    named: ResolvedTurn = Turn("tool", (), tool_name="shoot\n")
    unnamed: ResolvedTurn = Turn("tool", ())
    assert format_origin_line(named, item, "c1") == (
        "Video: demo.mp4 (5.2 MB), from the tool shoot\\n, call c1:"
    )
    assert format_origin_line(unnamed, item, "c1") == (
        "Video: demo.mp4 (5.2 MB), from the tool without a name, call c1:"
    )


@pytest.mark.parametrize(
    ("label", "text", "line"),
    [
        (BlockLabel("a.md", "file:///a.md"), "text", "[a.md, file:///a.md]"),
        (BlockLabel("a.md"), "text", "[a.md]"),
        (BlockLabel(uri="file:///a.md"), "text", "[file:///a.md]"),
        (BlockLabel("same", "same"), "text", "[same]"),
        (BlockLabel("a.md", "file:///b"), "see a.md", "[file:///b]"),
        (BlockLabel("a.md", "file:///a.md"), "file:///a.md", None),
        (BlockLabel(), "text", None),
        (BlockLabel(""), "text", None),
        (BlockLabel("far"), " " * 8_190 + "far", "[far]"),
        (BlockLabel("near"), " " * 8_188 + "near", None),
        (BlockLabel("n" * 2_049), "text", f"[{'n' * 2_048}]"),
    ],
)
def test_label_that_the_text_lacks_is_before_it(
    label: BlockLabel, text: str, line: str | None
) -> None:
    assert format_label_line(label, text) == line
