"""An S3 store of one bucket that holds nothing, and answers in the very documents of real ones.

It takes every object and keeps none. A rule makes it answer otherwise, or not at all.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

_XML = '<?xml version="1.0" encoding="UTF-8"?>'


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a store."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


Rule = Callable[[str, str], Answer | None]
"""Makes an answer from the method and the target of a request; `None` leaves it to the store."""


def refusal(status: int, code: str, rest: str = "") -> Answer:
    """The document that a store says no with."""
    document = f"{_XML}<Error><Code>{code}</Code><Message>No.</Message>{rest}</Error>"
    return Answer(status, document, {"Content-Type": "application/xml"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Tell nobody of callers who did not wait for their answer."""


class ScriptedObjectStore:
    """Answers on a free loopback port from threads; used as a context."""

    def __init__(self, rule: Rule | None = None) -> None:
        self.rule = rule
        self.requests: list[str] = []
        """Each request that came, as `METHOD /target`."""
        self._released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> "ScriptedObjectStore":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def endpoint_url(self) -> str:
        """The base URL, `http://127.0.0.1:<port>`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def hang(self, method: str, target: str) -> Answer | None:
        """Keep a request waiting to the end; a rule."""
        self._released.wait()
        return None

    def writes(self) -> list[str]:
        """The requests that change something."""
        return [request for request in self.requests if not request.startswith(("GET", "HEAD"))]

    def answer(self, method: str, target: str) -> Answer:
        """The answer to a request."""
        self.requests.append(f"{method} {target}")
        ruled = self.rule(method, target) if self.rule else None
        return ruled or _empty_store(method, target)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _respond(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = store.answer(self.command, self.path)
                body = answer.body.encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _respond  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Tell nobody."""

        return Handler


def _empty_store(method: str, target: str) -> Answer:
    query = urlsplit(target).query
    if method == "PUT":
        return Answer(200, headers={"ETag": '"0"'})
    if method == "POST" and query.startswith("delete"):
        return Answer(200, f"{_XML}<DeleteResult><Deleted><Key>k</Key></Deleted></DeleteResult>")
    if query.startswith("list-type"):
        return Answer(
            200,
            f"{_XML}<ListBucketResult><Name>b</Name><KeyCount>0</KeyCount>"
            "<IsTruncated>false</IsTruncated></ListBucketResult>",
        )
    return refusal(404, "NoSuchKey")
