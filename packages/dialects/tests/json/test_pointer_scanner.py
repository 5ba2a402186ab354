"""A pointer finds the same value in a text as in the parsed text."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.json.json_texts import JSON_TEXTS
from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.pointer_scanner import (
    LargeValue,
    ScanLimits,
    ScannedValue,
    scan_pointer,
)
from pagefault_dialects.json.pointers import follow
from pagefault_dialects.json.values import json_text
from pagefault_dialects.text_windows import without_lone_surrogates

BUILT_BYTES = 64 * 1024
MANY = 12_000
NAMES = st.lists(st.sampled_from(["a", "b", "0", "1", "2", "~/", "", "\ufffd", ",["]), max_size=6)


def scan(
    text: str, *names: str, piece_chars: int = 60_000, built_bytes: int = BUILT_BYTES
) -> ScannedValue:
    limits = ScanLimits(1_000, 1_000_000, built_bytes, 200, piece_chars)
    return scan_pointer(text, names, limits)


def replace_surrogates(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value without lone surrogates; of keys that become equal, the last one is used."""
    if isinstance(value, dict):
        return {
            without_lone_surrogates(key): replace_surrogates(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return list(map(replace_surrogates, value))
    return without_lone_surrogates(value) if isinstance(value, str) else value


def repeats_keys(text: str) -> bool:
    repeated: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [without_lone_surrogates(key) for key, _ in pairs]
        repeated.extend(key for key in keys if keys.count(key) > 1)
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    return bool(repeated)


@given(text=JSON_TEXTS, names=NAMES, piece_chars=st.integers(3, 40))
def test_pointer_finds_the_same_value_in_the_text_and_in_the_parsed_value(
    text: str, names: list[str], piece_chars: int
) -> None:
    expected = follow(replace_surrogates(json.loads(text)), tuple(names))
    found = scan(text, *names, piece_chars=piece_chars)
    assert (repr(json.loads(json_text(found.value))), found.steps) == (
        repr(expected.value),
        expected.steps,
    )


@pytest.mark.slow
@given(text=JSON_TEXTS, names=NAMES, piece_chars=st.integers(3, 40))
def test_large_value_has_the_length_and_members_of_the_parsed_one(
    text: str, names: list[str], piece_chars: int
) -> None:
    found = scan(text, *names, piece_chars=piece_chars, built_bytes=0).value
    if not isinstance(found, LargeValue):
        return
    whole: Any = scan(text, *names, piece_chars=piece_chars).value
    if repeats_keys(text):
        # Repeated members are counted.
        return
    members = whole.items() if isinstance(whole, dict) else enumerate(whole)
    assert (found.is_array, found.length, found.size_bytes) == (
        isinstance(whole, list),
        len(whole),
        len(json_text(whole).encode()),
    )
    assert [
        (key, member.length if isinstance(member, LargeValue) else repr(replace_surrogates(member)))
        for key, member in found.members
    ] == [
        (key, len(member) if isinstance(item, LargeValue) else repr(member))
        for (key, member), (_, item) in zip(members, found.members, strict=True)
    ]


@pytest.mark.parametrize("text", ["[1,2", '{"a":[NaN]}', "[1]]", '{"a":1,}', "[1e999]", "[,1]", ""])
def test_invalid_json_is_refused_in_pieces_of_any_size(text: str) -> None:
    for piece_chars in (3, 60_000):
        with pytest.raises(InvalidJsonError):
            scan(text, "a", piece_chars=piece_chars)


def test_depth_and_number_of_values_are_limited() -> None:
    for text in ("[" * 1_001 + "]" * 1_001, f"[{'1,' * 1_000_001}1]"):
        with pytest.raises(PayloadTooLargeError):
            scan(text)


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A JSON pointer is followed through a long text without building the value of the text",
    kept_by="packages/dialects/src/pagefault_dialects/json/pointer_scanner.py",
    tried="3 pointers into 3 texts of 12,000 members and more, at most 1.5 MB",
)
@pytest.mark.parametrize(
    "text",
    [
        json.dumps({f"k{n}": [n, "word"] for n in range(MANY)}),
        json.dumps([{"a": {"b": [n]}} for n in range(MANY)]),
        "[" * 500 + "[1]," * (4 * MANY) + "1" + "]" * 500,
    ],
    ids=["members", "items", "an array within arrays"],
)
@pytest.mark.parametrize("names", [("k7", "1"), ("9", "a"), ()])
def test_value_is_not_built(text: str, names: tuple[str, ...]) -> None:
    tracemalloc.start()
    try:
        scan(text, *names)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One piece has its text and its values in memory. All values take 3 to 6 MB.
    assert peak_bytes < 1_500_000
