"""Throughput of content, beside Starlette's `FileResponse` of the same files.

A blob of 256 MiB, whole and in ranges, and a resource of 10 KiB, all from a directory and with a
key. Beside each a FastAPI route under the same server on the same core sends the very same file,
and asks for no key. Both are asked in turns.
"""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_least
from benchmarks.live_server import Bare, Service, bare_server, serving
from benchmarks.load_client import request
from benchmarks.machine import CLIENT, on_cores
from benchmarks.transfers import transfer
from benchmarks.turns import Rates, Side, in_words, rates_in_turns, spread

GROUP = "content"
MIB = 1 << 20
SMALL_BYTES = 10 * 1024
WINDOW_BYTES = 64 * 1024
_LARGE = ratio_at_least(1)
_SMALL = ratio_at_least(3)


@dataclass(frozen=True, slots=True)
class Content:
    """Stored bytes, at the service and at its baseline."""

    service: Service
    bare: Bare
    name: str
    resource: str
    size_bytes: int

    def sides(self, span: range | None) -> list[Side]:
        """The headers of the requests to both, with a range or without."""
        statuses = (206,) if span else (200,)
        asked = {"Range": f"bytes={span.start}-{span.stop - 1}"} if span else {}
        path = f"/api/resources/{self.resource}/content"
        return [
            Side(
                self.service,
                request("GET", path, headers=self.service.headers | asked),
                statuses,
            ),
            Side(self.bare, request("GET", f"/files/{self.name}", headers=asked), statuses),
        ]


async def measure(scale: Scale) -> Sequence[Figure]:
    """Large content by its bytes, small content by its requests."""
    large_bytes = scale.pick(256 * MIB, 4 * MIB)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as service:
        kept = {
            "large": _upload(service, _random_pieces(large_bytes)),
            "small": _upload(service, [Random(1).randbytes(SMALL_BYTES)]),  # noqa: S311 - no secret
        }
        files = {name: service.blob(digest) for name, (_, digest) in kept.items()}
        with bare_server(Path(folder) / "bare", files=files) as bare, on_cores(CLIENT):
            large = Content(service, bare, "large", kept["large"][0], large_bytes)
            small = Content(service, bare, "small", kept["small"][0], SMALL_BYTES)
            middle = range(large_bytes // 4, large_bytes // 2)
            window = range(large_bytes // 2, large_bytes // 2 + WINDOW_BYTES)
            return [
                _bytes_a_second(large, None, scale=scale),
                _bytes_a_second(large, middle, scale=scale),
                await _requests_a_second(large, window, connections=1, scale=scale),
                await _requests_a_second(large, window, connections=16, scale=scale),
                await _requests_a_second(small, None, connections=1, scale=scale),
                await _only_read(small, connections=1, scale=scale),
                await _requests_a_second(small, None, connections=16, scale=scale),
                await _only_read(small, connections=16, scale=scale),
            ]


def _bytes_a_second(content: Content, span: range | None, *, scale: Scale) -> Figure:
    """One download after the other, in turns."""
    size = len(span) if span else content.size_bytes
    status = 206 if span else 200
    sides = content.sides(span)
    # The first ones warm up, and are compared: both have to send the same bytes.
    first = [transfer(side.server.port, side.request, hashed=True) for side in sides]
    if any((item.status, item.body_bytes) != (status, size) for item in first):
        raise WrongAnswerError(f"a download is not {status} with {size} bytes")
    if first[0].body != first[1].body:
        raise WrongAnswerError("a download has other bytes than the file")
    speeds: list[list[float]] = [[], []]
    for _ in range(scale.pick(9, 1)):
        for side, measured in zip(sides, speeds, strict=True):
            done = transfer(side.server.port, side.request)
            measured.append(done.body_bytes / done.seconds / 1e6)
    what = f"a range of {size // MIB} MiB" if span else f"{size // MIB} MiB whole"
    served, sent = speeds
    return Figure(
        group=GROUP,
        name=what,
        value=median(served),
        unit="MB/s",
        baseline=median(sent),
        baseline_name="FileResponse",
        aim=_LARGE,
        detail=spread(served),
    )


async def _requests_a_second(
    content: Content, span: range | None, *, connections: int, scale: Scale
) -> Figure:
    """Many requests, in turns."""
    sides = content.sides(span)
    first = [transfer(side.server.port, side.request) for side in sides]
    if first[0].body != first[1].body or first[0].status != first[1].status:
        raise WrongAnswerError("the service has other bytes than the file")
    served, sent = await _rates(sides, connections, scale)
    what = f"ranges of {WINDOW_BYTES // 1024} KiB" if span else f"{SMALL_BYTES // 1024} KiB whole"
    return Figure(
        group=GROUP,
        name=f"{what}, {connections} connection{'s' if connections > 1 else ''}",
        value=median(served.a_second),
        unit="req/s",
        baseline=median(sent.a_second),
        baseline_name="FileResponse",
        aim=_LARGE if span else _SMALL,
        detail=in_words(served, sent),
    )


async def _only_read(content: Content, *, connections: int, scale: Scale) -> Figure:
    """Serve a file without look-ups and without a key: the least that a route does."""
    bare = content.bare
    sides = [Side(bare, request("GET", f"/{how}/{content.name}")) for how in ("reads", "files")]
    read, sent = await _rates(sides, connections, scale)
    return Figure(
        group=GROUP,
        name=f"{SMALL_BYTES // 1024} KiB by a route that only reads the file, {connections}",
        value=median(read.a_second),
        unit="req/s",
        baseline=median(sent.a_second),
        baseline_name="FileResponse",
        aim=None,
        detail=in_words(read, sent),
    )


async def _rates(sides: Sequence[Side], connections: int, scale: Scale) -> list[Rates]:
    return await rates_in_turns(
        sides, connections=connections, rounds=scale.pick(15, 1), seconds=scale.pick(0.5, 0.05)
    )


def _upload(service: Service, pieces: Iterator[bytes] | list[bytes]) -> tuple[str, str]:
    """Store a file; the resource's id, and the digest of the bytes."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for piece in pieces:
            digest.update(piece)
            yield piece

    with service.client() as client:
        headers = {"Content-Type": "application/octet-stream"}
        answer = client.post("/api/resources", content=hashed(), headers=headers)
        descriptor = answer.raise_for_status().json()
    if descriptor["digest"] != f"sha-256:{digest.hexdigest()}":
        raise WrongAnswerError("what was stored has another digest")
    return descriptor["uri"].removeprefix("blob:"), digest.hexdigest()


def _random_pieces(size: int) -> Iterator[bytes]:
    random = Random(size)  # noqa: S311 - the same in every run
    for _ in range(size // MIB):
        yield random.randbytes(MIB)
