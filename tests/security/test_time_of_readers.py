"""No text keeps the interpreter: what is ten times as long takes about ten times as long.

Each shape of `tests.kit.hostile_texts` is read by each reader. What is judged is processor time.
"""

import sys
from collections.abc import Iterator

import pytest

from tests.faults.lengths import LONG, TIMEOUT_SECONDS
from tests.kit.hostile_texts import SHAPES
from tests.security.reading import READERS, held_ms, processor_ms

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

CHARS = 100_000 if LONG else 1_000
MAX_TIMES = 12
# Below, the clock and the caches say more about a time than the text does.
LEAST_MS = 20.0
MAX_HELD_MS = 250.0
TRIES = 4

HOLDING = {
    ("escaped quotes in a key, never closed", "a body"),
    ("escaped quotes with a head, never closed", "a result"),
    ("escaped quotes in arguments, cut", "arguments of a call"),
    ("escaped quotes with a head, never closed", "a structured page"),
    ("heads", "a result"),
    ("heads of base64", "content of a message"),
    ("heads of base64", "lines of a result"),
    ("heads without a type", "lines for a model"),
    ("runs of forty", "media of a message"),
    ("half surrogate escapes", "JSON in a text"),
    ("escaped quotes with a head, never closed", "a place in JSON"),
    ("empty arrays", "a place in JSON"),
    ("short strings", "a place in JSON"),
    ("blanks behind a letter", "base64"),
    ("ligatures", "words of a search"),
    ("NULs", "lines for a model"),
    ("short lines", "grep"),
}
"""Shapes with readers that would keep everybody waiting if they looked at all of it at once."""


@pytest.fixture(autouse=True, scope="module")
def _as_deep_as_the_service() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


def test_shapes_and_readers_are_many() -> None:
    assert len(SHAPES) >= 60
    assert len(READERS) >= 30


@pytest.mark.promise(
    "security.md#memory-and-processor",
    (
        "Reading takes time proportional to the text, whatever its shape: 36 readers (bodies,"
        " normalization, pages, targets, search, grep, headers) on 181 shapes"
    ),
    kept_by="packages/dialects/src/pagefault_dialects/json/values.py",
    tried="ten times the text: at most 12 times the processor time",
)
@pytest.mark.parametrize("name", READERS)
def test_ten_times_the_text_takes_ten_times_as_long(name: str) -> None:
    slow = {}
    for shape in SHAPES:
        times = _times(name, shape)
        if times is not None:
            slow[shape] = times
    assert slow == {}


@pytest.mark.promise(
    "security.md#memory-and-processor",
    (
        "A megabyte of hostile text keeps no other thread waiting for long, since it is "
        "searched in windows"
    ),
    kept_by="packages/dialects/src/pagefault_dialects/text_windows.py",
    tried="250 ms of processor time, of 1 MB; `TORTURE=long` tries every reader on every shape",
)
@pytest.mark.parametrize("name", READERS)
def test_no_reader_keeps_the_others_waiting(name: str) -> None:
    shapes = SHAPES if LONG else [shape for shape, reader in HOLDING if reader == name]
    longest = {shape: _held(name, shape) for shape in shapes}
    assert {shape: held for shape, held in longest.items() if held > MAX_HELD_MS} == {}


def _times(name: str, shape: str) -> tuple[float, float] | None:
    """The times of a text and of one ten times as long, if that is too much in every try."""
    reader, make = READERS[name], SHAPES[shape]
    short = long = 0.0
    for _ in range(TRIES):
        # The longer first: most are so fast that nothing more has to be known.
        long = processor_ms(reader, make(10 * CHARS))
        if long <= MAX_TIMES * LEAST_MS:
            return None
        short = max(short, processor_ms(reader, make(CHARS)))
        if long <= MAX_TIMES * short:
            return None
    return short, long


def _held(name: str, shape: str) -> float:
    text = SHAPES[shape](1_000_000)
    held = 0.0
    for _ in range(TRIES):
        held = held_ms(READERS[name], text)
        if held <= MAX_HELD_MS:
            break
    return held
