"""Large bodies, in either direction, over a socket that blocks.

Nothing is kept of what comes: it is read into one buffer, and hashed only if that is asked for.
"""

import hashlib
import re
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.figures import WrongAnswerError

_BUFFER_BYTES = 1 << 20
_PATIENCE_SECONDS = 600
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A request and its answer."""

    seconds: float
    """From the first byte sent until the last one read; the connection is there before."""
    status: int
    body_bytes: int
    body: bytes
    """The answer's body where it is short, else its SHA-256 if that was asked for."""

    @property
    def is_short(self) -> bool:
        """Return whether the stored body equals the sent one."""
        return self.body_bytes <= _BUFFER_BYTES


def transfer(
    port: int, head: bytes, pieces: Iterable[bytes] = (), *, hashed: bool = False
) -> Transfer:
    """Send a request and read its answer, on a connection of its own.

    Args:
        port: Of a server on loopback.
        head: The request up to its body.
        pieces: Its body.
        hashed: Whether a long answer is to be hashed, which takes time.

    Raises:
        WrongAnswerError: The answer is none, or stops before its end.
    """
    with socket.create_connection(("127.0.0.1", port), _PATIENCE_SECONDS) as wire:
        started = time.perf_counter()
        try:
            wire.sendall(head)
            for piece in pieces:
                wire.sendall(piece)
        except ConnectionError:
            # A server that answers before the end need not read on; its answer comes next.
            pass
        status, length, begun = _head(wire)
        body = _body(wire, begun, length, hashed=hashed)
        return Transfer(time.perf_counter() - started, status, length, body)


def _head(wire: socket.socket) -> tuple[int, int, bytes]:
    """Status and length, and what of the body has come with them."""
    seen = b""
    while (end := seen.find(_END)) < 0:
        chunk = wire.recv(65_536)
        if not chunk:
            raise WrongAnswerError(f"no answer after {seen!r}")
        seen += chunk
    length = _LENGTH.search(seen, 0, end + 2)
    if length is None:
        raise WrongAnswerError(seen[:end].decode(errors="replace"))
    return int(seen[9:12]), int(length[1]), seen[end + 4 :]


def _body(wire: socket.socket, begun: bytes, length: int, *, hashed: bool) -> bytes:
    is_short = length <= _BUFFER_BYTES
    kept = bytearray(begun if is_short else b"")
    digest = hashlib.sha256(begun if hashed else b"")
    missing = length - len(begun)
    buffer = bytearray(_BUFFER_BYTES)
    view = memoryview(buffer)
    while missing:
        size = wire.recv_into(buffer)
        if not size:
            raise WrongAnswerError(f"{missing} bytes of {length} did not come")
        missing -= size
        if is_short:
            kept += view[:size]
        elif hashed:
            digest.update(view[:size])
    return bytes(kept) if is_short else digest.digest() if hashed else b""
