"""Lines of a pipe, short and long."""

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import IN_MEMORY_BYTES, LinePiece, read_lines, read_text

pytestmark = pytest.mark.anyio


async def pipe(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    """A pipe that gives some pieces."""
    for piece in pieces:
        yield piece


async def lines_of(pieces: Sequence[bytes]) -> list[bytes]:
    """Return the lines that come out of a pipe's pieces."""
    read = []
    async for line in read_lines(pipe(pieces)):
        with line:
            read.append(b"".join(line.pieces()))
    return read


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([], []),
        ([b""], []),
        ([b"a\n"], [b"a\n"]),
        ([b"a", b"b\n", b"c\nd\n"], [b"ab\n", b"c\n", b"d\n"]),
        ([b"a\n\n", b"\r\n"], [b"a\n", b"\n", b"\r\n"]),
        ([b"a\nwithout an end"], [b"a\n", b"without an end"]),
    ],
)
async def test_lines_come_out_as_they_went_in(pieces: list[bytes], lines: list[bytes]) -> None:
    assert await lines_of(pieces) == lines


async def test_long_line_is_kept_whole_and_its_members_are_found() -> None:
    text = "x" * (3 * IN_MEMORY_BYTES)
    whole = json.dumps({"id": 7, "result": {"text": text}}).encode() + b"\n"
    pieces = [whole[start : start + 100_000] for start in range(0, len(whole), 100_000)]
    async for line in read_lines(pipe(pieces)):
        with line:
            members = {name: json.loads(line.read(span)) for name, span in line.members.items()}
            assert (line.is_long, line.size_bytes) == (True, len(whole))
            assert members == {"id": 7, "result": {"text": text}}
            assert max(map(len, line.pieces())) < IN_MEMORY_BYTES
            assert line.read(Span(0, 9)) == b'{"id": 7,'


async def test_text_of_many_lines_becomes_one_line_that_says_the_same() -> None:
    value = {"a": ["b\nc", {}], "d": "e" * IN_MEMORY_BYTES}
    indented = json.dumps(value, indent=2).replace("\n", "\r\n").encode()
    with await read_text(pipe([indented[:9], indented[9:]])) as text:
        whole = text.read()
    assert (whole.count(b"\n"), whole.count(b"\r"), json.loads(whole)) == (0, 0, value)


@pytest.mark.parametrize("text", ["[]", " [ ] ", "[1]", '[ {"a": [2]} , [],"]" ]'])
async def test_items_of_a_list_are_found_where_they_are(text: str) -> None:
    with await read_text(pipe([text.encode()])) as line:
        items = [json.loads(item.read()) for item in LinePiece(line, line.whole_span).items()]
    assert items == json.loads(text)


@pytest.mark.parametrize("text", ["{}", "1", ""])
async def test_what_is_no_list_has_no_items(text: str) -> None:
    with await read_text(pipe([text.encode()])) as line, pytest.raises(ValueError, match=r"\A\Z"):
        list(LinePiece(line, line.whole_span).items())
