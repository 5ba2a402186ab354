"""Check that a Matroska or WebM file is not cut, by the sizes of its elements.

The segment is the element with all media. If a recorder writes to a pipe, it does not know the
sizes of the segment and of the clusters inside. Then the sizes of the blocks in the clusters are
checked.

Source: RFC 8794, 4 and 6.2; RFC 9559, 5.1.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, DamagedError

_SEGMENT, _CLUSTER = 0x18538067, 0x1F43B675
# An identifier has up to 4 bytes, and a size up to 8.
_MAX_HEAD_BYTES = 12


def check_matroska(file: BoundedReader) -> None:
    """Check a Matroska or WebM file.

    Raises:
        DamagedError: It was cut.
        TooComplexError: It has too many elements.
    """
    position = 0
    while True:
        file.count_step()
        found = _read_element(file, position)
        if found is None:
            raise DamagedError("it has no segment")
        element, start, size = found
        if element == _SEGMENT:
            break
        if size is None:
            raise DamagedError("it has no segment")
        position = start + size
    if size is None:
        _check_elements(file, start)
    elif start + size > file.size_bytes:
        raise DamagedError("it is shorter than it says")


def _check_elements(file: BoundedReader, start: int) -> None:
    """Check the elements of a segment of unknown size, up to the end of the file."""
    position = start
    while position < file.size_bytes:
        file.count_step()
        found = _read_element(file, position)
        if found is None:
            if file.size_bytes - position < _MAX_HEAD_BYTES:
                raise DamagedError("it ends inside of an element")
            # Players ignore bytes that are not an element.
            return
        element, start, size = found
        if element == _CLUSTER:
            # The blocks of the cluster are checked next.
            position = start
        elif size is None:
            return
        else:
            position = start + size
    if position > file.size_bytes:
        raise DamagedError("it ends inside of an element")


def _read_element(file: BoundedReader, position: int) -> tuple[int | None, int, int | None] | None:
    """Return the id of an element, the start of its content, and its size, if known."""
    head = file.read(position, _MAX_HEAD_BYTES)
    try:
        element, after = parse_ebml_number(head, 0, keeps_marker=True)
        size, after = parse_ebml_number(head, after, keeps_marker=False)
    except ValueError:
        return None
    return element, position + after, size


def parse_ebml_number(data: bytes, start: int, *, keeps_marker: bool) -> tuple[int | None, int]:
    """Return the EBML number at a position (RFC 8794, section 4), and the position behind it.

    The number is `None` if all its bits are ones, which stands for an unknown size.

    Args:
        data: Any bytes.
        start: The position of the number.
        keeps_marker: Keep the bit that marks the length, as ids of elements do.

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
