"""A web server that misbehaves on demand, on loopback and over plain sockets.

Every path is a behaviour. Slowness is a wait for the other side to hang up, so that nothing sleeps
and a test ends as soon as its client gives up.
"""

import gzip
import select
import socket
import ssl
import threading
from collections.abc import Callable, Mapping

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 16
BOMB = gzip.compress(gzip.compress(bytes(64 * 1024 * 1024)))
"""Two layers of gzip: less than a kilobyte for 64 MiB."""
DRIP_SECONDS = 0.02

Behaviour = Callable[[socket.socket], None]


def answer(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """A well-formed answer with its length."""
    return head(*headers, f"Content-Length: {len(body)}", status=status) + body


def head(*headers: str, status: str = "200 OK") -> bytes:
    """A status line and headers, with the blank line."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1")


def redirect(location: str, status: int = 302) -> bytes:
    return answer(b"", f"Location: {location}", status=f"{status} Elsewhere")


def _hangs_up(connection: socket.socket, seconds: float | None) -> bool:
    readable, _, _ = select.select([connection], [], [], seconds)
    return bool(readable)


def then_silence(sent: bytes) -> Behaviour:
    """Send something, then nothing until the client hangs up."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(sent)
        _hangs_up(connection, None)

    return behave


def drip(start: bytes, piece: bytes) -> Behaviour:
    """Send a start, and then pieces without an end."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(start)
        while not _hangs_up(connection, DRIP_SECONDS):
            connection.sendall(piece)

    return behave


def flood(start: bytes, piece: bytes) -> Behaviour:
    """Send a start and then pieces without end, as fast as they are taken."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece)

    return behave


def reset(sent: bytes) -> Behaviour:
    """Send something and tear the connection down."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(sent)
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    return behave


_LENGTH = "Content-Length: 1000"
_CHUNKED = "Transfer-Encoding: chunked"

BEHAVIOURS: dict[str, bytes | Behaviour] = {
    "/ok.png": answer(PNG, "Content-Type: image/png"),
    "/named": answer(
        PNG, "Content-Type: image/png", 'Content-Disposition: attachment; filename="a.png"'
    ),
    "/chunked": head("Content-Type: text/plain; charset=utf-8", _CHUNKED)
    + b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
    "/until-close": head("Content-Type: text/plain") + b"until the end",
    "/empty": answer(),
    "/longer-than-said": answer(b"short") + b"and more that nobody announced",
    "/silence": then_silence(b""),
    "/slow-headers": then_silence(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "/dripping-headers": drip(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n"),
    "/only-informational": drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "/stalled-body": then_silence(head(_LENGTH) + b"abc"),
    "/dripping-body": drip(head("Content-Length: 100000"), b"a"),
    "/dripping-chunks": drip(head(_CHUNKED), b"1\r\na\r\n"),
    "/endless": flood(head(), b"a" * 65_536),
    "/endless-chunks": flood(head(_CHUNKED), b"4000\r\n" + b"a" * 0x4000 + b"\r\n"),
    "/announced-too-large": then_silence(head("Content-Length: 99999999999999")),
    "/absurd-length": then_silence(head("Content-Length: " + "9" * 5_000)),
    "/two-lengths": head("Content-Length: 3", "Content-Length: 4") + b"abcd",
    "/negative-length": head("Content-Length: -3") + b"abc",
    "/shorter-than-said": head(_LENGTH) + b"short",
    "/torn-chunk": head(_CHUNKED) + b"ff\r\nshort",
    "/torn-chunks": head(_CHUNKED) + b"3\r\nabc\r\n",
    "/bad-chunk-size": head(_CHUNKED) + b"zz\r\nabc\r\n0\r\n\r\n",
    "/endless-chunk-size": flood(head(_CHUNKED) + b"3;", b"a" * 65_536),
    "/endless-trailers": flood(head(_CHUNKED) + b"0\r\n", b"X: a\r\n" * 10_000),
    "/reset-head": reset(b"HTTP/1.1 200 OK\r\n"),
    "/reset-body": reset(head(_LENGTH) + b"abc"),
    "/hang-up": b"",
    "/garbage": b"\x00\xff\x16\x03 not a status line\r\n\r\n",
    "/old": b"a file in HTTP/0.9\r\n\r\n",
    "/ssh": b"SSH-2.0-OpenSSH_9.9\r\n",
    "/bad-header": b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    "/huge-headers": head(*[f"X-{number}: {'a' * 1_000}" for number in range(1_000)]),
    "/endless-header": flood(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 65_536),
    "/switching": head("Upgrade: x", "Connection: upgrade", status="101 Switching Protocols"),
    "/gzip": answer(gzip.compress(PNG), "Content-Encoding: gzip"),
    "/bomb": answer(BOMB, "Content-Encoding: gzip, gzip"),
    "/hidden-bomb": answer(BOMB, "Content-Encoding: identity", "Content-Encoding: gzip"),
    "/undeclared-bomb": answer(BOMB, "Content-Type: application/gzip"),
    "/brotli": answer(b"x", "Content-Encoding: br"),
    "/transfer-gzip": head("Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "/loop": redirect("/loop"),
    "/nowhere": head("Content-Length: 0", status="302 Found"),
}
"""The behaviour of each path; bytes are sent and the connection is closed."""

SLOW = (
    "/silence",
    "/slow-headers",
    "/dripping-headers",
    "/only-informational",
    "/stalled-body",
    "/dripping-body",
    "/dripping-chunks",
)
"""The paths of those that never come to an end, and are slow about it."""


class HostileOrigin:
    """The server: behaviours by path, and a record of who came.

    Args:
        behaviours: More of them, or others for the same paths; a path without one is a 404.
        tls: Makes it speak https.
    """

    def __init__(
        self,
        behaviours: Mapping[str, bytes | Behaviour] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.behaviours = BEHAVIOURS | dict(behaviours or {})
        self.requests: list[str] = []
        """The heads of the requests that came, in order."""
        self.connections = 0
        """The number of opened connections, with a request or without."""
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.split(" ")[1] for request in self.requests]

    def __enter__(self) -> "HostileOrigin":
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not wake a thread that waits for a connection.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, accepted: socket.socket) -> None:
        # The client may hang up at any point; here that is no fault.
        try:
            with accepted, self._secured(accepted) as connection:
                request = _received_head(connection)
                if request:
                    self.requests.append(request)
                    self._behave(connection, request.split(" ")[1].partition("?")[0])
        except OSError:
            return

    def _secured(self, accepted: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(accepted, server_side=True) if self._tls else accepted

    def _behave(self, connection: socket.socket, path: str) -> None:
        behaviour = self.behaviours.get(path, answer(b"no", status="404 Not Found"))
        if isinstance(behaviour, bytes):
            connection.sendall(behaviour)
        else:
            behaviour(connection)


def _received_head(connection: socket.socket) -> str:
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65_536)
        if not piece:
            return ""
        received += piece
    return received.decode("latin-1")
