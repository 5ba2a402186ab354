"""A service under test, and a proxy that simulates a bad network."""

import contextlib
import json
import os
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COMMAND = os.environ.get("PAGEFAULT_COMMAND", str(ROOT / ".venv" / "bin" / "pagefault"))
_URL = re.compile(r"Pagefault is at (http://\S+)")
_NOT_INHERITED = re.compile("PAGEFAULT_.*|.*_proxy", re.IGNORECASE)


@contextlib.contextmanager
def serving(data_dir: Path, *, port: int = 0, **settings: str) -> Iterator[str]:
    """Run `pagefault serve`, and yield its URL; it ends with SIGKILL."""
    variables = {
        name: value for name, value in os.environ.items() if not _NOT_INHERITED.match(name)
    }
    process = subprocess.Popen(  # noqa: S603 - our own command
        [COMMAND, "serve", "--port", str(port), "--data-dir", str(data_dir)],
        stderr=subprocess.PIPE,
        text=True,
        env={**variables, **settings},
    )
    assert process.stderr is not None
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := _URL.search(line):
                break
        else:
            raise AssertionError("".join(lines))
        # Read the rest of stderr, or the process blocks when the pipe is full.
        reader = threading.Thread(target=process.stderr.read, daemon=True)
        reader.start()
        yield found[1]
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stderr.close()


class CuttingProxy:
    """A proxy that forwards connections, and cuts those in `cuts`.

    Attributes:
        cuts: For each further connection, the number of bytes from the client (positive) or from
            the service (negative) after which it is cut; None for no cut. Connections after the
            last item are not cut.
        connections: The number of connections.
    """

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._upstream = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts: list[int | None] = []
        self.connections = 0
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut_all(self) -> None:
        """Cut all open connections."""
        for item in self._open:
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Cut all open connections, and stop listening."""
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()
        self._thread.join()
        for item in self._open:
            item.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            cut = self.cuts.pop(0) if self.cuts else None
            try:
                service = socket.create_connection(self._upstream)
            except OSError:
                client.close()
                continue
            self._open += [client, service]
            args = (client, service, cut or 0)
            threading.Thread(target=_connect, args=args, daemon=True).start()


def _connect(client: socket.socket, service: socket.socket, cut: int) -> None:
    """Forward bytes in both directions until one ends, then close both.

    A socket that is only shut down still accepts data from its peer: the client would write until
    the buffers are full, and block.
    """
    back = threading.Thread(target=_forward, args=(service, client, -cut), daemon=True)
    back.start()
    _forward(client, service, cut)
    back.join()
    client.close()
    service.close()


def _forward(source: socket.socket, target: socket.socket, limit: int) -> None:
    """Forward bytes, at most `limit` of them if that is positive, then cut both directions."""
    with contextlib.suppress(OSError):
        remaining = limit if limit > 0 else None
        while piece := source.recv(65536 if remaining is None else min(65536, remaining)):
            target.sendall(piece)
            if remaining is not None:
                remaining -= len(piece)
                if remaining <= 0:
                    break
    for item in (source, target):
        with contextlib.suppress(OSError):
            item.shutdown(socket.SHUT_RDWR)


@dataclass
class Reply:
    """An answer of a scripted service; status 0 cuts the connection."""

    status: int
    body: object = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """A request to a scripted service."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ScriptedService(ThreadingHTTPServer):
    """A service that answers each request with the next reply, and repeats the last one."""

    def __init__(self, *replies: Reply | Callable[[Request], Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of the service."""
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """Stop the service."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of disconnected clients."""


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedService

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = Request(self.command, self.path, dict(self.headers), body)
        self.server.requests.append(request)
        replies = self.server.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if callable(reply):
            reply = reply(request)
        if not reply.status:
            self.close_connection = True
            return
        sent = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"content-length": str(len(sent)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(sent)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests."""


def problem(status: int, code: str, **headers: str) -> Reply:
    """Return an error answer of the service."""
    body = {"title": code, "status": status, "code": code, "detail": "No.", "requestId": "r1"}
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
