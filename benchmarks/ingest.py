"""Throughput and memory of a tool result with a video.

One connection sends a result of 100 MiB, or 1 GiB, and waits until it is stored, on disk and
committed. In turns with it, a FastAPI route under the same server on the same cores is sent the
very same body, and only counts its bytes. Both have one core first, while the client has the other,
and then all. Memory is the highest resident size the kernel has seen of the service while it took
results in, less what it was before.
"""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence, Set
from itertools import count
from pathlib import Path
from statistics import median
from typing import IO

import anyio
import anyio.to_thread
import pybase64

from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_least, value_at_most
from benchmarks.live_server import Bare, Memory, Service, bare_server, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL, CLIENT, SERVER, on_cores
from benchmarks.transfers import Transfer, transfer
from benchmarks.turns import spread
from benchmarks.video_results import PIECE_BYTES, VideoResult

GROUP = "ingest"
MIB = 1 << 20
_THROUGHPUT = ratio_at_least(0.5)
_numbers = count(1)


async def measure(scale: Scale) -> Sequence[Figure]:
    """Throughput of two sizes on one connection, and memory for one large and eight at once."""
    medium, large = scale.pick((100, 1024), (2, 4))
    with tempfile.TemporaryDirectory() as name, on_cores(CLIENT):
        folder = Path(name)
        figures: list[Figure] = []
        for number, cores in enumerate(scale.pick((SERVER, ALL), (ALL,))):
            figures += _speeds(folder / f"{number}", (medium, large), cores, scale=scale)
        return [
            *figures,
            _work_alone(folder / "video", large, rounds=scale.pick(5, 1)),
            _disk_alone(folder / "video", large, rounds=scale.pick(5, 1)),
            _digest_alone(folder / "video", large, rounds=scale.pick(5, 1)),
            await _memory(folder / "one", large, at_once=1, aim_mib=64),
            await _memory(folder / "eight", medium, at_once=8, aim_mib=256),
        ]


def _speeds(folder: Path, sizes: Sequence[int], cores: Set[int], *, scale: Scale) -> list[Figure]:
    """Results sent to the service and to the route that counts, in turns."""
    with (
        serving(folder, cores=cores) as service,
        bare_server(folder, cores=cores) as bare,
    ):
        return [_speed(service, bare, size, cores=cores, rounds=scale.pick(7, 1)) for size in sizes]


def _speed(service: Service, bare: Bare, pieces: int, *, cores: Set[int], rounds: int) -> Figure:
    warm = _new(pieces)
    kept = _send(service, warm)
    _check_stored(service, warm, kept)
    _forget(service, kept)
    _count(bare.port, warm)
    served: list[float] = []
    counted: list[float] = []
    for _ in range(rounds):
        result = _new(pieces)
        answer = _send(service, result)
        served.append(result.length / answer.seconds / 1e6)
        _forget(service, answer)
        counted.append(result.length / _count(bare.port, result).seconds / 1e6)
    on = "one core" if cores == SERVER else "all cores"
    return Figure(
        group=GROUP,
        name=f"{_shown(pieces)} on one connection, {on}",
        value=median(served),
        unit="MB/s",
        baseline=median(counted),
        baseline_name="bytes only counted",
        aim=_THROUGHPUT,
        detail=spread(served),
    )


def _work_alone(path: Path, pieces: int, *, rounds: int) -> Figure:
    """Decode and hash the base64 of a video, in a process that does nothing else."""

    def work(body: Sequence[bytes], file: IO[bytes]) -> None:
        digest = hashlib.sha256()
        for piece in body:
            raw = pybase64.b64decode(piece, validate=True)
            digest.update(raw)
            file.write(raw)

    name = f"{_shown(pieces)} decoded, hashed, written and synced, without a server"
    return _alone(name, work, path, pieces, rounds=rounds)


