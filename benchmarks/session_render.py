"""Time of the rendering of a session, beside that of copying its bytes out of the store.

    python -m benchmarks.session_render [--rounds 20] [--image-bytes 500000] [--target anthropic]

A session of 200 entries, 40 of them tool results with an image of some 500 kB, the others text. The
rendering is made as the service makes it, every byte of the answer read. What it stands beside: the
entries of the history read with the same statements, and the blobs of its images read whole. Both
are timed in turns within one run, in one process, without HTTP. The first rendering, which makes
smaller images where the target needs them, is not among the rounds.
"""

import argparse
import base64
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from app.config.settings import Settings
from app.features import open_services
from app.models.message import StoredMessage
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.tool_results.tool_results import ToolResults
from app.stores.blobs.store import BlobStore
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.session_resources import SessionResourceRecords
from app.wiring.services import Services
from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_most
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.table import TARGETS
from tests.kit.media import jpeg

GROUP = "rendering"
PROJECT = "default"
SESSION = "s"
ENTRIES = 200
IMAGES = 40
_BYTES_PER_PIXEL = 0.71


async def _body(value: object) -> AsyncIterator[bytes]:
    yield json_text(value).encode()


async def fill(services: Services, image_bytes: int) -> None:
    """Write the session."""
    side = int((image_bytes / _BYTES_PER_PIXEL) ** 0.5)
    for number in range(ENTRIES):
        blocks: list[dict[str, str]] = [
            {"type": "text", "text": f"Entry {number}. " + "word " * 60}
        ]
        if number % (ENTRIES // IMAGES) == 0:
            data = base64.b64encode(jpeg(side, side + number, noise=True)).decode()
            blocks.append({"type": "image", "data": data, "mimeType": "image/jpeg"})
        result = {
            "toolName": "look",
            "toolCallId": f"call_{number}",
            "sessionId": SESSION,
            "result": {"content": blocks},
        }
        await services[ToolResults].ingest(PROJECT, _body(result), idempotency_key=None)


async def copy(services: Services) -> int:
    """Read the entries and the blobs of their images; how many bytes that was."""
    total = 0
    entries, resources = await services[Records].read(
        PROJECT,
        lambda unit: (
            unit[SessionHistory].entries(SESSION, after_seq=0, limit=ENTRIES),
            unit[SessionResourceRecords].all_of(SESSION),
        ),
    )
    for entry in entries:
        total += len(entry.sanitized) if isinstance(entry, StoredMessage) else 0
    for resource in resources:
        async for piece in await services[BlobStore].open(PROJECT, resource.digest):
            total += len(piece)
    return total


async def render(services: Services, target: str) -> int:
    """Render the session and read the answer; how many bytes that was."""
    wish = RenderQuery(target, RenderOptions())
    body = await services[SessionRenders].render_session(PROJECT, SESSION, wish, since=0)
    total = 0
    async for chunk in body.chunks():
        total += len(chunk)
    return total


async def _timed(work: Callable[[], Awaitable[int]]) -> tuple[float, int]:
    started = time.perf_counter()
    size = await work()
    return time.perf_counter() - started, size


@dataclass(frozen=True, slots=True)
class Comparison:
    """A session copied and rendered for a target: seconds of every round, and bytes."""

    target: str
    copied_bytes: int
    copies: Sequence[float]
    rendered_bytes: int
    renders: Sequence[float]

    @property
    def copying_ms(self) -> float:
        """In the middle of all rounds."""
        return statistics.median(self.copies) * 1e3

    @property
    def rendering_ms(self) -> float:
        """In the middle of all rounds."""
        return statistics.median(self.renders) * 1e3


async def compare(services: Services, target: str, rounds: int) -> Comparison:
    """A session for one target, in turns with copying it."""
    copies: list[float] = []
    renders: list[float] = []
    copied = rendered = 0
    await render(services, target)
    for _ in range(rounds):
        seconds, copied = await _timed(lambda: copy(services))
        copies.append(seconds)
        seconds, rendered = await _timed(lambda: render(services, target))
        renders.append(seconds)
    return Comparison(target, copied, copies, rendered, renders)


@asynccontextmanager
async def _container() -> AsyncIterator[Services]:
    with tempfile.TemporaryDirectory() as folder:
        async with open_services(Settings(data_dir=Path(folder))) as services:
            yield services


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every target."""
    async with _container() as services:
        await fill(services, scale.pick(500_000, 30_000))
        compared = [await compare(services, target, scale.pick(20, 1)) for target in TARGETS]
    if not all(item.copied_bytes and item.rendered_bytes for item in compared):
        raise WrongAnswerError("there is nothing in a session that was rendered")
    return [
        Figure(
            group=GROUP,
            name=f"`{item.target}`",
            value=item.rendering_ms,
            unit="ms",
            baseline=item.copying_ms,
            baseline_name=f"{item.copied_bytes / 1e6:.1f} MB copied",
            aim=ratio_at_most(2),
            detail=f"{item.rendered_bytes / 1e6:.1f} MB rendered",
        )
        for item in compared
    ]


def _row(row: Comparison) -> str:
    return (
        f"| `{row.target}` | {row.copied_bytes / 1e6:.1f} | {row.copying_ms:.1f} "
        f"| {row.rendered_bytes / 1e6:.1f} | {row.rendering_ms:.1f} "
        f"| {row.rendering_ms / row.copying_ms:.2f} |"
    )


async def run(targets: list[str], rounds: int, image_bytes: int) -> None:
    """Print the table."""
    async with _container() as services:
        await fill(services, image_bytes)
        lines = [
            "| target | MB copied | ms | MB rendered | ms | ratio |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_row(await compare(services, target, rounds)) for target in targets]
        sys.stdout.write("\n".join(lines) + "\n")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--image-bytes", type=int, default=500_000)
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    options = parser.parse_args()
    targets = list(TARGETS) if options.target == "all" else [options.target]
    anyio.run(run, targets, options.rounds, options.image_bytes)


if __name__ == "__main__":
    main()
