"""The viewer with a long session, in Chromium: its first entry, what is sent for it, its frames.

    python -m benchmarks --only viewer --no-write

It needs the built viewer (`make web`) and Debian's Chromium. Service and browser share all cores.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import anyio.to_thread
import httpx
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from benchmarks.conversations import conversation, put
from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import serving
from benchmarks.machine import ALL
from tests.browser.conftest import CHROMIUM

GROUP = "viewer"
_OTHER_SESSIONS = 50
_WAIT_MS = 180_000
_NOTE_FIRST_ENTRY = """
new MutationObserver((_, observer) => {
  if (document.querySelector("[data-seq]") === null) return;
  window.firstEntry = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
_LOADED = """
() => performance.getEntriesByType("resource")
  .filter((each) => each.responseEnd > 0 && each.responseEnd <= window.firstEntry)
  .map((each) => [new URL(each.name).pathname, each.transferSize])
"""
# From the end upwards, five lines a frame.
_SCROLL = """
async (frames) => {
  const box = document.getElementById("timeline");
  const took = [];
  for (let frame = 0, last = performance.now(); frame < frames; frame += 1) {
    box.scrollTop -= 170;
    await new Promise(requestAnimationFrame);
    took.push(performance.now() - last);
    last = performance.now();
  }
  return took;
}
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """One opening of the session in a new tab, without a cache."""

    first_entry_ms: float
    cpu_ms: float
    """Of the tab's process, until then."""
    asset_bytes: int
    """Of scripts and styles until then, as they were sent."""
    api_bytes: int
    frames_ms: Sequence[float]
    frame_cpu_ms: float
    """Of the tab's process, for one frame."""


async def measure(scale: Scale) -> Sequence[Figure]:
    """Open a session of 10,000 entries, and scroll in it."""
    entries = scale.pick(10_000, 60)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), cores=ALL, env={"PAGEFAULT_AUTH": "none"}) as service,
    ):
        address = f"http://127.0.0.1:{service.port}"
        _write(address, entries)
        # Playwright has a loop of its own.
        visits = await anyio.to_thread.run_sync(_visits, f"{address}/sessions/long", scale)
    return _figures(visits, entries)


def _write(address: str, entries: int) -> None:
    with httpx.Client(base_url=address, timeout=300, trust_env=False) as client:
        put(client, "long", conversation(entries))
        for number in range(_OTHER_SESSIONS):
            message = {"role": "user", "content": f"Session {number}"}
            client.post(f"/api/sessions/s{number}/messages", json=message).raise_for_status()


def _figures(visits: Sequence[Visit], entries: int) -> list[Figure]:
    first = [visit.first_entry_ms for visit in visits]
    slow = [quantiles(visit.frames_ms, n=20)[-1] for visit in visits]
    assets = median(visit.asset_bytes for visit in visits) / 1000
    sent = assets + median(visit.api_bytes for visit in visits) / 1000
    name = f"a session of {entries:,} entries"
    return [
        Figure(
            group=GROUP,
            name=f"open {name}, to its first entry",
            value=median(first),
            unit="ms",
            aim=value_at_most(800),
            detail=f"{min(first):.0f} to {max(first):.0f}; processor time of the tab "
            f"{median(visit.cpu_ms for visit in visits):.0f}",
        ),
        Figure(
            group=GROUP,
            name="sent before the first entry",
            value=sent,
            unit="kB",
            aim=value_at_most(400),
        ),
        Figure(
            group=GROUP,
            name="scripts and styles among them",
            value=assets,
            unit="kB",
            aim=value_at_most(180),
        ),
        Figure(
            group=GROUP,
            name=f"scroll in {name}, 95 of 100 frames",
            value=median(slow),
            unit="ms",
            aim=value_at_most(20),
            detail=f"{min(slow):.1f} to {max(slow):.1f}; processor time of a frame "
            f"{median(visit.frame_cpu_ms for visit in visits):.1f}",
        ),
    ]


def _visits(address: str, scale: Scale) -> list[Visit]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        system = browser.new_browser_cdp_session()
        frames = scale.pick(240, 4)
        try:
            # The first one starts processes.
            return [_visit(browser, system, address, frames) for _ in range(scale.pick(8, 2))][1:]
        finally:
            browser.close()


def _visit(browser: Browser, system: CDPSession, address: str, frames: int) -> Visit:
    with _new_page(browser) as page:
        before = _tab_cpu_ms(system)
        # What the view finds out last takes the service seconds, on the same cores.
        with (
            page.expect_response(re.compile("/api/doctor"), timeout=_WAIT_MS),
            page.expect_response(re.compile("/working-set"), timeout=_WAIT_MS),
        ):
            page.goto(address, wait_until="commit")
            page.wait_for_selector("[data-seq]")
            opened = _tab_cpu_ms(system)
            first: float = page.evaluate("window.firstEntry")
            loaded: list[tuple[str, int]] = page.evaluate(_LOADED)
        page.evaluate(_SCROLL, frames)
        began = _tab_cpu_ms(system)
        took: list[float] = page.evaluate(_SCROLL, frames)
        ended = _tab_cpu_ms(system)
    if not loaded or len(took) != frames:
        raise WrongAnswerError("The viewer did not load or did not scroll.")
    assets = [size for path, size in loaded if path.startswith("/assets/")]
    api = [size for path, size in loaded if path.startswith("/api/")]
    return Visit(first, opened - before, sum(assets), sum(api), took, (ended - began) / frames)


@contextmanager
def _new_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.add_init_script(_NOTE_FIRST_ENTRY)
        yield page
    finally:
        context.close()


def _tab_cpu_ms(system: CDPSession) -> float:
    found: dict[str, Any] = system.send("SystemInfo.getProcessInfo")
    seconds: float = sum(
        each["cpuTime"] for each in found["processInfo"] if each["type"] == "renderer"
    )
    return seconds * 1000
