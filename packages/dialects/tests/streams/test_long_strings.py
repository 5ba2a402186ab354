"""A long string is restored from its draft byte for byte, and its placeholder looks like it."""

import base64
import json

import pytest

from packages.dialects.tests.streams.memory_draft import MemoryDraft
from pagefault_dialects.media.base64_text import NotStrictBase64Error, PlainSpelling
from pagefault_dialects.streams.json_digests import make_name_of_base64, make_name_of_text
from pagefault_dialects.streams.long_strings import LongString

HEAD = b"data:image/png;base64,"
MARK = b"M" * 24
PIECE_BYTES = 768 * 1024


def noise(size: int) -> bytes:
    """Return bytes that are no text."""
    return bytes(index * 37 % 251 | 128 for index in range(size))


def in_lines(data: bytes, first: int, other: int, *, separator: bytes = b"\\n") -> bytes:
    """Return base64 in lines as raw JSON."""
    text = base64.b64encode(data)
    rest = text[first:]
    lines = [text[:first], *(rest[i : i + other] for i in range(0, len(rest), other))]
    return separator.join(lines)


def add(*pieces: bytes, head: bytes = b"") -> LongString[MemoryDraft]:
    string = LongString(head, MemoryDraft())
    for piece in pieces:
        string.add(piece)
    return string


def finish(*pieces: bytes, head: bytes = b"") -> LongString[MemoryDraft]:
    string = add(*pieces, head=head)
    string.finish()
    return string


SPELLINGS = {
    "one line": base64.b64encode(noise(3_001)),
    "whole groups": base64.b64encode(noise(3_000)),
    "URL-safe": base64.urlsafe_b64encode(noise(3_001)).rstrip(b"="),
    "escaped": base64.b64encode(noise(3_001)).replace(b"/", b"\\/"),
    "lines": in_lines(noise(3_001), 76, 76),
    "lines behind a head": in_lines(noise(3_001), 52, 76, separator=b"\\r\\n"),
}


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("head", [b"", HEAD])
def test_string_is_restored_from_its_bytes(name: str, head: bytes) -> None:
    raw = SPELLINGS[name]
    # Escapes are not cut.
    cut = raw.index(b"A", 1_000)
    string = finish(raw[:cut], raw[cut:], head=head)
    data = noise(3_000 if name == "whole groups" else 3_001)
    assert (bytes(string.draft.data), string.draft.is_released) == (data, True)
    assert string.raw_bytes == len(head + raw)
    assert string.read_raw() == head + raw
    assert b"".join(string.abandon()) == head + raw


@pytest.mark.parametrize("name", SPELLINGS)
def test_string_is_restored_before_its_end(name: str) -> None:
    raw = SPELLINGS[name]
    cut = raw.index(b"A", 1_000)
    string = add(raw[:cut], head=HEAD)
    assert string.read_raw() == HEAD + raw[:cut]
    assert b"".join(string.abandon()) == HEAD + raw[:cut]
    assert string.draft.is_released


def test_long_string_on_one_line_is_restored_in_pieces() -> None:
    data = noise(2 * PIECE_BYTES + 4)
    string = finish(base64.b64encode(data), head=HEAD)
    pieces = [*string.abandon()]
    encoded = base64.b64encode(data)
    chars = PIECE_BYTES // 3 * 4
    last = encoded[2 * chars :]
    assert pieces == [HEAD, encoded[:chars], encoded[chars : 2 * chars], last[:4], last[4:]]
    assert string.draft.read_sizes == [PIECE_BYTES, PIECE_BYTES, 3]


def test_piece_that_is_refused_is_not_stored() -> None:
    string = add(b"AAAA", b"AA\\/A")
    with pytest.raises(NotStrictBase64Error):
        string.add(b"AA/A")
    with pytest.raises(NotStrictBase64Error):
        string.add(b"no base64!")
    assert (string.read_raw(), string.raw_bytes) == (b"AAAAAA\\/A", 9)


def test_string_that_ends_inside_of_a_group_is_refused() -> None:
    with pytest.raises(NotStrictBase64Error):
        finish(b"AAAAA")


def test_plain_piece_is_added_as_any_other() -> None:
    data = base64.b64encode(noise(30))
    string = LongString(b"", MemoryDraft())
    assert string.add_plain(b'"' + data + b'"', 1, 22) is True
    assert string.add_plain(b'"' + data + b'"', 22, 41) is True
    string.finish()
    assert (bytes(string.draft.data), string.raw_bytes) == (noise(30), 40)
    # A slash occurred, so an escaped one cannot be restored.
    plain = add()
    assert plain.add_plain(b"AA/A", 0, 4)
    with pytest.raises(NotStrictBase64Error):
        plain.add(b"AA\\/A")


@pytest.mark.parametrize(
    ("before", "piece"), [(b"A\\/AA", b"AAAA"), (b"AAAA", b"AA\\/A"), (b"AAAA", b"AA==")]
)
def test_other_piece_is_not_added_as_a_plain_one(before: bytes, piece: bytes) -> None:
    string = add(before)
    assert string.add_plain(piece, 0, len(piece)) is False
    assert (string.raw_bytes, string.read_raw()) == (len(before), before)


