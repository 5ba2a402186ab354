"""Processes behind nginx over one PostgreSQL and one bucket, with writers and listeners.

The writers repeat each call until it is acknowledged. The listeners reconnect with the position of
the last event. At the end of a load, what both have got is compared with what is stored.
"""

import contextlib
import http.client
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from tests.kit.event_streams import listening
from tests.kit.nginx import Nginx, balancing
from tests.kit.process import WAIT_SECONDS, PagefaultProcess

WRITERS = 4
LISTENERS = 2
MORE_ANSWERS = 16
"""The acknowledged calls between two faults, so that each fault hits a busy cluster."""
LAST_PAGE = "the-end"
"""The page whose event ends the listeners."""
# What a caller may get while a part of the cluster is away: repeated, the call succeeds.
_TEMPORARY = frozenset({502, 503, 504, 507})


@dataclass
class Load:
    """The answers of writers and the events of listeners of one project."""

    acknowledged: dict[str, bytes] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    heard: list[list[int]] = field(default_factory=lambda: [[] for _ in range(LISTENERS)])
    news: threading.Condition = field(default_factory=threading.Condition)

    def add(self, answer: httpx.Response) -> bool:
        """Record an answer; return whether the call is acknowledged."""
        with self.news:
            self.news.notify_all()
            self.statuses[answer.status_code] += 1
            if answer.status_code in (200, 201):
                self.acknowledged[answer.headers["location"]] = answer.content
                return True
            if answer.status_code not in _TEMPORARY:
                self.unexpected.append(f"{answer.status_code} {answer.text[:300]}")
            return False

    def wait_for_more(self) -> None:
        """Return when some more calls were acknowledged."""
        with self.news:
            enough = len(self.acknowledged) + MORE_ANSWERS
            assert self.news.wait_for(lambda: len(self.acknowledged) >= enough, WAIT_SECONDS)

    def wait_for_status(self, status: int) -> None:
        """Return when a further answer has this status."""
        with self.news:
            before = self.statuses[status]
            assert self.news.wait_for(lambda: self.statuses[status] > before, WAIT_SECONDS)


class Cluster:
    """Two processes and nginx; used as a context it serves.

    Args:
        folder: Where it may write.
        env: The settings that lead to its stores.
    """

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        # Without keys, the name of the upstream has to be listed.
        env = {**env, "PAGEFAULT_ALLOWED_HOSTS": "pagefault"}
        # Each keeps its port, so that nginx finds it when it is there again.
        self._ports = [free_port() for _ in range(2)]
        self.processes = [
            PagefaultProcess(folder / f"{port}", options=("--port", f"{port}"), env=env)
            for port in self._ports
        ]
        self._folder = folder
        self._stack = contextlib.ExitStack()
        self.nginx: Nginx

    def __enter__(self) -> "Cluster":
        with contextlib.ExitStack() as stack:
            for process in self.processes:
                stack.enter_context(process)
            addresses = (f"127.0.0.1:{port}" for port in self._ports)
            self.nginx = stack.enter_context(Nginx(self._folder, balancing(*addresses)))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def client(self) -> httpx.Client:
        """A client of nginx."""
        return httpx.Client(
            base_url=self.nginx.base_url,
            # All callers belong to one project; streams want a key to show.
            headers={"Authorization": "Bearer none"},
            timeout=WAIT_SECONDS,
            trust_env=False,
        )

    def kill(self, index: int) -> None:
        """Kill a process, and start it again."""
        self.processes[index].kill()
        self.processes[index].start()

    @contextlib.contextmanager
    def load(self) -> Iterator[Load]:
        """Write and listen during the block; then check that nothing is lost."""
        load, is_over = Load(), threading.Event()
        writers = [
            threading.Thread(target=self._write, args=(load, is_over, number), daemon=True)
            for number in range(WRITERS)
        ]
        listeners = [
            threading.Thread(target=self._listen, args=(load, number), daemon=True)
            for number in range(LISTENERS)
        ]
        for thread in (*listeners, *writers):
            thread.start()
        # If the block fails, the cluster may be away for ever, and nothing is waited for.
        load.wait_for_more()
        yield load
        load.wait_for_more()
        is_over.set()
        _join(writers)
        with self.client() as client:
            written = client.put(f"/api/pages/{LAST_PAGE}", json={"content": "the end"})
            assert written.is_success, written.text
        _join(listeners)
        self._check(load)

    def _write(self, load: Load, is_over: threading.Event, writer: int) -> None:
        with self.client() as client:
            for number in count():
                call = {
                    "toolName": "t",
                    "toolCallId": f"c{number}",
                    "sessionId": f"s{writer}",
                    "result": f"{writer}: {number}",
                }
                is_acknowledged = False
                while not is_acknowledged:
                    with contextlib.suppress(httpx.TransportError):
                        is_acknowledged = load.add(client.post("/api/tool-results", json=call))
                if is_over.is_set():
                    return

    def _listen(self, load: Load, listener: int) -> None:
        positions = load.heard[listener]
        is_over = False
        while not is_over:
            # A stream that ends without an announcement is an assertion of its reader.
            with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                is_over = self._hear(positions)

    def _hear(self, positions: list[int]) -> bool:
        """Listen to one stream until the event of the last page."""
        after = positions[-1] if positions else 0
        with self.client() as client, listening(client, last_event_id=after) as stream:
            while True:
                block = stream.next(WAIT_SECONDS)
                positions.append(block.position)
                if block.told.get("id") == LAST_PAGE:
                    return True

    def _check(self, load: Load) -> None:
        assert load.unexpected == []
        with self.client() as client:
            stored = {place: client.get(place).content for place in load.acknowledged}
            assert stored == load.acknowledged
            for writer in range(WRITERS):
                entries = list(_entries(client, f"s{writer}"))
                assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
                calls = [entry["toolCallId"] for entry in entries]
                assert calls == [f"c{number}" for number in range(len(calls))]
        for positions in load.heard:
            assert positions == list(range(1, len(positions) + 1))
            assert len(positions) > len(load.acknowledged)


def _entries(client: httpx.Client, session_id: str) -> Iterator[dict[str, Any]]:
    query = {"limit": "200"}
    while True:
        page = client.get(f"/api/sessions/{session_id}/messages", params=query).json()
        yield from page["items"]
        if not page.get("nextCursor"):
            return
        query["cursor"] = page["nextCursor"]


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening_socket:
        port: int = listening_socket.getsockname()[1]
        return port


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
