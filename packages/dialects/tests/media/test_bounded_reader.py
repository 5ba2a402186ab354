"""Files are read in pieces of limited number and size, and their numbers as formats write them."""

import pytest

from pagefault_dialects.media.soundness import bounded_reader
from pagefault_dialects.media.soundness.bounded_reader import BoundedReader, TooComplexError
from pagefault_dialects.media.soundness.matroska import parse_ebml_number
from pagefault_dialects.media.soundness.mpeg_audio import find_frame_length

KIB, MIB = 1024, 1024 * 1024
DATA = bytes(index % 251 for index in range(3 * MIB))


class Reads:
    """A file that notes how it is read."""

    def __init__(self, data: bytes = DATA) -> None:
        self.calls: list[tuple[int, int]] = []
        self._data = data
        self.reader = BoundedReader(self._read_at, len(data))

    def _read_at(self, start: int, size_bytes: int) -> bytes:
        self.calls.append((start, size_bytes))
        return self._data[start : start + size_bytes]


def test_buffered_bytes_are_not_read_again() -> None:
    file = Reads()
    places = [(0, 4), (64 * KIB - 4, 4), (100, 0), (0, 64 * KIB), (64 * KIB - 2, 2)]
    assert [file.reader.read(*place) for place in places] == [
        DATA[start : start + size] for start, size in places
    ]
    assert file.calls == [(0, 64 * KIB)]


def test_bytes_that_follow_are_read_in_larger_pieces_than_those_elsewhere() -> None:
    file = Reads()
    # At the beginning, inside of the buffer, behind its end, elsewhere, before it.
    places = [(0, 1), (64 * KIB - 1, 2), (64 * KIB - 1 + MIB, 1), (2 * MIB + 128 * KIB, 5), (0, 1)]
    assert [file.reader.read(*place) for place in places] == [
        DATA[start : start + size] for start, size in places
    ]
    assert file.calls == [
        *((0, 64 * KIB), (64 * KIB - 1, MIB), (64 * KIB - 1 + MIB, MIB)),
        *((2 * MIB + 128 * KIB, 64 * KIB), (0, 64 * KIB)),
    ]
    large = Reads()
    assert large.reader.read(5, 2 * MIB) == DATA[5 : 5 + 2 * MIB]
    assert large.calls == [(5, 2 * MIB)]


def test_nothing_is_read_behind_the_end() -> None:
    file = Reads(DATA[:100])
    places = [(90, 20), (95, 5), (100, 1), (500, 1), (0, 200)]
    assert [file.reader.read(*place) for place in places] == [
        *(DATA[90:100], DATA[95:100], b"", b"", DATA[:100])
    ]
    assert file.calls == [(90, 10), (0, 100)]
    assert bytes(file.reader.read_buffered(40)) == DATA[40:100]
    assert bytes(file.reader.read_buffered(100)) == b""
    assert bytes(file.reader.read_buffered(0)) == DATA[:100]
    assert file.calls == [(90, 10), (0, 100), (0, 100)]


def test_buffered_bytes_are_returned_up_to_the_end_of_the_buffer() -> None:
    file = Reads()
    assert bytes(file.reader.read_buffered(7)) == DATA[7 : 7 + 64 * KIB]
    assert bytes(file.reader.read_buffered(9)) == DATA[9 : 7 + 64 * KIB]
    assert bytes(file.reader.read_buffered(7 + 64 * KIB)) == DATA[7 + 64 * KIB :][:MIB]
    assert bytes(file.reader.read_buffered(6)) == DATA[6 : 6 + 64 * KIB]
    assert file.calls == [(7, 64 * KIB), (7 + 64 * KIB, MIB), (6, 64 * KIB)]


