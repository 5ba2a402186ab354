"""Recordings of which little more than the length can be told: Matroska, Ogg, FLAC and MP3.

Players play what is left of them, so only what shows at once is judged: a size that is announced, a
page or a header that is not whole.

Source: RFC 9559, RFC 3533, RFC 9639; ID3v2.
"""

from app.media.soundness.looking import DamagedError, Looking

_EBML, _SEGMENT = 0x1A45DFA3, 0x18538067
_LARGEST_PAGE = 27 + 255 + 255 * 255
_LAST_BLOCK = 0x80


def judge_matroska(file: Looking) -> None:
    """Judge a Matroska or WebM file by the size of its segment, if that is told.

    Raises:
        DamagedError: It was cut.
        NotJudgedError: It begins with too much else.
    """
    at = 0
    while True:
        file.step()
        element, after = _number(file, at, keeps_marker=True)
        size, start = _number(file, after, keeps_marker=False)
        if element == _SEGMENT:
            break
        if size is None:
            raise DamagedError("it has no segment")
        at = start + size
    if size is not None and start + size > file.size_bytes:
        raise DamagedError("it is shorter than it says")


def judge_ogg(file: Looking) -> None:
    """Judge an Ogg file: its last page has to be whole.

    Raises:
        DamagedError: It was cut.
    """
    start = max(0, file.size_bytes - _LARGEST_PAGE)
    tail = file.piece(start, _LARGEST_PAGE)
    page = tail.rfind(b"OggS")
    if page < 0:
        return
    lengths = tail[page + 27 : page + 27 + tail[page + 26]] if page + 26 < len(tail) else b""
    is_cut = page + 27 > len(tail) or len(lengths) < tail[page + 26]
    if is_cut or page + 27 + len(lengths) + sum(lengths) > len(tail):
        raise DamagedError("it ends inside of a page")


def judge_flac(file: Looking) -> None:
    """Judge a FLAC file: all that is said about it has to be there, and something behind it.

    Raises:
        DamagedError: It was cut.
        NotJudgedError: It says too much.
    """
    at, is_last = 4, False
    while not is_last:
        file.step()
        head = file.piece(at, 4)
        at += 4 + int.from_bytes(head[1:], "big")
        if len(head) < 4 or at >= file.size_bytes:
            raise DamagedError("it ends before its first frame")
        is_last = bool(head[0] & _LAST_BLOCK)


def judge_mp3(file: Looking) -> None:
    """Judge an MP3 file: what is said about it may not be all there is.

    Raises:
        DamagedError: It was cut.
    """
    head = file.piece(0, 10)
    if not head.startswith(b"ID3"):
        return
    size = 0
    for byte in head[6:10]:
        size = size << 7 | byte & 0x7F
    if 10 + size >= file.size_bytes:
        raise DamagedError("it ends before its first frame")


def _number(file: Looking, at: int, *, keeps_marker: bool) -> tuple[int | None, int]:
    """An EBML number (RFC 8794, section 4) and where it ends; all ones mean an unknown size."""
    data = file.piece(at, 8)
    length = 9 - data[0].bit_length() if data else 9
    if length > len(data):
        raise DamagedError("it has no segment")
    number = int.from_bytes(data[:length], "big")
    if keeps_marker:
        return number, at + length
    number &= (1 << (7 * length)) - 1
    return None if number == (1 << (7 * length)) - 1 else number, at + length
