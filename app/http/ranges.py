"""The ranges of bytes that a request asks for (RFC 9110 §14)."""

import re
from dataclasses import dataclass

from app.errors import RangeNotSatisfiableError
from app.http.conditions import LARGEST_NUMBER, whole_number

MAX_RANGES = 16
"""More ranges than this are ignored (RFC 9110 §17.15: many small ranges are an attack)."""

_SPEC = re.compile(r"([0-9]*)-([0-9]*)")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Half-open: the bytes from `start` up to and without `end`."""

    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """Return how many bytes the range holds."""
        return self.end - self.start

    def content_range(self, size_bytes: int) -> str:
        """Return the `Content-Range` value of this range of a content of `size_bytes` bytes."""
        return f"bytes {self.start}-{self.end - 1}/{size_bytes}"


def parse_range(header: str, size: int) -> list[ByteRange] | None:
    """Return the byte ranges to send, or `None` if the header is to be ignored and all is sent.

    Ranges are clamped to the content, and those outside it are left out as long as another one is
    inside. Ranges that neither overlap nor touch come in the order they were asked for; if some do,
    they are merged and all come in ascending order. An empty content has no bytes to name, so a
    suffix of it is all of it and `None`.

    Args:
        header: The value of `Range`.
        size: The size of the content in bytes.

    A range that makes no sense is ignored, as §14.2 allows at any time; only a well-formed one that
    lies outside the content is an error.

    Raises:
        RangeNotSatisfiableError: Well-formed, and no range lies inside the content.
    Source: RFC 9110 §14.1.1, §14.1.2, §14.2 and §15.3.7.2 (coalescing).
    """
    unit, separator, range_set = header.strip(" \t").partition("=")
    if not separator or unit.lower() != "bytes":
        return None
    # A list may hold empty elements, which count for nothing (RFC 9110 §5.6.1.2).
    specs = [spec for element in range_set.split(",") if (spec := element.strip(" \t"))]
    if not 0 < len(specs) <= MAX_RANGES:
        return None
    spans: list[ByteRange] = []
    for spec in specs:
        span = _span(spec, size)
        if span is None:
            return None
        spans.append(span)
    return _clamp(spans, size)


def _span(spec: str, size: int) -> ByteRange | None:
    """Return the range a spec names, not yet clamped at the end; `None` if it is malformed."""
    match = _SPEC.fullmatch(spec)
    if match is None or spec == "-":
        return None
    first, last = match.groups()
    if not first:
        length = whole_number(last)
        # A suffix of no bytes is well-formed but never satisfiable: it lies behind the content.
        return ByteRange(max(0, size - length), size) if length else ByteRange(size, size + 1)
    start = whole_number(first)
    end = whole_number(last) + 1 if last else LARGEST_NUMBER + 1
    return ByteRange(start, end) if start < end else None


def _clamp(spans: list[ByteRange], size: int) -> list[ByteRange] | None:
    if size == 0 and ByteRange(0, 0) in spans:
        return None
    inside = [ByteRange(span.start, min(span.end, size)) for span in spans if span.start < size]
    if not inside:
        raise RangeNotSatisfiableError(size)
    merged = _merge(inside)
    return inside if len(merged) == len(inside) else merged


def _merge(spans: list[ByteRange]) -> list[ByteRange]:
    ascending = sorted(spans, key=lambda span: span.start)
    merged = ascending[:1]
    for span in ascending[1:]:
        last = merged[-1]
        if span.start <= last.end:
            merged[-1] = ByteRange(last.start, max(last.end, span.end))
        else:
            merged.append(span)
    return merged
