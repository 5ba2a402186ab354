import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import RangeNotSatisfiableError
from app.http.content_response import ByteRange, parse_range

SIZE = 100
HUGE = "9" * 5_000

SATISFIABLE = {
    "bytes=0-0": [(0, 1)],
    "bytes=0-99": [(0, 100)],
    "bytes=10-19": [(10, 20)],
    "bytes=90-": [(90, 100)],
    "bytes=0-": [(0, 100)],
    "bytes=-10": [(90, 100)],
    "bytes=-1000": [(0, 100)],
    "bytes=90-1000": [(90, 100)],
    f"bytes=0-{HUGE}": [(0, 100)],
    f"bytes=-{HUGE}": [(0, 100)],
    "bytes=000-0009": [(0, 10)],
    "BYTES=0-1": [(0, 2)],
    " bytes=0-1\t": [(0, 2)],
    "bytes=0-1 , 10-11": [(0, 2), (10, 12)],
    "bytes= 0-1,\t10-11": [(0, 2), (10, 12)],
    "bytes=,0-1,,10-11,": [(0, 2), (10, 12)],
    "bytes=0-1,500-600": [(0, 2)],
    "bytes=500-600,0-1,-0": [(0, 2)],
    f"bytes=0-1,{HUGE}-": [(0, 2)],
    "bytes=50-59,0-9": [(50, 60), (0, 10)],
    "bytes=50-59,0-9,5-20": [(0, 21), (50, 60)],
    "bytes=0-9,10-19": [(0, 20)],
    "bytes=0-9,11-19": [(0, 10), (11, 20)],
    "bytes=0-50,10-20": [(0, 51)],
    "bytes=0-,-1": [(0, 100)],
    "bytes=0-0,0-0": [(0, 1)],
}

IGNORED = [
    "",
    "bytes",
    "bytes=",
    "bytes=,",
    "bytes=-",
    "bytes=a-b",
    "bytes=1",
    "bytes=5-4",
    "bytes=0-1,5-4",
    "bytes=0 - 1",
    "bytes=0-1;2-3",
    "bytes=--1",
    "bytes=+0-1",
    "bytes=0x0-1",
    "bytes=\u00b2-\u00b3",
    "bytes =0-1",
    "bytes:0-1",
    "lines=0-1",
    "seconds=1-2",
    f"bytes={HUGE}-5",
    "bytes=" + ",".join(f"{n}-{n}" for n in range(0, 34, 2)),
]

UNSATISFIABLE = ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=-0,200-", f"bytes={HUGE}-"]


@pytest.mark.parametrize(("header", "spans"), SATISFIABLE.items())
def test_ranges_inside_the_content_are_clamped_and_merged(
    header: str, spans: list[tuple[int, int]]
) -> None:
    assert parse_range(header, SIZE) == [ByteRange(start, end) for start, end in spans]


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A `Range` of more than sixteen ranges is ignored",
    kept_by="app/http/conditions.py",
    tried="21 headers",
)
@pytest.mark.parametrize("header", IGNORED)
def test_a_range_that_makes_no_sense_is_ignored(header: str) -> None:
    assert parse_range(header, SIZE) is None


@pytest.mark.parametrize("header", UNSATISFIABLE)
def test_ranges_that_all_lie_outside_are_an_error_with_the_size(header: str) -> None:
    with pytest.raises(RangeNotSatisfiableError) as caught:
        parse_range(header, SIZE)
    assert caught.value.size_bytes == SIZE


@pytest.mark.parametrize("header", ["bytes=-5", "bytes=0-1,-5"])
def test_a_suffix_of_an_empty_content_is_all_of_it(header: str) -> None:
    assert parse_range(header, 0) is None


@pytest.mark.parametrize("header", ["bytes=0-", "bytes=0-0", "bytes=-0"])
def test_a_position_in_an_empty_content_is_an_error(header: str) -> None:
    with pytest.raises(RangeNotSatisfiableError):
        parse_range(header, 0)


def test_sixteen_ranges_are_served() -> None:
    header = "bytes=" + ",".join(f"{n}-{n}" for n in range(0, 32, 2))
    assert parse_range(header, SIZE) == [ByteRange(n, n + 1) for n in range(0, 32, 2)]


def test_a_range_knows_its_size_and_its_header() -> None:
    span = ByteRange(10, 20)
    assert (span.size_bytes, span.content_range(100)) == (10, "bytes 10-19/100")


@given(st.text(alphabet="0123456789-, \tbytes=", max_size=80), st.integers(0, 50))
def test_whatever_is_asked_is_ignored_refused_or_inside(text: str, size: int) -> None:
    try:
        spans = parse_range(f"bytes={text}", size)
    except RangeNotSatisfiableError:
        return
    for span in spans or ():
        assert 0 <= span.start < span.end <= size
