"""Results are rewritten for the host."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pagefault_mcp.messages.lines import Line, LinePiece
from pagefault_mcp.messages.rewritten_messages import (
    has_only_handles,
    replace_content,
    rewrite_line,
)

HANDLE = "@blob:" + "0123456789abcdef" * 2
LONG = "x" * 1024 * 1024
WORDS = [{"type": "text", "text": "a"}]


@contextmanager
def line_of(value: object) -> Iterator[Line]:
    """A line with a message on it."""
    with Line() as line:
        line.add(json.dumps(value).encode() + b"\n")
        yield line


def rewritten(result: object, rendering: object, *, is_typed: bool = False) -> object:
    """Return the rewritten result; `None` if it is unchanged."""
    with line_of({"id": 1, "result": result}) as line, line_of(rendering) as other:
        pieces = replace_content(
            line, line.members["result"], LinePiece(other, other.whole_span), is_typed=is_typed
        )
        got: object = pieces and json.loads(b"".join(rewrite_line(line, [pieces])))
        return got


def test_result_whose_content_stays_keeps_what_is_long_beside_it() -> None:
    result = {"content": WORDS, "_meta": {"a": LONG}, "isError": False}
    assert rewritten(result, {"content": WORDS}) is None
    long = {**result, "structuredContent": {"a": LONG}}
    assert rewritten(long, {"content": WORDS}, is_typed=True) is None
    assert rewritten(long, {"content": WORDS}) == {"id": 1, "result": result}


def test_result_whose_content_does_not_stay_has_nothing_long_beside_it() -> None:
    result = {"content": WORDS, "_meta": {"a": LONG}, "isError": False}
    other = [{"type": "text", "text": "b"}]
    expected = {"id": 1, "result": {"content": other, "isError": False}}
    assert rewritten(result, {"content": other}) == expected


@pytest.mark.parametrize(
    ("content", "is_alone"),
    [
        ([{"type": "text", "text": HANDLE}], True),
        ([{"type": "text", "text": f"[image {HANDLE} a.png 1x1]"}] * 2, True),
        ([{"type": "text", "text": HANDLE}, *WORDS], False),
        ([{"type": "image", "text": HANDLE}], False),
        ([], False),
        ([5, "a"], False),
        (HANDLE, False),
    ],
)
def test_handles_alone_are_told_from_anything_else(content: object, *, is_alone: bool) -> None:
    with line_of({"id": 1, "result": {"content": content}}) as line:
        assert has_only_handles(line, line.members["result"]) is is_alone
