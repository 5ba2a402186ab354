"""The proxy repeats requests whose connections break after the service has processed them."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from app.config.settings import Settings
from packages.mcp.tests.e2e.test_proxy_command import HANDLE
from packages.mcp.tests.e2e.test_proxy_url import (
    OWN_CALLS,
    Json,
    answers_to,
    kept_by,
    nameless,
    stderr_of,
)
from tests.kit.servers import LiveService, serving

# Arguments of this length are noted by themselves, and not with their result.
LONG_CALL: tuple[str, Json] = ("word", {"text": "x" * 20_000})
SAVED = "A thing to remember."


@contextmanager
def answers_lost(service: LiveService, times: int) -> Iterator[tuple[str, Counter[str]]]:
    """Forward requests to a service, and drop the first answers to each request.

    Yields:
        The address, and how many answers were lost of each method and path, without identities.
    """
    counts: dict[tuple[str, str, bytes], int] = {}
    lost: Counter[str] = Counter()

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self._body()
            answer = client.request(
                self.command,
                self.path,
                content=body,
                headers={
                    name: value
                    for name in ("Content-Type", "Idempotency-Key", "Accept-Encoding")
                    if (value := self.headers[name]) is not None
                },
            )
            key = (self.command, self.path, body)
            counts[key] = counts.get(key, 0) + 1
            # The first request only checks the service.
            if counts[key] <= times and not self.path.startswith("/api/sessions?"):
                lost[f"{self.command} {_route(self.path)}"] += 1
                return
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.end_headers()
            self.wfile.write(answer.content)

        def do_POST(self) -> None:
            self.do_GET()

        def _body(self) -> bytes:
            if length := self.headers["Content-Length"]:
                return self.rfile.read(int(length))
            pieces = []
            if self.headers["Transfer-Encoding"]:
                while size := int(self.rfile.readline(), 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
            return b"".join(pieces)

        def log_message(self, *_: object) -> None:
            pass

    with (
        httpx.Client(base_url=service.base_url, timeout=60) as client,
        ThreadingHTTPServer(("127.0.0.1", 0), Relay) as relay,
    ):
        Thread(target=relay.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{relay.server_port}", lost
        relay.shutdown()


def _route(path: str) -> str:
    """A path with a star for each identity, and without its query."""
    names = path.partition("?")[0].split("/")
    return "/".join("*" if len(name) > 30 else name for name in names)


@contextmanager
def served(folder: Path) -> Iterator[LiveService]:
    """Yield a service that requires no key."""
    with serving(Settings(data_dir=folder, auth="none", log_level="error")) as live:
        yield live


def stored_in(service: LiveService) -> list[str]:
    """Return the entries of the session, and the pages, without values that differ in each run."""
    messages = httpx.get(f"{service.base_url}/api/sessions/demo/messages").json()["items"]
    pages = httpx.get(f"{service.base_url}/api/pages").json()["items"]
    return [*map(nameless, messages), str(len(pages))]


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#the-process-dies",
    "Of what a proxy asks, nothing is lost and nothing done twice where a connection breaks behind "
    "it",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/service_store.py",
    tried="each answer is lost once: calls, results, renderings, files, own tools",
)
def test_lost_answers_cost_nothing_and_double_nothing(tmp_path: Path) -> None:
    save: tuple[str, Json] = ("save_page", {"content": SAVED})
    upload: tuple[str, Json] = ("upload", {"image": HANDLE})
    # The last one is longer than the limit for lines in memory.
    texts: list[tuple[str, Json]] = [("word", {}), ("long", {"characters": 3_000_000})]
    calls = [*texts, ("picture", {}), LONG_CALL, upload, *OWN_CALLS, save]
    with served(tmp_path / "whole") as whole, kept_by(whole.base_url, tmp_path) as host:
        expected = answers_to(host, calls)
        history = stored_in(whole)
    with served(tmp_path / "broken") as broken, answers_lost(broken, 1) as (url, lost):
        with kept_by(url, tmp_path) as host:
            assert answers_to(host, calls) == expected
        assert stored_in(broken) == history
    assert stderr_of(tmp_path) == ""
    assert set(lost) >= {
        *("POST /api/tool-results", "GET /api/tool-results/*/render", "GET /api/resources/*"),
        *("POST /api/resolve", "POST /api/sessions/demo/messages"),
        "POST /api/sessions/demo/tool-calls",
    }


def test_service_that_never_answers_is_asked_three_times(tmp_path: Path) -> None:
    with (
        served(tmp_path / "served") as service,
        answers_lost(service, 3) as (url, lost),
        kept_by(url, tmp_path) as host,
    ):
        listed = json.loads(host.call(1, "list_media"))["result"]
        host.call(2, "word")
        assert host.leave() == 0
    assert listed["isError"]
    assert "cannot be reached: " in listed["content"][0]["text"]
    assert "a result of word is passed on and not stored: " in stderr_of(tmp_path)
    assert lost["POST /api/sessions/demo/tool-calls"] == lost["POST /api/tool-results"] == 3
