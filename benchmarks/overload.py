"""Answers to clients that send several times as much as the service is configured to accept.

    python -m benchmarks --only overload

Each load meets a service of its own with one small limit: requests at once, connections at once,
large bodies that wait, the bytes of a key. Its clients do not wait as they are told, but ask again
at once. An answer is right if it keeps what was sent, or if it is a 429 or 503 that was read to its
end and says when to come again; whatever else comes, or does not come in time, ends the measuring.
What was taken is read back and compared by its SHA-256, and nothing else may be there.

The same requests go to a FastAPI route under the same server that counts the bytes, in turns.
"""

import asyncio
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import quantiles

import httpx

from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Bare, Memory, Service, bare_server, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL

GROUP = "overload"
MIB = 1 << 20
UPLOAD_BYTES = 64 * 1024
TEXT_BYTES = 1_500_000
"""Of a tool result that is parsed in its turn: what is above 1 MiB."""

_MAX_MIB = 450
_PATIENCE_SECONDS = 30.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_LATER = re.compile(rb"\r\nretry-after: *(\d+)\r\n", re.IGNORECASE)
_PLACE = re.compile(rb"\r\nlocation: *(\S+)\r\n", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection: *close\r\n", re.IGNORECASE)
_REFUSED = frozenset({429, 503})
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Overload:
    """Clients that are too many, and the limit that they meet.

    `sends` makes a request and the bytes that are to be read back, from a number of its own.
    """

    name: str
    clients: int
    env: Mapping[str, str]
    sends: "Sends"
    is_connected_anew: bool = False
    """True if each request comes on a connection of its own."""


@dataclass(frozen=True, slots=True)
class Sends:
    """A request: its path, its body, and the place of the stored bytes."""

    path: str
    content_type: str
    body: Callable[[int], bytes]
    kept: Callable[[httpx.Client, str], bytes]
    """Reads the bytes at the place that an answer names."""
    stored: Callable[[httpx.Client], int]
    """Counts all stored records of the service."""
    sent: Callable[[int], bytes]
    """The bytes that are to be read back."""


@dataclass(slots=True)
class Answers:
    """An answer. Times are in milliseconds."""

    taken: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    kept: dict[int, str] = field(default_factory=dict)
    """By the number of a request that was taken, where its bytes are."""

    def forget_times(self) -> None:
        """Reset the counts; stored records stay."""
        self.taken.clear()
        self.refused.clear()


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, read to its end."""

    status: int
    head: bytes
    body: bytes

    @property
    def says_when(self) -> bool:
        """True if it has a `Retry-After`."""
        return _LATER.search(self.head) is not None

    @property
    def place(self) -> str:
        """The path of the stored bytes; empty without one."""
        found = _PLACE.search(self.head)
        return found[1].decode() if found else ""

    @property
    def is_last(self) -> bool:
        """True if the connection ends with it."""
        return _CLOSES.search(self.head) is not None


async def measure(scale: Scale) -> Sequence[Figure]:
    """Each load, one after the other."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name, bare_server(Path(name), cores=ALL) as bare:
        for number, overload in enumerate(_overloads(scale)):
            figures += await _met(overload, bare, Path(name) / str(number), scale)
    return figures


def _overloads(scale: Scale) -> Sequence[Overload]:
    many, few = scale.pick(256, 8), scale.pick(32, 2)
    large = scale.pick(32, 6)
    uploads, results = _uploads(), _results(scale.pick(TEXT_BYTES, MIB + 1))
    return (
        Overload(
            "1,024 uploads of 64 KiB at once, 32 requests allowed",
            # So many that they have not all had their turn within the second that they may wait.
            scale.pick(1_024, 64),
            {"PAGEFAULT_LIMITS__REQUESTS_AT_ONCE": str(few)},
            uploads,
        ),
        Overload(
            "256 uploads on new connections, 32 connections allowed",
            many,
            {"PAGEFAULT_LIMITS__CONNECTIONS_AT_ONCE": str(few)},
            uploads,
            is_connected_anew=True,
        ),
        Overload(
            "32 results of 1.5 MB at once, 2 parsed and 4 waiting",
            large,
            {
                "PAGEFAULT_LIMITS__LARGE_BODIES": scale.pick("2", "1"),
                "PAGEFAULT_LIMITS__LARGE_BODIES_WAITING": scale.pick("4", "1"),
            },
            results,
        ),
        Overload(
            "256 uploads of 64 KiB at once, 500 a day allowed",
            many,
            {"PAGEFAULT_QUOTAS__BODY_BYTES_PER_DAY": str(scale.pick(500, 20) * UPLOAD_BYTES)},
            uploads,
        ),
    )


async def _met(overload: Overload, bare: Bare, folder: Path, scale: Scale) -> Sequence[Figure]:
    """A load and its ceiling in turns; a first round, which is short, warms up and is not timed."""
    served, ceiling = Answers(), Answers()
    spent = 0.0
    seconds = scale.pick(2.0, 0.1)
    with serving(folder, env=overload.env, cores=ALL) as service:
        for number in range(scale.pick(5, 1) + 1):
            lasts = seconds if number else seconds / 10
            began = time.perf_counter()
            await _asked(overload, service.port, _served(overload, service), served, lasts)
            spent += (time.perf_counter() - began) * bool(number)
            await _asked(overload, bare.port, _counted(overload), ceiling, lasts)
            if not number:
                served.forget_times()
                ceiling.forget_times()
        resident = Memory(service.pid).peak / MIB
        _check(overload, service, served)
    if scale is Scale.FULL and not (served.refused and served.taken):
        raise WrongAnswerError(f"{overload.name}: nothing was refused, or everything")
    memory = Figure(
        group=GROUP,
        name=f"{overload.name}: memory",
        value=resident,
        unit="MiB resident",
        aim=value_at_most(_MAX_MIB),
    )
    return [*_figures(overload, served, ceiling, seconds=spent), memory]


def _figures(
    overload: Overload, served: Answers, ceiling: Answers, *, seconds: float
) -> Sequence[Figure]:
    """The number of refusals, and the times of refusals and of other answers."""
    refused, answered = len(served.refused), len(served.refused) + len(served.taken)
    beside = "bytes only counted"
    return (
        Figure(
            group=GROUP,
            name=f"{overload.name}: answered in full",
            value=answered,
            unit=f"of {answered:,}",
            detail=f"{refused:,} refused ({100 * refused / answered:.0f} %), "
            f"{len(served.taken):,} taken, {len(served.taken) / seconds:.0f} a second; "
            f"{len(served.kept):,} read back",
        ),
        Figure(
            group=GROUP,
            name=f"{overload.name}: a refusal, p99",
            value=_p99(served.refused),
            unit="ms",
            baseline=_p99(ceiling.taken),
            baseline_name=beside,
            detail=f"longest {max(served.refused, default=0):,.0f}",
        ),
        Figure(
            group=GROUP,
            name=f"{overload.name}: what is taken, p99",
            value=_p99(served.taken),
            unit="ms",
            baseline=_p99(ceiling.taken),
            baseline_name=beside,
            detail=f"longest {max(served.taken, default=0):,.0f}",
        ),
    )


def _p99(milliseconds: Sequence[float]) -> float:
    if len(milliseconds) < 2:
        return max(milliseconds, default=0.0)
    return quantiles(milliseconds, n=100, method="inclusive")[98]


Make = Callable[[int], bytes]
"""Makes the request with a number."""


def _served(overload: Overload, service: Service) -> Make:
    sends = overload.sends
    headers = {**service.headers, "Content-Type": sends.content_type}
    return lambda number: request("POST", sends.path, headers=headers, body=sends.body(number))


def _counted(overload: Overload) -> Make:
    return lambda number: request("POST", "/count", body=overload.sends.body(number))


async def _asked(
    overload: Overload, port: int, make: Make, answers: Answers, seconds: float
) -> None:
    """Have all clients ask for so long, each again as soon as it is answered."""
    ends_at = time.perf_counter() + seconds
    clients = (
        _Client(port, make, answers, is_connected_anew=overload.is_connected_anew)
        for _ in range(overload.clients)
    )
    await asyncio.gather(*(client.ask_until(ends_at) for client in clients))


class _Client:
    """A client that retries at once, without the delay of `Retry-After`."""

    def __init__(self, port: int, make: Make, answers: Answers, *, is_connected_anew: bool) -> None:
        self._port = port
        self._make = make
        self._answers = answers
        self._is_connected_anew = is_connected_anew
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask_until(self, ends_at: float) -> None:
        """Ask at least once, and again until then."""
        while True:
            number = next(_numbers)
            sent = self._make(number)
            began = time.perf_counter()
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    answer = await self._answered(sent)
            except (TimeoutError, OSError, asyncio.IncompleteReadError) as exc:
                raise WrongAnswerError("a request was not answered, or only in part") from exc
            self._note(number, answer, (time.perf_counter() - began) * 1e3)
            if answer.is_last or self._is_connected_anew:
                await self._leave()
            if time.perf_counter() >= ends_at:
                await self._leave()
                return

    async def _answered(self, sent: bytes) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=MIB)
        reader, writer = self._streams
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if length is None:
            raise WrongAnswerError(head.decode())
        body = await reader.readexactly(int(length[1]))
        return Answer(int(head[9:12]), head, body)

    def _note(self, number: int, answer: Answer, milliseconds: float) -> None:
        if answer.status in (200, 201):
            self._answers.taken.append(milliseconds)
            if answer.status == 201:
                self._answers.kept[number] = answer.place
        elif answer.status in _REFUSED and answer.says_when:
            # Whole, or it could not be read.
            json.loads(answer.body)
            self._answers.refused.append(milliseconds)
        else:
            raise WrongAnswerError(f"{answer.status}: {answer.body[:2_000].decode()}")

    async def _leave(self) -> None:
        if self._streams is not None:
            (_, writer), self._streams = self._streams, None
            # The unread rest of a refused request is not waited for.
            writer.transport.abort()


