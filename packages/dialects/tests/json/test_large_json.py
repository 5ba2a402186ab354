"""JSON of many values, parsed in pieces: read or refused as `json.loads` does."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.json.json_texts import JSON_TEXTS
from pagefault_dialects.json.large_json import (
    PIECE_CHARS,
    PIECE_NODES,
    Pieces,
    decode_in_pieces,
    find_large_containers,
    find_longest_string,
    find_string_end,
)
from pagefault_dialects.json.numbers import EXACT_HOOKS
from pagefault_dialects.json.values import iterate_values, json_text, parse_json
from pagefault_dialects.text_windows import WINDOW_CHARS

SMALL_PIECES = st.integers(3, 40)
MANY = 50_000
WIDE: dict[str, str] = {
    "numbers": f"[{'1,' * MANY}1]",
    "empty arrays": f"[{'[],' * MANY}[]]",
    "empty objects": f"[{'{},' * MANY}{{}}]",
    "strings with brackets": "[" + '"],[",' * MANY + "0]",
    "members": json.dumps({f"k{n}": n for n in range(MANY)}),
    "objects": json.dumps([{"a": [n]} for n in range(MANY)]),
    "an array within arrays": f"{'[' * 300}{'[[]],' * MANY}1{']' * 300}",
    "large members": '{"a":[2],"b":[' + "1," * MANY + '1],"c":1,"d":[' + "1," * MANY + "1]}",
}


def outcome(read: Callable[[], object]) -> tuple[object, ...]:
    """Return the parsed value with its types, or the error."""
    try:
        return ("value", repr(read()))
    except ValueError as error:
        return (type(error), *error.args)


def refused_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


HOOKS: list[dict[str, Any]] = [{}, EXACT_HOOKS, {"object_pairs_hook": refused_twice}]


@pytest.mark.parametrize("hooks", HOOKS, ids=["plain", "spelled", "pairs"])
@given(text=JSON_TEXTS, piece_chars=SMALL_PIECES)
def test_text_in_pieces_is_the_value_of_the_whole(
    text: str, piece_chars: int, hooks: dict[str, Any]
) -> None:
    assert outcome(lambda: decode_in_pieces(text, hooks, piece_chars=piece_chars)) == outcome(
        lambda: json.JSONDecoder(**hooks).decode(text)
    )


@given(
    text=JSON_TEXTS,
    piece_chars=SMALL_PIECES,
    at=st.integers(0, 200),
    removed=st.integers(0, 3),
    put_in=st.sampled_from(["", ",", "]", "}", "[", '"', "\\", "NaN", ":", "1 ", "-Infinity,"]),
)
def test_damaged_text_is_refused_as_the_whole_is(
    text: str, piece_chars: int, at: int, removed: int, put_in: str
) -> None:
    damaged = text[:at] + put_in + text[at + removed :]
    assert outcome(
        lambda: decode_in_pieces(damaged, EXACT_HOOKS, piece_chars=piece_chars)
    ) == outcome(lambda: json.JSONDecoder(**EXACT_HOOKS).decode(damaged))


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "No call of the JSON parser reads more than 30,000 values, so that other threads go on",
    kept_by="packages/dialects/src/pagefault_dialects/json/large_json.py",
    tried="8 shapes of 50,000 values and more",
)
@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
def test_no_piece_of_a_wide_text_has_more_values_than_are_parsed_at_once(text: str) -> None:
    pieces = Pieces(text, {})
    large = find_large_containers(text)
    sizes = [
        sum(1 for _ in iterate_values(piece))
        for container in large
        for piece in pieces.parse(container, lambda _: None)
    ]
    assert max(sizes) <= PIECE_NODES
    assert sum(sizes) > MANY


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
def test_wide_text_is_parsed_whole(text: str) -> None:
    value = parse_json(text.encode(), max_depth=1_000, max_nodes=10 * MANY)
    assert json_text(value) == json_text(json.loads(text))


def test_containers_of_a_long_text_that_is_not_closed_end_with_it() -> None:
    text = f"[1,[{'2,' * PIECE_CHARS}"
    assert [
        (large_container.start, large_container.end)
        for large_container in find_large_containers(text)
    ] == [
        (3, len(text)),
        (0, len(text)),
    ]


def test_longest_string_of_a_text_is_found_with_its_escapes() -> None:
    long = '"' + '\\"' * WINDOW_CHARS + '"'
    texts = [
        ('{"a":"bc","de":1}', '"bc"'),
        ('["a","b"]', '"a"'),
        ('["\\\\","\\"]"]', '"\\"]"'),
        (f'["a",{long},"b"]', long),
        ('["a","bcd', '"bcd'),
        ('["a","bc\\', '"bc\\'),
        ("[1,2]", ""),
    ]
    assert [(text, find_longest_string(text)) for text, _ in texts] == texts


def test_string_ends_behind_its_quotation_mark() -> None:
    for size in (WINDOW_CHARS - 2, WINDOW_CHARS - 1, WINDOW_CHARS, 2 * WINDOW_CHARS + 1):
        text = "[" + '"' + "a" * size + '\\""]'
        ends = [find_string_end(text, 2), find_string_end(text[:-2], 2), find_string_end(text, 9)]
        assert ends == [len(text) - 1, len(text) - 2, len(text) - 1]
    assert find_string_end("a", 1) == 1
