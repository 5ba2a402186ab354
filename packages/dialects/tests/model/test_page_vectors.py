"""Numbers of embeddings and timestamps are finite, and 32-bit floats are written briefly."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from pagefault_dialects.model.base import faults_of
from pagefault_dialects.model.page_vectors import (
    LONGEST_EMBEDDING,
    MAX_TIMESTAMPS,
    Embedding,
    Timestamps,
    as_float32,
    is_finite_number,
)

EMBEDDING: TypeAdapter[Any] = TypeAdapter(Embedding)
TIMESTAMPS: TypeAdapter[Any] = TypeAdapter(Timestamps)


@pytest.mark.parametrize(
    ("value", "is_finite"),
    [
        (0, True),
        (1.5, True),
        (Decimal("1e300"), True),
        (10**308, True),
        (10**309, False),
        (Decimal("1e400"), False),
        (float("inf"), False),
        (float("nan"), False),
        (True, False),
        ("1", False),
        (None, False),
    ],
)
def test_number_that_a_double_can_hold_is_finite(value: object, is_finite: bool) -> None:
    assert is_finite_number(value) is is_finite


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, 0.1),
        (0.10000000149011612, 0.1),
        (1 / 3, 0.33333334),
        (16_777_217, 16_777_216.0),
        (123_456_789, 123_456_790.0),
        (1.0000001, 1.0000001),
        (3.4028234e38, 3.4028235e38),
        (Decimal("0.25"), 0.25),
        (76.37010192871094, 76.3701),
        (9831.876953125, 9831.877),
        (770.5231323242188, 770.52313),
        (103.16984558105469, 103.169846),
        (114_316_104, 114_316_104.0),
        (1e39, 1e39),
        (10**400, 10**400),
        (float("inf"), float("inf")),
        ("0.1", "0.1"),
        (True, True),
    ],
)
def test_number_is_shortened_to_its_32_bits(value: object, expected: object) -> None:
    short = as_float32(value)
    assert (type(short), short) == (type(expected), expected)


@pytest.mark.parametrize("value", [3.4028235677973366e38, -3.4028235677973366e38, "1", None, True])
def test_coordinate_beyond_32_bits_is_refused(value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        EMBEDDING.validate_python([0.5, value, "also wrong"])
    (fault,) = faults_of(caught.value)
    assert (fault.pointer, fault.detail) == ("/1", "must be a finite number of 32 bits")


def test_coordinates_of_32_bits_are_kept() -> None:
    numbers = [1, -0.5, 3.4028235677973362e38, -3.4028235677973362e38]
    assert EMBEDDING.validate_python(numbers) == tuple(numbers)


def test_timestamps_are_objects_seconds_or_spans() -> None:
    values = [{"start": 1}, 1.5, Decimal("0.10"), [0, 1.5]]
    assert TIMESTAMPS.validate_python(values) == tuple(values)


@pytest.mark.parametrize("value", ["1", None, True, [1], [1, 2, 3], [1, "2"], float("inf")])
def test_other_timestamp_is_refused(value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        TIMESTAMPS.validate_python([value])
    (fault,) = faults_of(caught.value)
    sentence = "must be an object, a number of seconds, or two of them: [start, end]"
    assert (fault.pointer, fault.detail) == ("/0", sentence)


@pytest.mark.parametrize(
    ("adapter", "most"), [(EMBEDDING, LONGEST_EMBEDDING), (TIMESTAMPS, MAX_TIMESTAMPS)]
)
def test_list_has_a_greatest_length(adapter: TypeAdapter[Any], most: int) -> None:
    assert len(adapter.validate_python([0] * most)) == most
    with pytest.raises(ValidationError):
        adapter.validate_python([0] * (most + 1))