def test_reads_bytes_and_steps_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_reader, "_MAX_READS", 2)
    monkeypatch.setattr(bounded_reader, "_MAX_BYTES", 100)
    monkeypatch.setattr(bounded_reader, "_MAX_STEPS", 9)
    data = DATA[:60]
    file = Reads(data)
    assert [file.reader.read(start, 1) for start in (59, 20, 30)] == [
        *(data[59:], data[20:21], data[30:31])
    ]
    with pytest.raises(TooComplexError):
        file.reader.read(0, 1)
    long = Reads(data)
    assert (long.reader.read(20, 1), long.reader.read(0, 60)) == (data[20:21], data)
    longer = Reads(data)
    assert (longer.reader.read(19, 1)) == data[19:20]
    with pytest.raises(TooComplexError):
        longer.reader.read(0, 60)
    file.reader.count_step(7)
    file.reader.count_step()
    file.reader.count_step()
    with pytest.raises(TooComplexError):
        file.reader.count_step()


def test_store_that_returns_too_few_bytes_has_failed() -> None:
    reader = BoundedReader(lambda start, size_bytes: bytes(size_bytes - 1), 10)
    with pytest.raises(EOFError, match=r"^The store returned fewer bytes than the file has\.$"):
        reader.read(0, 1)


FRAMES = [
    ("fffb9000", 417),  # MPEG 1, layer III, 128 kbit/s, 44.1 kHz
    ("fffa9200", 418),  # with a checksum, and padded
    ("fffb1400", 96),  # 32 kbit/s, 48 kHz
    ("fffbe800", 1_440),  # 320 kbit/s, 32 kHz
    ("fffde400", 1_152),  # layer II, 384 kbit/s, 48 kHz
    ("fffd2600", 145),  # 48 kbit/s, padded
    ("ffffe000", 484),  # layer I, 448 kbit/s, 44.1 kHz
    ("ffff1600", 36),  # 32 kbit/s, 48 kHz, padded
    ("fff38000", 208),  # MPEG 2, layer III, 64 kbit/s, 22.05 kHz
    ("fff5e400", 960),  # layer II, 160 kbit/s, 24 kHz
    ("fff7e800", 768),  # layer I, 256 kbit/s, 16 kHz
    ("ffe31800", 72),  # MPEG 2.5, layer III, 8 kbit/s, 8 kHz
    ("ffe3e200", 1_045),  # 160 kbit/s, 11.025 kHz, padded
    *((header, None) for header in ("fffb90", "fefb9000", "ffdb9000", "ffeb9000", "fff99000")),
    *((header, None) for header in ("fffb9c00", "fffb0000", "fffbf000", "00fb9000", "")),
]


def test_length_of_a_frame_follows_from_its_header() -> None:
    found = [(header, find_frame_length(bytes.fromhex(header))) for header, _ in FRAMES]
    assert found == FRAMES


def test_numbers_of_ebml_have_one_to_eight_bytes() -> None:
    numbers = [
        ("81", False, (1, 1)),
        ("81", True, (0x81, 1)),
        ("4001ff", False, (1, 2)),
        ("4001ff", True, (0x4001, 2)),
        ("1a45dfa3", True, (0x1A45DFA3, 4)),
        ("0100000000000002", False, (2, 8)),
        ("ff", False, (None, 1)),
        ("ff", True, (0xFF, 1)),
        ("7fff", False, (None, 2)),
        ("7ffe", False, (0x3FFE, 2)),
        ("01ffffffffffffff", False, (None, 8)),
    ]
    found = [
        (text, keeps, parse_ebml_number(bytes.fromhex(text), 0, keeps_marker=keeps))
        for text, keeps, _ in numbers
    ]
    assert found == numbers
    assert parse_ebml_number(b"\0\0\x42\x01\0", 2, keeps_marker=False) == (0x201, 4)
    for data in (b"", b"\0" * 9, b"\x40", b"\x01" + bytes(6)):
        with pytest.raises(ValueError, match="no EBML number"):
            parse_ebml_number(data, 0, keeps_marker=False)
