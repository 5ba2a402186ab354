"""Eight writers at once, what they sent, and what they were told of it."""

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count, islice
from typing import Literal, TypeAlias

import httpx

from tests.contract.upload_requests import TUS, begin, send
from tests.kit.media import noise_bytes, png
from tests.kit.process import WAIT_SECONDS

Kind: TypeAlias = Literal["text", "medium", "long", "file", "parts", "pieces"]
WRITERS: Sequence[Kind] = ("text",) * 4 + ("medium", "medium", "long", "file")
MAX_CALLS = 4_000
"""Of one writer, after which nobody believes any more that the service ends."""

_SIZES = {
    "medium": 80_000,
    "long": 1_200_000,
    "file": 100_000,
    "parts": 9_000_000,
    "pieces": 100_000,
}
# A file in `parts` is longer than what is put into a bucket in one step.


@dataclass(frozen=True, slots=True)
class Call:
    """One thing that a writer wants to be kept."""

    kind: Kind
    session: str
    number: int
    size_bytes: int

    @property
    def data(self) -> bytes:
        """The bytes of its medium; no other call has the same."""
        return png() + f"{self.session} {self.number}".encode() + noise_bytes(self.size_bytes)

    @property
    def digest(self) -> str | None:
        """The SHA-256 of its medium, `None` if it has none."""
        return None if self.kind == "text" else hashlib.sha256(self.data).hexdigest()

    @property
    def is_in_history(self) -> bool:
        """True for a tool result."""
        return self.kind in ("text", "medium", "long")

    def send(self, client: httpx.Client) -> tuple[str, bytes]:
        """Send it; returns where it can be read from now on, and what is read there."""
        if self.kind == "pieces":
            return self._send_in_pieces(client)
        if not self.is_in_history:
            answer = client.post("/api/resources", content=self.data)
        else:
            answer = client.post("/api/tool-results", json=self._request())
        answer.raise_for_status()
        return answer.headers["location"], answer.content

    def _request(self) -> dict[str, object]:
        result: object = f"{self.session}: {self.number}"
        if self.kind != "text":
            data = base64.b64encode(self.data).decode()
            result = {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
        return {
            "toolName": self.kind,
            "toolCallId": f"c{self.number}",
            "sessionId": self.session,
            "result": result,
        }

    def _send_in_pieces(self, client: httpx.Client) -> tuple[str, bytes]:
        data = self.data
        path = begin(client, len(data))
        while (offset := _offset(client, path)) < len(data):
            send(client, path, offset, data[offset : offset + 60_000]).raise_for_status()
        described = client.get(path, headers={"Accept": "application/json"}).raise_for_status()
        uri = described.json()["resource"]["uri"]
        found = client.get(f"/api/resources/{uri}").raise_for_status()
        return f"/api/resources/{uri}", found.content


def _offset(client: httpx.Client, path: str) -> int:
    answer = client.head(path, headers=TUS).raise_for_status()
    return int(answer.headers["upload-offset"])


def until_taken(call: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
    """Do what may be refused for a moment, where a sweep leaves what is new no time."""
    while True:
        try:
            return call()
        except httpx.HTTPStatusError as exc:
            if exc.response.status_code != 503 or "retry-after" not in exc.response.headers:
                raise


@dataclass
class Round:
    """The requests to one process before it died.

    Each writer begins with the call that the last process has not answered.
    """

    name: str
    left: Sequence[Call] = ()
    kinds: Sequence[Kind] = WRITERS
    acknowledged: dict[str, bytes] = field(default_factory=dict)
    answered: list[Call] = field(default_factory=list)
    unanswered: list[Call] = field(default_factory=list)
    _news: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def writing(self, connect: Callable[[], httpx.Client]) -> Iterator[None]:
        """Write until the process has died, which this waits for at the end of the block."""
        writers = [
            threading.Thread(target=self._write, args=(connect, writer, kind))
            for writer, kind in enumerate(self.kinds)
        ]
        for writer in writers:
            writer.start()
        try:
            yield
        finally:
            for writer in writers:
                writer.join(WAIT_SECONDS)

    def wait_for_answers(self, number: int) -> None:
        """Return when so many calls were acknowledged."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.answered) >= number, WAIT_SECONDS)

    def _write(self, connect: Callable[[], httpx.Client], writer: int, kind: Kind) -> None:
        size_bytes = _SIZES.get(kind, 0)
        with connect() as client:
            mine = (Call(kind, f"{self.name}-{writer}", number, size_bytes) for number in count())
            for call in islice(chain(self.left[writer : writer + 1], mine), MAX_CALLS):
                try:
                    place, body = call.send(client)
                except httpx.TransportError:
                    with self._news:
                        self.unanswered.append(call)
                    return
                with self._news:
                    self.acknowledged[place] = body
                    self.answered.append(call)
                    self._news.notify_all()
