"""A service to talk to, and what stands between it and a client when a network is bad."""

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
    """Run `pagefault serve`; yields its URL, and ends it with SIGKILL."""
    kept = {name: value for name, value in os.environ.items() if not _NOT_INHERITED.match(name)}
    process = subprocess.Popen(  # noqa: S603 - our own command
        [COMMAND, "serve", "--port", str(port), "--data-dir", str(data_dir)],
        stderr=subprocess.PIPE,
        text=True,
        env={**kept, **settings},
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
        # What it says later is read, or it would wait for that.
        reader = threading.Thread(target=process.stderr.read, daemon=True)
        reader.start()
        yield found[1]
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stderr.close()


class CuttingProxy:
    """Passes connections on, and cuts those that it is told to cut.

    Attributes:
        cuts: For each further connection, after how many bytes from the client (positive) or from
            the service (negative) it is cut; None lets it be. Those after the last are let be.
        connections: How many there were.
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
        """Cut what is open."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Cut what is open, and listen no more."""
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()
        self._thread.join()
        for each in self._open:
            each.close()

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
    """Pass bytes on both ways until one ends, then close both.

    Shut down alone, a socket still takes what its peer sends: a client would write until the
    buffers are full, and wait.
    """
    back = threading.Thread(target=_pass_on, args=(service, client, -cut), daemon=True)
    back.start()
    _pass_on(client, service, cut)
    back.join()
    client.close()
    service.close()


def _pass_on(source: socket.socket, target: socket.socket, most: int) -> None:
    """Pass bytes on, at most `most` of them if that is positive, then cut both ways."""
    with contextlib.suppress(OSError):
        left = most if most > 0 else None
        while piece := source.recv(65536 if left is None else min(65536, left)):
            target.sendall(piece)
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    break
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@dataclass
class Reply:
    """What a scripted service answers; status 0 cuts the connection."""

    status: int
    body: object = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """What a scripted service was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ScriptedService(ThreadingHTTPServer):
    """Answers each request with the next of its replies, the last one again and again."""

    def __init__(self, *replies: Reply | Callable[[Request], Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """Stop."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that are gone."""


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedService

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = Request(self.command, self.path, dict(self.headers), body)
        self.server.requests.append(asked)
        replies = self.server.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if callable(reply):
            reply = reply(asked)
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
        """Say nothing."""


def problem(status: int, code: str, **headers: str) -> Reply:
    """Return a refusal of the service."""
    body = {"title": code, "status": status, "code": code, "detail": "No.", "requestId": "r1"}
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
