"""Listening as users do: server-sent events of a live server, read block by block.

A connection of its own and no `httpx`: every wait has a bound of its own here, and a stream is left
in the middle.
"""

import contextlib
import http.client
import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlencode

import httpx
import msgspec

WAIT_SECONDS = 60.0
"""The time-out of a test for an expected block; heartbeats are rarer."""
HEARTBEAT = b": ping"

_BLOCK_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Block:
    """A block of a stream; absent fields are `None`."""

    id: str | None = None
    event: str | None = None
    data: bytes | None = None
    retry: str | None = None

    @property
    def position(self) -> int:
        """The position that a listener may continue from."""
        assert self.id is not None
        return int(self.id)

    @property
    def told(self) -> dict[str, Any]:
        """The parsed data."""
        assert self.data is not None
        told: dict[str, Any] = json.loads(self.data)
        return told


class Listening:
    """An open stream; `opening` is its first block, which names the place it begins at."""

    def __init__(self, response: http.client.HTTPResponse, connected: socket.socket) -> None:
        self._response = response
        self._connected = connected
        self._received = b""
        self.status = response.status
        self.headers = [(name.lower(), value) for name, value in response.getheaders()]
        self.opening = self.next()

    def next(self, timeout: float = WAIT_SECONDS) -> Block:
        """The next block that says anything, within so many seconds."""
        until = monotonic() + timeout
        while (raw := self.raw(until - monotonic())) == HEARTBEAT:
            pass
        return _block(raw)

    def some(self, count: int) -> list[Block]:
        """So many blocks, in order."""
        return [self.next() for _ in range(count)]

    def raw(self, timeout: float = WAIT_SECONDS) -> bytes:
        """The next block as it is sent, heartbeats too."""
        while (end := _BLOCK_END.search(self._received)) is None:
            received = self._receive(timeout)
            assert received, "the stream has ended"
            self._received += received
        raw, self._received = self._received[: end.start()], self._received[end.end() :]
        return raw

    def rest(self, timeout: float = WAIT_SECONDS) -> list[Block]:
        """Return the blocks until the server ends the stream."""
        while received := self._receive(timeout):
            self._received += received
        *blocks, last = _BLOCK_END.split(self._received)
        assert last == b""
        return [_block(raw) for raw in blocks if raw != HEARTBEAT]

    def _receive(self, timeout: float) -> bytes:
        self._connected.settimeout(max(timeout, 0.001))
        # An end that the server has not announced raises.
        return self._response.read1(65_536)


@contextlib.contextmanager
def listening(
    client: httpx.Client,
    path: str = "/api/events",
    *,
    after: int | None = None,
    last_event_id: int | str | None = None,
    queried_event_id: int | None = None,
    ticket: str | None = None,
) -> Iterator[Listening]:
    """A stream of a client's events, open during the block.

    Args:
        client: Whose server and key, unless there is a ticket.
        path: The route of the stream.
        after: The position in the query.
        last_event_id: The position in the header, as browsers that come back send it.
        queried_event_id: The same in the query, as a polyfill of theirs sends it.
        ticket: The ticket in the place of the key.
    """
    headers = {} if ticket is not None else {"Authorization": client.headers["authorization"]}
    if last_event_id is not None:
        headers["Last-Event-ID"] = str(last_event_id)
    query = {"after": after, "ticket": ticket, "lastEventId": queried_event_id}
    given = urlencode({name: value for name, value in query.items() if value is not None})
    connection = http.client.HTTPConnection(
        client.base_url.host, client.base_url.port, timeout=WAIT_SECONDS
    )
    with contextlib.closing(connection):
        connection.request("GET", f"{path}?{given}" if given else path, headers=headers)
        connected = connection.sock
        with connection.getresponse() as response:
            assert response.status == 200, response.read()
            yield Listening(response, connected)


def heard(
    client: httpx.Client, path: str = "/api/events", *, after: int = 0, count: int
) -> list[Block]:
    """The next so many events behind a position."""
    with listening(client, path, after=after) as stream:
        return stream.some(count)


def log_of(client: httpx.Client, *, after: int = 0) -> list[Block]:
    """All events of a project behind a number; makes one more, which says where they end."""
    ended = client.post("/api/pages", json={"content": "the end"})
    assert ended.status_code == 201, ended.text
    blocks = []
    with listening(client, after=after) as stream:
        while (block := stream.next()).told["id"] != ended.json()["page_id"]:
            blocks.append(block)
    return blocks


def ticket_of(client: httpx.Client) -> str:
    """A fresh ticket."""
    made = client.post("/api/events/ticket")
    assert made.status_code == 201, made.text
    ticket: str = made.json()["ticket"]
    return ticket


def member(document: bytes, *path: str | int) -> bytes:
    """The bytes of a member somewhere in a JSON document, as they stand there."""
    raw = msgspec.Raw(document)
    for step in path:
        if isinstance(step, int):
            raw = msgspec.json.decode(raw, type=list[msgspec.Raw])[step]
        else:
            raw = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])[step]
    return bytes(raw)


def _block(raw: bytes) -> Block:
    """A block as browsers read it (HTML, "Interpreting an event stream")."""
    said: dict[str, list[bytes]] = {}
    for line in _LINE_END.split(raw):
        name, _, value = line.partition(b":")
        said.setdefault(name.decode(), []).append(value.removeprefix(b" "))
    last = {name: values[-1].decode() for name, values in said.items() if name != "data"}
    data = b"\n".join(said["data"]) if "data" in said else None
    assert last.keys() <= {"id", "event", "retry"}
    return Block(last.get("id"), last.get("event"), data, last.get("retry"))
