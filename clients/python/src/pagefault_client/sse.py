"""Server-sent events, read from bytes as they come."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a stream; without data it only says a position."""

    event: str
    id: str | None
    data: str


class Decoder:
    """Makes blocks of bytes.

    Lines end with LF, CRLF or CR and with nothing else: U+2028 is a character of the data, which
    `str.splitlines` would cut.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._fields: dict[str, str] = {}
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[Block]:
        """Return the blocks that a piece completes."""
        # A long event comes in many pieces: what has no end of a line yet is not looked at again.
        if b"\n" not in piece and b"\r" not in piece and not self._rest.endswith(b"\r"):
            self._rest += piece
            return []
        text = bytes(self._rest) + piece
        # A CR at the end may be the first half of a CRLF.
        held = text[-1:] if text.endswith(b"\r") else b""
        lines = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = lines.split(b"\n")
        self._rest = bytearray(rest + held)
        blocks = [self._line(line.decode("utf-8", "replace")) for line in whole]
        return [block for block in blocks if block is not None]

    def _line(self, line: str) -> Block | None:
        if not line:
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name in {"event", "id"}:
            self._fields[name] = value
        return None

    def _end(self) -> Block | None:
        fields, data = self._fields, self._data
        self._fields, self._data = {}, []
        if not fields and not data:
            return None
        return Block(fields.get("event", "message"), fields.get("id"), "\n".join(data))
