"""A TCP proxy that forgets idle connections, as load balancers and firewalls do.

A forgotten connection is not closed. The next bytes of the client are answered by a reset.
"""

import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_CHUNK_BYTES = 65_536
_RESET = struct.pack("ii", 1, 0)


class ExpiringProxy:
    """A proxy on a free loopback port, before a server at a Unix socket.

    Args:
        server: The socket of the server.
    """

    def __init__(self, server: Path) -> None:
        self._server = str(server)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._forgotten: set[socket.socket] = set()
        self.resets = 0
        """The number of forgotten connections that were used."""

    def __enter__(self) -> "ExpiringProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for item in self._open:
                with suppress(OSError):
                    item.shutdown(socket.SHUT_RDWR)

    def expire(self) -> int:
        """Forget all connections; returns how many there were."""
        with self._lock:
            self._forgotten |= self._open
            return len(self._open)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            with self._lock:
                self._open.add(client)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        """Forward in one direction until one side closes, and close that of the client."""
        with source, suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                with self._lock:
                    is_forgotten = source in self._forgotten
                    self.resets += is_forgotten
                if is_forgotten:
                    source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    break
                sink.sendall(data)
        with self._lock:
            self._open.discard(source)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
