"""A provider that says what a test wants: the APIs of OpenAI and Anthropic, as far as agents go."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Json = dict[str, Any]


class StubModel(ThreadingHTTPServer):
    """Answers each request with the next of its replies; `requests` are those it got."""

    def __init__(self, replies: Sequence[Json]) -> None:
        self.replies = list(replies)
        self.requests: list[Json] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: StubModel

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        self.server.requests.append(json.loads(self.rfile.read(length)))
        body = json.dumps(self.server.replies.pop(0)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def stub_model(*replies: Json) -> Iterator[StubModel]:
    """Run a provider that gives these replies, in order."""
    with StubModel(replies) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