def _check(overload: Overload, service: Service, answers: Answers) -> None:
    """Check that accepted bodies are stored as they were sent, and refused ones are not."""
    sends = overload.sends
    with service.client() as client:
        for number, place in answers.kept.items():
            found = hashlib.sha256(sends.kept(client, place)).digest()
            if found != hashlib.sha256(sends.sent(number)).digest():
                raise WrongAnswerError(f"{number} was kept as other bytes than were sent")
        stored = sends.stored(client)
    if stored != len(answers.kept):
        raise WrongAnswerError(f"{stored} are stored, and {len(answers.kept)} were acknowledged")


def _uploads() -> Sends:
    rest = os.urandom(UPLOAD_BYTES - 8)

    def body(number: int) -> bytes:
        return number.to_bytes(8) + rest

    def stored(client: httpx.Client) -> int:
        return _counted_items(client, "/api/resources")

    return Sends("/api/resources", "application/octet-stream", body, _content, stored, body)


def _results(text_bytes: int) -> Sends:
    words = "a word or two " * (text_bytes // 14 + 1)

    def sent(number: int) -> bytes:
        return f"{number} {words}".encode()

    def body(number: int) -> bytes:
        call = {"toolName": "read", "toolCallId": f"c{number}", "sessionId": "s"}
        return json.dumps({**call, "result": sent(number).decode()}).encode()

    def kept(client: httpx.Client, place: str) -> bytes:
        record = client.get(place).raise_for_status().json()
        (resource,) = record["sanitized"]["resources"]
        return _content(client, f"/api/resources/{resource['uri']}")

    def stored(client: httpx.Client) -> int:
        session = client.get("/api/sessions/s").raise_for_status().json()
        return int(session["counts"]["toolResults"])

    return Sends("/api/tool-results", "application/json", body, kept, stored, sent)


def _content(client: httpx.Client, place: str) -> bytes:
    return client.get(f"{place}/content").raise_for_status().content


def _counted_items(client: httpx.Client, path: str) -> int:
    """Return the number of items of a list, over all of its pages."""
    items, cursor = 0, ""
    while True:
        params = {"limit": "200"} | ({"cursor": cursor} if cursor else {})
        page = client.get(path, params=params).raise_for_status().json()
        items += len(page["items"])
        cursor = page["nextCursor"]
        if not cursor:
            return items
