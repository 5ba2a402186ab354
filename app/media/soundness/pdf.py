"""PDF: the end that every file has, and whether what is in it can be read by everybody.

A reader begins at the end: `startxref`, where the last table of objects is, and `%%EOF`. Readers
look for it in the last kilobyte and beyond, since there may be anything behind it; what is no such
thing there is another object, of an update that was cut.

Source: ISO 32000-1, 7.5.5 "File trailer", 7.5.8 "Cross-reference streams", 7.6 "Encryption".
"""

import re

from app.media.soundness.looking import DamagedError, Looking
from app.models.damage import Damage

_TAIL_BYTES = 256 * 1024
_TRAILER_BYTES = 16 * 1024
_ENTRY_BYTES = 20
_BLANKS = rb"[\x00\t\n\x0c\r ]"
_END = re.compile(rb"startxref%b{1,32}(\d{1,20})%b{0,32}%%%%EOF" % (_BLANKS, _BLANKS))
_OBJECT = re.compile(rb"\d%b\d{1,5}%bobj\b" % (_BLANKS, _BLANKS))
_TABLE = re.compile(rb"%b{0,16}xref%b{1,16}" % (_BLANKS, _BLANKS))
_SECTION = re.compile(rb"%b{0,16}\d{1,10} {1,4}(\d{1,10})%b{1,4}" % (_BLANKS, _BLANKS))
_ENCRYPTED = re.compile(rb"/Encrypt%b{0,8}(?:\d{1,10}%b{1,4}\d{1,5}%b{1,4}R|<<)" % ((_BLANKS,) * 3))
_STREAM = re.compile(rb"\bstream\b")


def judge_pdf(file: Looking) -> Damage | None:
    """Return what is wrong with a PDF.

    Raises:
        DamagedError: It was cut.
        NotJudgedError: Its tables of objects are too many.
    """
    start = max(0, file.size_bytes - _TAIL_BYTES)
    tail = file.piece(start, _TAIL_BYTES)
    found = _last_end(tail)
    if found is None:
        raise DamagedError("it has no end: no `startxref` with `%%EOF` behind it")
    if _OBJECT.search(tail, found.end()):
        raise DamagedError("it ends inside of an update")
    table = int(found.group(1))
    if not 0 < table < start + found.start():
        # The first part of a file for the web names no table: that one is in the last part.
        raise DamagedError("its table of objects is not there")
    trailers = (tail[max(0, found.start() - _TRAILER_BYTES) : found.start()], _trailer(file, table))
    if any(_ENCRYPTED.search(trailer) for trailer in trailers):
        return Damage("encrypted-media", "It is encrypted, and models take no encrypted documents.")
    return None


def _last_end(tail: bytes) -> re.Match[bytes] | None:
    at = len(tail)
    while (at := tail.rfind(b"startxref", 0, at)) >= 0:
        found = _END.match(tail, at)
        if found is not None:
            return found
    return None


def _trailer(file: Looking, table: int) -> bytes:
    """What stands behind a table of objects, or before the stream that is one."""
    head = file.piece(table, _TRAILER_BYTES)
    opening = _TABLE.match(head)
    if opening is None:
        stream = _STREAM.search(head)
        return head[: stream.start()] if stream else head
    at = table + opening.end()
    while section := _SECTION.match(file.piece(at, 64)):
        file.step()
        at += section.end() + int(section.group(1)) * _ENTRY_BYTES
        if at >= file.size_bytes:
            return b""
    head = file.piece(at, _TRAILER_BYTES)
    end = head.find(b"startxref")
    return head if end < 0 else head[:end]
