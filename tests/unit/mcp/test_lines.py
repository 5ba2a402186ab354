"""Lines of a pipe, short and long."""

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from app.mcp.lines import IN_MEMORY_BYTES, read_lines
from app.mcp.members import Span

pytestmark = pytest.mark.anyio


async def lines_of(pieces: Sequence[bytes]) -> list[bytes]:
    """Return the lines that come out of a pipe's pieces."""

    async def pipe() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    read = []
    async for line in read_lines(pipe()):
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

    async def pipe() -> AsyncIterator[bytes]:
        for start in range(0, len(whole), 100_000):
            yield whole[start : start + 100_000]

    async for line in read_lines(pipe()):
        with line:
            members = {name: json.loads(line.read(span)) for name, span in line.members.items()}
            assert (line.is_long, line.size_bytes) == (True, len(whole))
            assert members == {"id": 7, "result": {"text": text}}
            assert max(map(len, line.pieces())) < IN_MEMORY_BYTES
            assert line.read(Span(0, 9)) == b'{"id": 7,'
