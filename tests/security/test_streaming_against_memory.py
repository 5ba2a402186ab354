"""Bodies in all spellings become the same streamed as in memory, and no two have one digest."""

import base64
import json
from collections import Counter
from pathlib import Path

import anyio
import pytest

from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.kit import media
from tests.security.both_ways import Accepted, Piecing, Reader, Reading
from tests.security.spelled_bodies import SpelledBody, spelled_body

PARTS = 4
"""Each is a test of its own, so that several processes share the work."""
BODIES = times(375, 25_000)

LEAST_PERCENT = {
    "taken for base64": 60,
    "base64 to the end": 25,
    "base64 at first and text in the end": 25,
    "with media that never were in memory": 3,
    "parsed again": 0.5,
    "accepted": 50,
    "InvalidJsonError": 15,
    "InvalidPayloadError": 2,
}
"""The least number of bodies for each outcome, so that every outcome is tried."""


@pytest.mark.promise(
    "durability.md#bodies-above-1-mib",
    (
        "A streamed body has the outcome that it has in memory (record, resources or "
        "refusal), gives back the body that was sent, and shares its digest with no other "
        "body"
    ),
    kept_by="app/services/requests",
    tried=(
        "1,500 bodies made up of escapes, control characters, surrogates, all alphabets of "
        "base64, heads and ends, cut where it matters: 0 differences; long: 100,000"
    ),
)
@pytest.mark.timeout(TIMEOUT_SECONDS)
@pytest.mark.parametrize("part", range(PARTS))
def test_streamed_bodies_become_what_they_become_in_memory(part: int, tmp_path: Path) -> None:
    seeds = range(part * BODIES, (part + 1) * BODIES)
    counted = anyio.run(_compared, seeds, tmp_path)
    rare = {
        name: counted[name]
        for name, percent in LEAST_PERCENT.items()
        if counted[name] * 100 < len(seeds) * percent
    }
    assert rare == {}
    text = ", ".join(f"{counted[name]} {name}" for name in LEAST_PERCENT)
    tell(
        f"Bodies streamed and in memory, part {part + 1} of {PARTS}",
        f"{len(seeds)} bodies ({text}): 0 differences",
    )


async def _compared(seeds: range, folder: Path) -> Counter[str]:
    """Read each body in both ways, and count what became of them."""
    streaming, memory = Reader(folder / "streaming"), Reader(folder / "memory")
    counted: Counter[str] = Counter()
    bodies: dict[str, bytes] = {}
    for seed in seeds:
        spelled = spelled_body(seed)
        streamed = await streaming.read(spelled.body, spelled.piecing)
        whole = await memory.read(spelled.body, None)
        assert streamed.outcome == whole.outcome, _shown(seed, spelled)
        other = await streaming.scan(spelled.sibling, spelled.piecing)
        for body, scan in ((spelled.body, streamed.scan), (spelled.sibling, other)):
            assert scan.restored == body, _shown(seed, spelled)
            assert bodies.setdefault(scan.digest, body) == body, _shown(seed, spelled)
        counted.update(_came_to(streamed))
    assert streaming.files() == memory.files()
    return counted


def _came_to(reading: Reading) -> list[str]:
    scan, outcome = reading.scan, reading.outcome
    facts = {
        "taken for base64": scan.drafts > 0,
        "base64 to the end": scan.long_strings > 0,
        "base64 at first and text in the end": scan.drafts > scan.long_strings,
        "with media that never were in memory": reading.streamed_media > 0,
        "parsed again": reading.rereadings > 0,
        "accepted" if isinstance(outcome, Accepted) else outcome.name: True,
    }
    return [name for name, is_so in facts.items() if is_so]


def _shown(seed: int, spelled: SpelledBody) -> str:
    return f"seed {seed}, {spelled.piecing}, {spelled.body!r}, or its sibling {spelled.sibling!r}"


@pytest.mark.parametrize("broken", ["{0},,{0}", "{0},{0},,{0}", "{0},\n{0},,{0}", ",,{0},{0}"])
def test_place_of_an_error_among_equal_strings_is_that_in_the_body(
    broken: str, tmp_path: Path
) -> None:
    string = f'"{base64.b64encode(media.png(80, 80, noise=True)).decode()}"'
    call = f'{{"toolName":"t","toolCallId":"c","result":[{broken.format(string)}]}}'.encode()

    async def read_in_both_ways() -> tuple[Reading, Reading]:
        piecing = Piecing(long_chars=2_000, piece_bytes=1_024)
        streamed = await Reader(tmp_path / "streaming").read(call, piecing)
        return streamed, await Reader(tmp_path / "memory").read(call, None)

    streamed, whole = anyio.run(read_in_both_ways)
    assert streamed.scan.long_strings == broken.count("{0}")
    assert streamed.outcome == whole.outcome


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("last", [None, 9_000])
@pytest.mark.parametrize("columns", [8_000, 8_192, 30_000])
def test_lists_of_long_lines_are_read_alike(
    columns: int, last: int | None, end: str, tmp_path: Path
) -> None:
    text = base64.b64encode(media.png(200, 200, noise=True)).decode()
    lines = [text[at : at + columns] + end for at in range(0, len(text), columns)]
    lines[-1] = lines[-1][:last]
    blank = ["A" * columns + end]
    results = [
        lines,
        *({"data": item} for item in (lines, blank)),
        *({"type": "image", "data": item} for item in (lines, blank)),
        {"image/png": lines},
    ]
    calls = [
        json.dumps({"toolName": "t", "toolCallId": "c", "result": result}) for result in results
    ]

    async def read_in_both_ways(call: str, folder: Path) -> tuple[Reading, Reading]:
        piecing = Piecing(long_chars=2_000, piece_bytes=1_024)
        streamed = await Reader(folder / "streaming").read(call.encode(), piecing)
        return streamed, await Reader(folder / "memory").read(call.encode(), None)

    for number, call in enumerate(calls):
        streamed, whole = anyio.run(read_in_both_ways, call, tmp_path / str(number))
        assert streamed.outcome == whole.outcome
