"""An incremental decoder of server-sent events."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a stream. Blocks without data only have a position."""

    event: str
    id: str | None
    data: str


class Decoder:
    """A decoder of bytes to blocks.

    Lines end with LF, CRLF or CR only. `str.splitlines` would also split at U+2028, which may be
    part of the data.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._fields: dict[str, str] = {}
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[Block]:
        """Add bytes, and return the blocks that they complete."""
        # A long event has many pieces: an incomplete line is not scanned again for each of them.
        if b"\n" not in piece and b"\r" not in piece and not self._rest.endswith(b"\r"):
            self._rest += piece
            return []
        text = bytes(self._rest) + piece
        # A CR at the end may be the first half of a CRLF.
        carriage_return = text[-1:] if text.endswith(b"\r") else b""
        lines = (
            text[: len(text) - len(carriage_return)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        )
        *whole, rest = lines.split(b"\n")
        self._rest = bytearray(rest + carriage_return)
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
