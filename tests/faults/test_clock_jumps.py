"""Somebody sets the clock, a year ahead and back again, while the service runs.

What has an order has it by number. What has a time is over when the clock says so, and nothing is
over because it was written by a clock that was ahead.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.upload_requests import TUS, begin, content, offset_of, send
from tests.e2e.stored_state import EmbeddedState, ServerState
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.faults.writers import Call, until_taken
from tests.kit.event_streams import Block, Listening, heard, listening
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(TIMEOUT_SECONDS)]

YEAR = 365 * 24 * 3600
JUMPS = (YEAR, -YEAR, 0) * times(1, 25)
"""By how much the clock is wrong, one after the other; each is a jump of a year or of two."""
CLOCK = Path(__file__).with_name("moved_clock")
# In front of what whoever runs the tests has there.
_PATH = os.pathsep.join(filter(None, (str(CLOCK), os.environ.get("PYTHONPATH"))))


class Clock:
    """The clock of a process, which is set while it runs."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.set(0)
        self.env = {"PYTHONPATH": _PATH, "MOVED_CLOCK": str(place)}

    def set(self, seconds: int) -> None:
        """Move it so far from the true time."""
        self.seconds = seconds
        # In one step, since it is read at any moment.
        new = self._place.with_suffix(".new")
        new.write_text(str(seconds))
        os.replace(new, self._place)


@dataclass
class Writer:
    """Writes a bit of everything, and knows what has to be there."""

    client: httpx.Client
    answered: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)

    def write(self, number: int) -> None:
        """One of each: a result with a medium, a message, a page, a file and a session."""
        self._keep(*until_taken(lambda: Call("medium", "s", number, 1_000).send(self.client)))
        self.calls.append(f"c{number}")
        message = {"role": "tool", "tool_call_id": f"m{number}", "content": "said"}
        self._post("/api/sessions/s/messages", message)
        self.calls.append(f"m{number}")
        self.pages.append(self._post("/api/pages", {"content": f"{number}"}).json()["page_id"])
        self._keep(*until_taken(lambda: Call("file", "f", number, 1_000).send(self.client)))
        self.client.put(f"/api/sessions/s{number}", json={}).raise_for_status()

    def begin_upload(self, number: int) -> str:
        """Send the first half of a file; returns the path of the upload."""
        first, second = pieces(number)
        path = begin(self.client, len(first) + len(second))
        until_taken(lambda: (path, send(self.client, path, 0, first).raise_for_status().content))
        return path

    def go_on(self, path: str, number: int, *, is_over: bool) -> None:
        """Send the second half, which is refused if the time for it is over."""
        first, second = pieces(number)
        if is_over:
            # A sweep may have come already.
            assert self.client.head(path, headers=TUS).status_code in (404, 410)
            return
        assert offset_of(self.client, path) == len(first)
        until_taken(
            lambda: (path, send(self.client, path, len(first), second).raise_for_status().content)
        )
        described = self.client.get(path, headers={"Accept": "application/json"})
        uri = described.raise_for_status().json()["resource"]["uri"]
        assert content(self.client, uri) == first + second
        self.uploads.append(uri)

    def check(self) -> None:
        """All that was acknowledged is there, in the order in which it was written."""
        assert {place: self.client.get(place).content for place in self.answered} == self.answered
        entries = walked(self.client, "/api/sessions/s/messages")
        assert [(entry["seq"], call_of(entry)) for entry in entries] == list(
            enumerate(self.calls, 1)
        )
        pages = walked(self.client, "/api/pages")
        assert [page["page_id"] for page in pages] == self.pages[::-1]
        for path, count in self._counts().items():
            listed = [str(item) for item in walked(self.client, path)]
            assert (path, len(listed), len(set(listed))) == (path, count, count)

    def _counts(self) -> dict[str, int]:
        """The length of the lists that are ordered by the clock."""
        rounds = len(self.pages)
        return {
            "/api/tool-results": rounds,
            "/api/resources": 2 * rounds + len(self.uploads),
            "/api/sessions": 1 + rounds,
        }

    def _post(self, path: str, body: dict[str, str]) -> httpx.Response:
        answer = self.client.post(path, json=body).raise_for_status()
        self._keep(answer.headers["location"], self.client.get(answer.headers["location"]).content)
        return answer

    def _keep(self, place: str, body: bytes) -> None:
        self.answered[place] = body


