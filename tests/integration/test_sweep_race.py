"""Uploads and tool results against a sweep that never stops and leaves nothing time.

Few bodies are written and deleted again and again, so that the bytes a writer has just stored are
at the same moment garbage that another one left. The test is bounded by the number of writes; what
it asserts holds however they fall together. `TORTURE=long` asks for minutes of them.
"""

import base64
import hashlib
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import anyio
import httpx
import pytest

from app.config.settings import Settings, SweepSettings
from app.services.maintenance.fsck import StoreCheck, StoreCheckReport, StoreFault
from tests.contract.upload_requests import begin, send
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.integration.sweep_stores import environment_of, opened_stores
from tests.kit.loaded_command import LoadedCommand
from tests.kit.servers import Engine, LiveService, serving

BODIES = [hashlib.shake_128(b"%d" % number).digest(2_000) for number in range(10)]
WRITERS = 6
ROUNDS = times(8, 300)


class Writer:
    """Writes, reads back what was acknowledged, and deletes all of it but the last."""

    def __init__(self, client: httpx.Client, number: int) -> None:
        self._client = client
        self._number = number
        self._chosen = random.Random(number)  # noqa: S311 - the same in every run
        self.kept: dict[str, bytes] = {}
        """The expected content at the end, by path."""

    def run(self) -> "Writer":
        for number in range(ROUNDS):
            data = self._chosen.choice(BODIES)
            stays = number >= ROUNDS - 2
            if number % 2:
                self._write_file(data, f"{self._number}.bin", stays)
            elif number % 4:
                self._write_tool_result(data, f"s-{self._number}-{number}", stays)
            else:
                self._write_in_pieces(data, stays)
        return self

    def _write_file(self, data: bytes, filename: str, stays: bool) -> None:
        answer = self._written_if_known(data, filename) or self.written(
            "/api/resources", content=data, params={"filename": filename}
        )
        content = self._read_back(answer.json()["uri"], data)
        if stays:
            self.kept[content] = data
        else:
            assert self._client.delete(content.removesuffix("/content")).status_code == 204

    def _written_if_known(self, data: bytes, filename: str) -> httpx.Response | None:
        """Return the answer to a digest in place of bytes, if the project has the bytes."""
        value = base64.b64encode(hashlib.sha256(data).digest()).decode()
        headers = {"Repr-Digest": f"sha-256=:{value}:"}
        answer = self._client.post("/api/resources", params={"filename": filename}, headers=headers)
        assert answer.status_code in (200, 201, 404), answer.text
        return answer if answer.is_success else None

    def _write_in_pieces(self, data: bytes, stays: bool) -> None:
        # Of a name that nobody else gives it, so that it is a resource of its own.
        name = base64.b64encode(f"{self._number}.pieces".encode()).decode()
        path = begin(self._client, len(data), f"filename {name}")
        answer = self._described(path)
        while (offset := answer.json()["offset"]) < len(data):
            sent = send(self._client, path, offset, data[offset : offset + 1_500])
            assert sent.status_code == 204 or _is_to_come_again(sent), sent.text
            answer = self._described(path)
        content = self._read_back(answer.json()["resource"]["uri"], data)
        if stays:
            self.kept[content] = data
        else:
            assert self._client.delete(content.removesuffix("/content")).status_code == 204

    def _write_tool_result(self, data: bytes, session_id: str, stays: bool) -> None:
        medium = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}
        body = {"toolName": "t", "toolCallId": "c", "sessionId": session_id, "result": [medium]}
        answer = self.written("/api/tool-results", json=body)
        (resource,) = answer.json()["sanitized"]["resources"]
        # The results of all writers refer to this one resource; it stays while one of them does.
        content = self._read_back(resource["uri"], data)
        if stays:
            self.kept[content] = data
        else:
            assert self._client.delete(f"/api/sessions/{session_id}").status_code == 200

    def _described(self, path: str) -> httpx.Response:
        """Return the offset of an upload; the request completes it, or loses against the sweep."""
        described = {"Accept": "application/json"}
        while not (answer := self._client.get(path, headers=described)).is_success:
            assert _is_to_come_again(answer), answer.text
        return answer

    def _read_back(self, uri: str, data: bytes) -> str:
        content = f"/api/resources/{uri.removeprefix('blob:')}/content"
        answer = self._client.get(content)
        assert (answer.status_code, answer.content) == (200, data)
        return content

    def written(self, path: str, **request: object) -> httpx.Response:
        """The answer to a write; one that lost against the sweep is sent again."""
        while True:
            answer = self._client.post(path, **request)  # type: ignore[arg-type]
            if answer.status_code in (200, 201):
                return answer
            assert (answer.status_code, answer.json()["code"]) == (503, "blob-swept"), answer.text