def _disk_alone(path: Path, pieces: int, *, rounds: int) -> Figure:
    """Receive the base64 of a video, without decoding and hashing."""
    raw = os.urandom(PIECE_BYTES * 3 // 4)

    def work(body: Sequence[bytes], file: IO[bytes]) -> None:
        for _ in body:
            file.write(raw)

    name = f"{_shown(pieces)} only written and synced, decoded before"
    return _alone(name, work, path, pieces, rounds=rounds)


def _digest_alone(path: Path, pieces: int, *, rounds: int) -> Figure:
    """Compute one digest of the video, which cannot be shared by two cores."""
    raw = os.urandom(PIECE_BYTES * 3 // 4)

    def work(body: Sequence[bytes], _file: IO[bytes]) -> None:
        digest = hashlib.sha256()
        for _ in body:
            digest.update(raw)

    name = f"{_shown(pieces)} only hashed, decoded before"
    return _alone(name, work, path, pieces, rounds=rounds)


def _alone(
    name: str,
    work: Callable[[Sequence[bytes], IO[bytes]], None],
    path: Path,
    pieces: int,
    *,
    rounds: int,
) -> Figure:
    body = list(_new(pieces).body())[1:-1]
    speeds = []
    with on_cores(SERVER):
        for _ in range(rounds):
            started = time.perf_counter()
            with path.open("wb", buffering=0) as file:
                work(body, file)
                os.fsync(file.fileno())
            speeds.append(len(body) * PIECE_BYTES / (time.perf_counter() - started) / 1e6)
            path.unlink()
    return Figure(group=GROUP, name=name, value=median(speeds), unit="MB/s", detail=spread(speeds))


async def _memory(folder: Path, pieces: int, *, at_once: int, aim_mib: int) -> Figure:
    """The most memory a fresh service took while so many results came in at once."""
    with serving(folder) as service:
        # The first request loads modules, which are not counted.
        _send(service, _new(1))
        memory = Memory(service.pid)
        memory.reset_peak()
        before = memory.now
        answers: dict[VideoResult, Transfer] = {}

        async def send() -> None:
            result = _new(pieces)
            answers[result] = await anyio.to_thread.run_sync(_send, service, result)

        async with anyio.create_task_group() as tasks:
            for _ in range(at_once):
                tasks.start_soon(send)
        grown = (memory.peak - before) / MIB
        for result, answer in answers.items():
            _check_stored(service, result, answer)
    times = f"{at_once} of " if at_once > 1 else ""
    return Figure(
        group=GROUP,
        name=f"memory for {times}{_shown(pieces)}{' at once' if times else ''}",
        value=grown,
        unit="MiB",
        aim=value_at_most(aim_mib),
        detail=f"{before / MIB:.0f} MiB before",
    )


def _shown(pieces: int) -> str:
    mebibytes = pieces * PIECE_BYTES // MIB
    return f"{mebibytes // 1024} GiB" if mebibytes >= 1024 else f"{mebibytes} MiB"


def _new(pieces: int) -> VideoResult:
    return VideoResult(next(_numbers), pieces)


def _send(service: Service, result: VideoResult) -> Transfer:
    """Send a result, and check that the answer is its record."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in service.headers.items())
    head = _head("/api/tool-results", result, fields)
    done = transfer(service.port, head, list(result.body()))
    if done.status != 201:
        raise WrongAnswerError(f"{done.status}: {done.body.decode(errors='replace')[:2_000]}")
    return done


def _forget(service: Service, answer: Transfer) -> None:
    """Let the kernel have the pages of a video that is on the disk, for the next one.

    Memory that a virtual machine has not used before costs it several times as much as other, and
    what is written without the service is written to pages that were used.
    """
    descriptor = json.loads(answer.body)["sanitized"]["resources"][0]
    with service.blob(descriptor["digest"].removeprefix("sha-256:")).open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _count(port: int, result: VideoResult) -> Transfer:
    done = transfer(port, _head("/count", result), list(result.body()))
    if done.body != b"%d" % result.length:
        raise WrongAnswerError(f"{done.body!r} bytes were counted of {result.length}")
    return done


def _head(path: str, result: VideoResult, fields: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {result.length}\r\n{fields}\r\n"
    ).encode()


def _check_stored(service: Service, result: VideoResult, answer: Transfer) -> None:
    """Read a video back, whole: it has to be the one that was sent."""
    descriptor = json.loads(answer.body)["sanitized"]["resources"][0]
    path = f"/api/resources/{descriptor['uri'].removeprefix('blob:')}/content"
    stored = transfer(service.port, request("GET", path, headers=service.headers), hashed=True)
    kept = hashlib.sha256(stored.body).hexdigest() if stored.is_short else stored.body.hex()
    if not result.digest == descriptor["digest"] == f"sha-256:{kept}":
        raise WrongAnswerError(f"video {result.number} was stored as other bytes than were sent")