def call_of(entry: dict[str, Any]) -> str:
    """The id of the call that an entry of a history answers."""
    answer: dict[str, str] = entry.get("message", entry)
    return answer.get("toolCallId") or answer["tool_call_id"]


def moment_of(entry: dict[str, Any]) -> str:
    """When an entry was written, by the clock of that time."""
    moment: str = entry["createdAt" if "createdAt" in entry else "created_at"]
    return moment


def pieces(number: int) -> tuple[bytes, bytes]:
    """The two halves of a file that nobody else sends."""
    return f"the first half of {number}, ".encode() * 64, f"the second half of {number}".encode()


def walked(client: httpx.Client, path: str) -> list[dict[str, Any]]:
    """A whole list, a few at once."""
    found: list[dict[str, Any]] = []
    asked = {"limit": "5"}
    while True:
        page = client.get(path, params=asked).raise_for_status().json()
        found += page["items"]
        if not page.get("nextCursor"):
            return found
        asked["cursor"] = page["nextCursor"]


@contextmanager
def served(
    backends: Backends, engine: Engine, folder: Path
) -> Iterator[tuple[PagefaultProcess, Clock]]:
    """A process with a clock of its own, which sweeps all the time and keeps all events."""
    state = EmbeddedState(folder / "data") if engine == "embedded" else ServerState(backends)
    clock = Clock(folder / "clock")
    swept = {"PAGEFAULT_SWEEP__INTERVAL_SECONDS": "0.02", "PAGEFAULT_EVENTS__KEEP_SECONDS": "3e9"}
    with PagefaultProcess(folder / "data", env={**state.env, **swept, **clock.env}) as process:
        yield process, clock


@pytest.mark.promise(
    "durability.md#changes-of-the-service",
    (
        "If the clock is set, histories, pages and events keep their order, and nothing "
        "acknowledged is lost"
    ),
    kept_by="app/models/identity.py",
    tried="a year ahead, two years back, a year ahead, both engines; long: 25 times",
)
def test_order_is_kept_and_nothing_is_lost_though_the_clock_jumps_by_years(
    backends: Backends, engine: Engine, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        process, clock = stack.enter_context(served(backends, engine, tmp_path))
        client = stack.enter_context(process.client("none"))
        writer = Writer(client)
        stream = stack.enter_context(listening(client, after=0))
        for number, (before, seconds) in enumerate(pairwise((0, *JUMPS))):
            upload = writer.begin_upload(number)
            clock.set(seconds)
            writer.go_on(upload, number, is_over=seconds > before)
            writer.write(number)
            writer.check()
        check_events(client, stream)
        moments = [moment_of(entry) for entry in walked(client, "/api/sessions/s/messages")]
        assert moments != sorted(moments)
        tell(
            f"The clock jumps, {engine}",
            f"{len(JUMPS)} jumps of one or two years, {len(writer.answered)} answers compared: "
            "0 lost, 0 out of order",
        )


def check_events(client: httpx.Client, stream: Listening) -> None:
    """Check that a listener got the events of a later listener, in the same order."""
    last = client.post("/api/pages", json={"content": "the end"}).raise_for_status()
    told: list[Block] = []
    while not told or told[-1].told["id"] != last.json()["page_id"]:
        told.append(stream.next())
    assert [block.position for block in told] == list(range(1, len(told) + 1))
    assert heard(client, count=len(told)) == told
