"""Time for which a misbehaving server can delay the download of a page, and its cost.

    python -m benchmarks --only fetching

Pages whose content is a URL are downloaded from an origin on loopback that is slow in seven ways,
or sends without end. Every one of them has to be given up with the answer that says why, and
nothing of them may be kept. One process of the service on SQLite and a directory, with the limits
it has by default; it and the origin share all cores.
"""

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import anyio.to_thread
import httpx

from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Memory, Service, serving
from benchmarks.machine import ALL
from tests.kit.hostile_origin import PNG, SLOW, HostileOrigin

GROUP = "fetching"
MIB = 1 << 20
ENDLESS = ("/endless", "/endless-chunks")
_MAX_SECONDS = 17
_MAX_MIB = 32


@dataclass(frozen=True, slots=True)
class Attack:
    """A behaviour of the origin, the number of simultaneous requests, and the right answer."""

    name: str
    paths: Sequence[str]
    count: int
    answer: tuple[int, str]


async def measure(scale: Scale) -> Sequence[Figure]:
    """Run both attacks; return the growth of the process."""
    return await anyio.to_thread.run_sync(_measured, scale)


def _measured(scale: Scale) -> Sequence[Figure]:
    attacks = (
        Attack(
            "an origin that is slow in seven ways",
            SLOW,
            scale.pick(4, 1),
            (504, "upstream-timeout"),
        ),
        Attack("an origin that sends without end", ENDLESS, 1, (422, "fetch-too-large")),
    )
    with (
        tempfile.TemporaryDirectory() as name,
        HostileOrigin() as origin,
        serving(Path(name), env=_settings(origin, scale), cores=ALL) as service,
    ):
        _warm(service, origin)
        memory = Memory(service.pid)
        memory.reset_peak()
        before = memory.peak
        figures = [_figure(attack, _met(attack, service, origin)) for attack in attacks]
        grown = (memory.peak - before) / MIB
        _check(service)
    return [
        *figures,
        Figure(
            group=GROUP,
            name="memory for all of it",
            value=grown,
            unit="MiB",
            aim=value_at_most(_MAX_MIB),
        ),
    ]


def _settings(origin: HostileOrigin, scale: Scale) -> dict[str, str]:
    allowed = {"PAGEFAULT_FETCH__ALLOW": f"127.0.0.1:{origin.port}"}
    hasty = {"PAGEFAULT_FETCH__TOTAL_SECONDS": "0.2", "PAGEFAULT_FETCH__MAX_BYTES": "200000"}
    return allowed | scale.pick({}, hasty)


def _warm(service: Service, origin: HostileOrigin) -> None:
    # What fetches is loaded by the first page.
    found = _downloaded(service, origin, "/ok.png", "warm")
    if found.content != PNG:
        raise WrongAnswerError(found.text[:2_000])


def _met(attack: Attack, service: Service, origin: HostileOrigin) -> Sequence[float]:
    """Return the seconds of each download; all begin at the same time."""

    def ask(page: tuple[str, int]) -> float:
        path, number = page
        began = time.perf_counter()
        found = _downloaded(service, origin, path, f"{path[1:]}{number}")
        took = time.perf_counter() - began
        if (found.status_code, found.json()["code"]) != attack.answer:
            raise WrongAnswerError(f"{path}: {found.status_code} {found.text[:2_000]}")
        return took

    pages = [(path, number) for path in attack.paths for number in range(attack.count)]
    with ThreadPoolExecutor(len(pages)) as pool:
        return list(pool.map(ask, pages))


def _downloaded(service: Service, origin: HostileOrigin, path: str, page: str) -> httpx.Response:
    with service.client() as client:
        content = f"http://127.0.0.1:{origin.port}{path}"
        stored = client.put(f"/api/pages/{page}", json={"modality": "image", "content": content})
        stored.raise_for_status()
        return client.get(f"/api/pages/{page}/download")


def _figure(attack: Attack, seconds: Sequence[float]) -> Figure:
    status, code = attack.answer
    return Figure(
        group=GROUP,
        name=attack.name,
        value=max(seconds),
        unit="s",
        aim=value_at_most(_MAX_SECONDS),
        detail=f"longest of {len(seconds)} at once, median {median(seconds):.1f}; "
        f"each a {status} `{code}`",
    )


def _check(service: Service) -> None:
    """See that nothing is kept but the file that was whole."""
    with service.client() as client:
        kept = client.get("/api/resources").raise_for_status().json()["items"]
    if [item["size"] for item in kept] != [len(PNG)]:
        raise WrongAnswerError(f"{len(kept)} files are kept, and one was whole")
