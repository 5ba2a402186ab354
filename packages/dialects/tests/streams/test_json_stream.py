"""A body is cut into text and long strings, wherever its pieces end."""

import hashlib
from collections.abc import Iterable

import pytest

from packages.dialects.tests.streams.memory_draft import MemoryDraft
from pagefault_dialects.streams.json_stream import JsonStream

LONG_CHARS = 24
LONG = b"A" * LONG_CHARS
HEAD = b"data:image/png;base64,"
# Bodies, the raw JSON of their long strings, and the bytes of these.
BODIES: dict[str, tuple[bytes, list[bytes], list[bytes]]] = {
    "no string": (b"[1, 2, {}]", [], []),
    "short strings": (b'{"a": "AAAA", "b": ["", "%b"]}' % LONG[1:], [], []),
    "backslashes": (b'["ab\\\\\\"cd\\\\", "\\\\\\\\", 1]', [], []),
    "a long string": (b'{"a": "%b", "b": 1}' % LONG, [LONG], [bytes(18)]),
    "two long strings": (
        b'["%b////", "x", "%bAA=="]' % (LONG, LONG),
        [LONG + b"////", LONG + b"AA=="],
        [bytes(18) + b"\xff" * 3, bytes(19)],
    ),
    "escapes": (
        b'{"\\"": "\\\\", "a": "%b\\/\\/AA//A\\u003d"}'.replace(b"//", b"\\/\\/") % LONG,
        [LONG + b"\\/\\/AA\\/\\/A\\u003d"],
        [bytes(18) + b"\xff\xf0\x00\xff\xf0"],
    ),
    "a data URI": (b'["%bAAAA%b", 2]' % (HEAD, LONG), [HEAD + b"AAAA" + LONG], [bytes(21)]),
    "long texts": (
        b'["no base64, but a text of some length", "another \\"text\\" of more words\\\\", ""]',
        [],
        [],
    ),
    "text after base64": (b'["%bAAAA is \\"no\\" base64\\\\", "%b"]' % (LONG, LONG), [LONG],
                          [bytes(18)]),
    "no padding": (b'["%bAAA"]' % LONG, [LONG + b"AAA"], [bytes(20)]),
    "an incomplete group": (b'["%bA"]' % LONG, [], []),
    "an escaped letter": (b'["%b\\u0041AAA"]' % LONG, [], []),
}  # fmt: skip


def make_stream(reserved: list[int] | None = None) -> JsonStream[MemoryDraft]:
    reserved = [] if reserved is None else reserved
    return JsonStream(MemoryDraft, reserved.append, long_chars=LONG_CHARS)


def scan(pieces: Iterable[bytes], reserved: list[int] | None = None) -> JsonStream[MemoryDraft]:
    stream = make_stream(reserved)
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    return stream


def observe(stream: JsonStream[MemoryDraft]) -> tuple[bytes, list[bytes], list[bytes], int]:
    """Return the restored body, its long strings, their bytes, and the size of the text."""
    raw = [string.read_raw() for string in stream.long_strings]
    data = [bytes(string.draft.data) for string in stream.long_strings]
    return stream.join_body(raw), raw, data, stream.kept_bytes


@pytest.mark.parametrize("name", BODIES)
def test_body_is_scanned_alike_wherever_its_pieces_end(name: str) -> None:
    body, raw, data = BODIES[name]
    expected = (body, raw, data, len(body) - sum(map(len, raw)))
    cuts = [[body[:cut], body[cut:]] for cut in range(len(body) + 1)]
    pieces = [[body[i : i + size] for i in range(0, len(body), size)] for size in (1, 2, 3, 5, 7)]
    different = [parts for parts in (*cuts, *pieces) if observe(scan(parts)) != expected]
    assert different == []


@pytest.mark.parametrize("name", BODIES)
def test_whole_body_is_scanned_as_one_in_pieces(name: str) -> None:
    body, raw, data = BODIES[name]
    stream = make_stream()
    stream.feed_whole(body)
    stream.finish()
    assert stream.is_whole
    assert not scan([body]).is_whole
    assert stream.compute_byte_digest(b"before") == hashlib.sha256(b"before" + body).hexdigest()
    assert observe(stream) == (body, raw, data, len(body) - sum(map(len, raw)))


def test_string_of_an_unfinished_body_is_kept() -> None:
    unfinished = [b'["short', b'["%bAA\\u0' % LONG, b'["%bA' % LONG, b'["a text of %b\\' % LONG]
    restored = [observe(scan([body]))[:2] for body in unfinished]
    assert restored == [
        (unfinished[0], []),
        (unfinished[1], [LONG + b"AA"]),
        (unfinished[2], [LONG + b"A"]),
        (unfinished[3], []),
    ]


def test_memory_is_reserved_for_base64_that_turns_out_to_be_text() -> None:
    reserved: list[int] = []
    scan([b'["ab", "%b' % LONG, b"AAAA", b'AAAA and no base64"]'], reserved)
    # The text before the string, and what was decoded of the string.
    assert reserved == [len(b'["ab", "') + LONG_CHARS + 4]


def test_digest_of_a_body_in_pieces_has_the_identities_of_its_long_strings() -> None:
    stream = scan([b'["%b", 1]' % LONG])
    (string,) = stream.long_strings
    expected = b'before["%b", 1]' % string.make_raw_identity()
    assert stream.compute_byte_digest(b"before") == hashlib.sha256(expected).hexdigest()


def test_long_strings_of_a_body_are_replaced_in_order() -> None:
    stream = scan([b'["%b", "%b"]' % (LONG, LONG)])
    assert stream.join_body([b"first", b"second"]) == b'["first", "second"]'


def test_text_of_a_body_without_long_strings_is_joined_once() -> None:
    stream = scan([b'["a', b'b"]'])
    assert stream.join_body([]) == b'["ab"]'
    assert stream.texts == [b'["ab"]']


def test_stream_without_data_is_empty_as_is_one_that_was_cleared() -> None:
    assert not make_stream().has_data
    stream = scan([b'["%b", "' % LONG])
    assert stream.has_data
    stream.clear()
    assert (stream.has_data, stream.texts, stream.long_strings) == (False, [], [])
    stream.finish()
    assert stream.join_body([]) == b""


@pytest.mark.parametrize("size", [LONG_CHARS - 1, LONG_CHARS])
@pytest.mark.parametrize("start", range(LONG_CHARS))
def test_whole_body_has_a_long_string_from_a_length_on(size: int, start: int) -> None:
    stream = make_stream()
    stream.feed_whole(b"[" + b"1," * start + b'"%b"]' % LONG[:size])
    assert len(stream.long_strings) == (size == LONG_CHARS)
