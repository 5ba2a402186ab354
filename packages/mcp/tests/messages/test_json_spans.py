"""Members of an object are found in its text, however the text is cut."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_mcp.messages.json_spans import MemberScanner

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=12,
)
SPACES = st.sampled_from(["", " ", "\n", "\t \r\n"])


def scan(text: bytes, cuts: list[int]) -> MemberScanner:
    """Feed a text that is cut at some places."""
    scanner = MemberScanner()
    ends = sorted(cut % (len(text) + 1) for cut in cuts)
    for start, end in pairwise([0, *ends, len(text)]):
        scanner.feed(text[start:end])
    return scanner


def found(text: bytes, scanner: MemberScanner) -> list[tuple[Any, Any]]:
    """Return the keys and values that are where the scanner says."""
    return [
        (json.loads(text[slice(*key)]), json.loads(text[slice(*value)]))
        for key, value in scanner.members
    ]


@pytest.mark.slow
@given(
    members=st.lists(st.tuples(st.text(), JSON), max_size=5),
    space=SPACES,
    is_ascii=st.booleans(),
    cuts=st.lists(st.integers(min_value=0), max_size=6),
)
def test_members_are_those_of_the_object(
    members: list[tuple[str, Any]], space: str, is_ascii: bool, cuts: list[int]
) -> None:
    written = [
        f"{space}{json.dumps(key, ensure_ascii=is_ascii)}{space}:{space}"
        f"{json.dumps(value, ensure_ascii=is_ascii)}{space}"
        for key, value in members
    ]
    text = f"{space}{{{','.join(written)}}}{space}".encode()
    scanner = scan(text, cuts)
    assert (scanner.is_whole, found(text, scanner)) == (True, members)


@given(value=JSON.filter(lambda value: not isinstance(value, dict)))
def test_what_is_no_object_has_no_members(value: object) -> None:
    scanner = scan(json.dumps(value).encode(), [])
    assert (scanner.is_whole, scanner.members) == (False, [])


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"a":1', b'{"a":"}', b'{"a":1}{"b":2}', b'[1]{"a":1}', b"}{", b'{"a"}{']
)
def test_what_is_not_one_whole_object_is_not_taken_for_one(text: bytes) -> None:
    assert not (scan(text, []).is_whole and found(text, scan(text, [])) != [])


@given(text=st.binary(max_size=60), cuts=st.lists(st.integers(min_value=0), max_size=4))
def test_any_bytes_are_read_alike_however_they_are_cut(text: bytes, cuts: list[int]) -> None:
    whole, cut = scan(text, []), scan(text, cuts)
    assert (cut.is_whole, cut.members) == (whole.is_whole, whole.members)
