"""Images in tool results of MCP's form a second, each on the disk before it is answered.

A part of `common_case`. Screenshots of 480 kB and images of 5 MB, every one of them another file.
In turns with the service two routes under the same server are sent the same requests: one only
counts their bytes, and one is what one would write oneself, `/keep` of `benchmarks.bare_app`.
"""

import struct
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median

import httpx
import pybase64

from benchmarks.figures import (
    Aim,
    Figure,
    Scale,
    WrongAnswerError,
    ratio_at_least,
    value_at_least,
)
from benchmarks.live_server import Bare, Service, bare_server, serving
from benchmarks.load_client import Ask, request
from benchmarks.machine import CLIENT, on_cores
from benchmarks.turns import Rates, VariedSide, rates_in_turns, spread
from tests.kit.media import png

GROUP = "common"
_numbers = count(1)
# The signature and IHDR; this and the added bytes are whole groups of base64.
_HEAD_BYTES = 33
_MARK_BYTES = 24


@dataclass(frozen=True, slots=True)
class Image:
    """A kind of image, and its aim."""

    name: str
    width: int
    height: int
    aims: Sequence[tuple[int, float]]
    """Clients, and results a second."""
    seconds: float
    beside_peer: Aim | None = None


IMAGES = (
    Image("screenshot of 480 kB", 400, 400, ((1, 280), (8, 350)), 1.5, ratio_at_least(1.5)),
    Image("image of 5 MB", 1_250, 1_333, ((1, 50), (4, 60)), 1.0),
)


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every image with every number of clients."""
    with (
        tempfile.TemporaryDirectory() as name,
        serving(Path(name)) as service,
        bare_server(Path(name) / "bare") as bare,
        on_cores(CLIENT),
    ):
        figures: list[Figure] = []
        for image in IMAGES:
            with service.client() as client:
                _check_kept(client, image)
            for clients, aim in image.aims:
                figures += await _compare(service, bare, image, clients, aim=aim, scale=scale)
        return figures


async def _compare(
    service: Service, bare: Bare, image: Image, clients: int, *, aim: float, scale: Scale
) -> Sequence[Figure]:
    """The service, the route that counts and the one that keeps, in turns."""
    served, counted, kept = await rates_in_turns(
        [
            VariedSide(service, _requests(image, "/api/tool-results", service.headers), (201,)),
            VariedSide(bare, _requests(image, "/count", service.headers)),
            VariedSide(bare, _requests(image, "/keep", service.headers), (201,)),
        ],
        connections=clients,
        rounds=scale.pick(5, 1),
        seconds=scale.pick(image.seconds, 0.05),
    )
    name = f"{image.name}, {clients} client{'s' if clients > 1 else ''}"
    beside_counting = Figure(
        group=GROUP,
        name=name,
        value=median(served.a_second),
        unit="results/s",
        baseline=median(counted.a_second),
        baseline_name="bytes only counted",
        aim=value_at_least(aim),
        detail=f"{spread(served.a_second)}; {_cpu_ms(served)} ms of CPU each",
    )
    beside_peer = replace(
        beside_counting,
        name=f"{name}: beside a plain peer",
        baseline=median(kept.a_second),
        baseline_name="decoded, written and synced by a plain route",
        aim=image.beside_peer,
        detail=f"{spread(kept.a_second)} of the peer; {_cpu_ms(kept)} ms of its CPU each",
    )
    return [beside_counting, beside_peer]


def _cpu_ms(rates: Rates) -> str:
    return f"{median(rates.cpu_us) / 1_000:.1f}"


def _requests(image: Image, path: str, headers: dict[str, str]) -> Ask:
    """Results with calls and bytes of their own."""
    said = {**headers, "Content-Type": "application/json"}
    return lambda: request("POST", path, headers=said, body=_result(image, next(_numbers)))


def _result(image: Image, number: int) -> bytes:
    """A result with the image of a number."""
    head, tail = _halves(image)
    mark = pybase64.b64encode(_mark(number))
    return b"".join(
        (
            b'{"toolName":"look","toolCallId":"call_%d","sessionId":"s","result":{"content":['
            b'{"type":"image","mimeType":"image/png","data":"' % number,
            head,
            mark,
            tail,
            b'"}]}}',
        )
    )


@cache
def _halves(image: Image) -> tuple[bytes, bytes]:
    """The base64 of an image before and behind its mark."""
    raw = png(image.width, image.height, noise=True)
    return pybase64.b64encode(raw[:_HEAD_BYTES]), pybase64.b64encode(raw[_HEAD_BYTES:])


def _mark(number: int) -> bytes:
    """A chunk of text that makes it another image."""
    said = b"tEXtn\0%010d" % number
    chunk = struct.pack(">I", len(said) - 4) + said + struct.pack(">I", zlib.crc32(said))
    if len(chunk) != _MARK_BYTES:
        raise ValueError(number)
    return chunk


def _check_kept(client: httpx.Client, image: Image) -> None:
    """See that an image is kept, and read as it was sent."""
    number = next(_numbers)
    answer = client.post(
        "/api/tool-results",
        content=_result(image, number),
        headers={"Content-Type": "application/json"},
    ).raise_for_status()
    kept = answer.json()["sanitized"]["resources"][0]["uri"].removeprefix("blob:")
    content = client.get(f"/api/resources/{kept}/content").raise_for_status().content
    raw = png(image.width, image.height, noise=True)
    if content != raw[:_HEAD_BYTES] + _mark(number) + raw[_HEAD_BYTES:]:
        raise WrongAnswerError(f"the {image.name} was kept as {len(content)} other bytes")
