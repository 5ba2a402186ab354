"""Matroska and WebM: the segment, and the clusters of segments of unknown size.

A recorder that writes to a pipe leaves the sizes of its segment and clusters open. The blocks in a
cluster still have sizes, so a cut shows in the last block.

Source: RFC 8794, 4 and 6.2; RFC 9559, 5.1.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError

_SEGMENT, _CLUSTER = 0x18538067, 0x1F43B675
# An identifier has up to 4 bytes, and a size up to 8.
_LONGEST_HEAD = 12


def check_matroska(file: BoundedReader) -> None:
    """Check a Matroska or WebM file by the sizes of its elements.

    Raises:
        DamagedError: It was cut.
        TooComplexError: It has too many elements.
    """
    at = 0
    while True:
        file.step()
        found = _element(file, at)
        if found is None:
            raise DamagedError("it has no segment")
        element, start, size = found
        if element == _SEGMENT:
            break
        if size is None:
            raise DamagedError("it has no segment")
        at = start + size
    if size is None:
        _check_elements(file, start)
    elif start + size > file.size_bytes:
        raise DamagedError("it is shorter than it says")


def _check_elements(file: BoundedReader, start: int) -> None:
    """Check the elements of a segment of open size, up to the end of the file."""
    at = start
    while at < file.size_bytes:
        file.step()
        found = _element(file, at)
        if found is None:
            if file.size_bytes - at < _LONGEST_HEAD:
                raise DamagedError("it ends inside of an element")
            # Bytes that are no element; players skip them.
            return
        element, start, size = found
        if element == _CLUSTER:
            # Its content follows, and is checked by its own sizes.
            at = start
        elif size is None:
            return
        else:
            at = start + size
    if at > file.size_bytes:
        raise DamagedError("it ends inside of an element")


def _element(file: BoundedReader, at: int) -> tuple[int | None, int, int | None] | None:
    """Return the id of an element, the start of its content, and its size, if known."""
    head = file.read(at, _LONGEST_HEAD)
    try:
        element, after = ebml_number(head, 0, keeps_marker=True)
        size, after = ebml_number(head, after, keeps_marker=False)
    except ValueError:
        return None
    return element, at + after, size


def ebml_number(data: bytes, start: int, *, keeps_marker: bool) -> tuple[int | None, int]:
    """Read an EBML number (RFC 8794, section 4); return it and its end.

    All ones are an unknown size, `None`.

    Raises:
        ValueError: The number is missing or incomplete.
    """
    length = 9 - int.from_bytes(data[start : start + 1], "big").bit_length()
    end = start + length
    if length > 8 or end > len(data):
        raise ValueError("there is no EBML number")
    number = int.from_bytes(data[start:end], "big")
    if keeps_marker:
        return number, end
    ones = (1 << (7 * length)) - 1
    return None if number & ones == ones else number & ones, end
