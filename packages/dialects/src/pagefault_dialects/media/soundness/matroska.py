"""Matroska and WebM: the segment, and the clusters of one whose size its recorder did not know.

A recorder that writes to a pipe leaves the sizes of its segment and clusters open. What is in a
cluster has sizes all the same, so that a cut shows in the last block.

Source: RFC 8794, 4 and 6.2; RFC 9559, 5.1.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError

_SEGMENT, _CLUSTER = 0x18538067, 0x1F43B675
# An identifier has up to 4 bytes, and a size up to 8.
_LONGEST_HEAD = 12


def check_matroska(file: BoundedReader) -> None:
    """Judge a Matroska or WebM file by the sizes that it tells.

    Raises:
        DamagedError: It was cut.
        TooComplexError: It is made of too many elements.
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
    """Judge what a segment of open size holds, up to the end of the file."""
    at = start
    while at < file.size_bytes:
        file.step()
        found = _element(file, at)
        if found is None:
            if file.size_bytes - at < _LONGEST_HEAD:
                raise DamagedError("it ends inside of an element")
            # Bytes that are no element; players pass them over.
            return
        element, start, size = found
        if element == _CLUSTER:
            # What is in it is gone through like all else, and told by its own sizes.
            at = start
        elif size is None:
            return
        else:
            at = start + size
    if at > file.size_bytes:
        raise DamagedError("it ends inside of an element")


def _element(file: BoundedReader, at: int) -> tuple[int | None, int, int | None] | None:
    """Return the id of an element, where its content begins, and the size of that, if told."""
    head = file.piece(at, _LONGEST_HEAD)
    try:
        element, after = ebml_number(head, 0, keeps_marker=True)
        size, after = ebml_number(head, after, keeps_marker=False)
    except ValueError:
        return None
    return element, at + after, size


def ebml_number(data: bytes, start: int, *, keeps_marker: bool) -> tuple[int | None, int]:
    """Read an EBML number (RFC 8794, section 4), and say where it ends.

    All ones mean an unknown size, `None`.

    Raises:
        ValueError: There is none, or not all of it.
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