def _is_to_come_again(answer: httpx.Response) -> bool:
    """Return whether a sweep was faster than the request."""
    return answer.status_code == 503 and "retry-after" in answer.headers


@contextmanager
def swept_by_a_command(service: LiveService, pagefault: LoadedCommand) -> Iterator[None]:
    """Run `pagefault gc` again and again for the length of the block, at least once."""
    over = threading.Event()
    env = environment_of(service.settings)

    def sweep() -> list[tuple[int, str]]:
        outcomes: list[tuple[int, str]] = []
        while not outcomes or not over.is_set():
            done = pagefault.run("gc", "--grace", "0", env=env)
            outcomes.append((done.returncode, done.stderr))
        return outcomes

    with ThreadPoolExecutor() as pool:
        outcomes = pool.submit(sweep)
        try:
            yield
        finally:
            over.set()
        assert set(outcomes.result()) == {(0, "")}


async def state(settings: Settings) -> tuple[list[StoreFault], StoreCheckReport, int]:
    """Return the faults of a check after a last sweep, and the number of claimed blobs."""
    faults: list[StoreFault] = []
    async with opened_stores(settings) as stores:
        claims = await stores.claims()
        # A server that stops amid a removal leaves its claim to run out.
        await stores.let_pass(timedelta(minutes=11))
        await stores.sweep().run(0)
        return faults, await StoreCheck(stores.records, stores.blobs).run(faults.append), claims


@pytest.mark.promise(
    "durability.md#several-at-once",
    "A sweep never removes what a row needs or is about to need",
    kept_by="app/stores/records/swept_blobs.py",
    tried=(
        "sweeps a millisecond apart by the server, and by the command without a pause, both "
        "engines: 6 writers, 48 writes; long: 1,800"
    ),
)
@pytest.mark.timeout(TIMEOUT_SECONDS)
@pytest.mark.requirement("design-row-never-without-blob")
@pytest.mark.parametrize("sweeper", ["the server", "a command"])
def test_every_row_has_its_blob_whatever_a_sweep_does_meanwhile(
    settings: Settings, engine: Engine, pagefault: LoadedCommand, sweeper: str
) -> None:
    if sweeper == "the server":
        always = SweepSettings(interval_seconds=0.001, grace_seconds=0)
        settings = settings.model_copy(update={"sweep": always})
    with serving(settings) as service:
        key = service.new_key()
        with ThreadPoolExecutor(WRITERS) as pool, service.client(key) as client:
            writers = [Writer(client, number) for number in range(WRITERS)]
            # The server sweeps already, so this write may lose against it as well.
            first = writers[0].written("/api/resources", content=b"there from the beginning")
            garbage = first.json()
            client.delete(f"/api/resources/{garbage['uri'].removeprefix('blob:')}")
            if sweeper == "a command":
                with swept_by_a_command(service, pagefault):
                    done = list(pool.map(Writer.run, writers))
            else:
                done = list(pool.map(Writer.run, writers))
            for content, data in {item for writer in done for item in writer.kept.items()}:
                answer = client.get(content)
                assert (answer.status_code, answer.content) == (200, data)
    faults, report, claims = anyio.run(state, settings)
    assert (faults, report.faults, report.unneeded) == ([], 0, 0)
    assert claims > 0
    tell(
        f"Sweeps without a pause, by {sweeper}, {engine}",
        f"{WRITERS * ROUNDS} writes by {WRITERS} writers: "
        f"{report.faults} rows without their blob, {report.unneeded} blobs left over",
    )