@pytest.mark.parametrize(
    ("data", "needs_text"),
    [
        (b"readable \xc3\xa9 text", True),
        (b"a\ttext\r\nin lines\x0c", True),
        (b"a NUL\0", False),
        (b"\x08 backspace", False),
        (b"\x0e shift", False),
        (b"\x1f unit", False),
        (b"half of a character \xc3", False),
        (b"\xff", False),
    ],
)
def test_readable_text_is_needed_as_a_whole(data: bytes, needs_text: bool) -> None:
    raw = base64.b64encode(data)
    assert finish(raw).needs_whole_text is needs_text
    # Characters in two pieces are put together.
    assert finish(*(raw[i : i + 4] for i in range(0, len(raw), 4))).needs_whole_text is needs_text


def test_string_of_two_lines_is_needed_as_a_whole() -> None:
    assert finish(in_lines(noise(90), 76, 76)).needs_whole_text
    assert not finish(in_lines(noise(150), 76, 76)).needs_whole_text


@pytest.mark.parametrize(
    ("raw", "spelling"),
    [
        (b"/////w==", PlainSpelling(False, True)),
        (b"/////w", PlainSpelling(False, False)),
        (b"_____w==", PlainSpelling(True, True)),
        (b"////", PlainSpelling(False, True)),
        (b"/////w==\\n", None),
        (b"/////x==", None),
    ],
)
def test_plain_spelling_determines_the_string(raw: bytes, spelling: PlainSpelling | None) -> None:
    assert finish(raw).plain_spelling == spelling


def test_identity_of_earlier_versions_has_head_digest_and_spelling() -> None:
    plain, escaped = finish(b"AA//AA==", head=HEAD), finish(b"AA\\/\\/\\u002bA==")
    lines = "_Breaks(separator=b'', first=0, following=0, ended=0, open_length=6, is_closed=False)"
    plain_digest, escaped_digest = plain.draft.digest(), escaped.draft.digest()
    assert plain.make_raw_identity() == (
        b"\0%b %b False b'AA' b'==' %b\0" % (HEAD, plain_digest.encode(), lines.encode())
    )
    assert escaped.make_raw_identity() == (
        b"\0 %b False b'+A' b'==' %b \\/\\u002b\0" % (escaped_digest.encode(), lines.encode())
    )


def test_long_string_is_named_by_its_bytes_and_a_shorter_one_by_its_text() -> None:
    named, unnamed = noise(49_152), noise(49_151)
    long = finish(base64.b64encode(named).replace(b"/", b"\\/"), head=HEAD.replace(b"/", b"\\/"))
    short = finish(base64.b64encode(unnamed).replace(b"/", b"\\/"), head=HEAD)
    assert long.compute_name() == make_name_of_base64(
        HEAD.decode(), "standard one-line ", long.draft.digest()
    )
    assert short.compute_name() == make_name_of_text((HEAD + base64.b64encode(unnamed)).decode())


@pytest.mark.parametrize(
    ("lengths", "head_chars", "middle_chars", "tail_chars"),
    [(None, 4_096, 36, 4_100), ((76, 76), 4_104, 76, 4_100), ((52, 76), 4_156, 76, 4_124)],
)
def test_placeholder_has_the_beginning_and_the_end_of_the_string(
    lengths: tuple[int, int] | None, head_chars: int, middle_chars: int, tail_chars: int
) -> None:
    data = noise(9_001)
    raw = in_lines(data, *lengths) if lengths else base64.b64encode(data)
    string = finish(raw, head=HEAD)
    placeholder = string.make_placeholder(MARK)
    assert placeholder is not None
    text = placeholder.text.removeprefix(HEAD.decode())
    compact = text.replace("\n", "")
    original = base64.b64encode(data).decode()
    assert (compact[:head_chars], compact[-tail_chars:]) == (
        original[:head_chars],
        original[-tail_chars:],
    )
    middle = base64.b64decode(compact[head_chars:-tail_chars])
    assert middle == MARK.ljust(middle_chars // 4 * 3, b"\0")
    assert placeholder.data == base64.b64decode(compact)
    if lengths:
        lines = json.loads(b'"%b"' % raw).split("\n")
        assert {len(line) for line in text.split("\n")[1:-1]} == {lengths[1]}
        assert [len(text.split("\n")[i]) for i in (0, -1)] == [len(lines[0]), len(lines[-1])]


@pytest.mark.parametrize(("groups", "has_placeholder"), [(2_047, False), (2_048, True)])
def test_string_shorter_than_two_copied_parts_has_no_placeholder(
    groups: int, has_placeholder: bool
) -> None:
    string = finish(base64.b64encode(noise(groups * 3 + 1)))
    assert (string.make_placeholder(MARK) is not None) is has_placeholder
