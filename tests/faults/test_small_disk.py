"""A real disk that is full to its last block: told, nothing lost, read from, and got out of."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import pytest

from app.config.settings import BlobSettings
from tests.contract.upload_requests import ROUTE, TUS, offset_of, send
from tests.faults.small_disk import MIB, SmallDisk
from tests.integration.sweep_stores import environment_of
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import noise_bytes, png
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine

DISK_BYTES = 12 * MIB
SIZES = (250_000, 20_000)
_URI = re.compile("blob:[0-9a-f]{32}")
BALLAST = "ballast"
MAX_CALLS = 200
"""Of one kind and size; the disk is full long before."""


@dataclass
class Kept:
    """The acknowledged writes, and the answers of all writes."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    files: dict[str, str] = field(default_factory=dict)
    """By URI, the SHA-256 of its bytes."""
    records: dict[str, bytes] = field(default_factory=dict)
    """By path, what a tool result or a message was answered as."""
    unfinished: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    """By path, what an upload is to be in the end, and how much of it was acknowledged."""
    numbers: Iterator[int] = field(default_factory=count)
    """Each is of one write."""

    def note(self, kind: str, answer: httpx.Response) -> bool:
        """Count an answer, which keeps what it was asked or says that there is no room."""
        self.answers[kind, answer.status_code] += 1
        if answer.status_code in (201, 204):
            return True
        assert (answer.status_code, answer.json()["code"]) == (507, "store-full"), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        return False

    def add(self, uri: str, data: bytes) -> None:
        """Note that a file can be read from now on."""
        self.files[uri] = hashlib.sha256(data).hexdigest()

    def add_record(self, answer: httpx.Response, data: bytes) -> None:
        """Note a record, and the one file that was moved out of it."""
        self.records[answer.headers["location"]] = answer.content
        (uri,) = set(_URI.findall(answer.text))
        self.add(uri, data)


class Writing:
    """Writes of each kind, no two of the same bytes."""

    def __init__(self, client: httpx.Client, kept: Kept) -> None:
        self._client = client
        self._kept = kept
        self.kinds: dict[str, Callable[[int], bool]] = {
            "upload": self.upload,
            "form": self._form,
            "result": self._result,
            "message": self._message,
            "pieces": self._pieces,
        }

    def until_full(self) -> None:
        """Write larger things and then smaller ones, until there is room for none of any kind."""
        for size_bytes in SIZES:
            left = list(self.kinds.values())
            for _ in range(MAX_CALLS):
                left = [write for write in left if write(size_bytes)]
            assert not left

    def upload(self, size_bytes: int) -> bool:
        """Send a file as a body."""
        data = self._data(size_bytes)
        answer = self._client.post("/api/resources", content=data)
        return self._is_kept("upload", answer, data)

    def _form(self, size_bytes: int) -> bool:
        data = self._data(size_bytes)
        answer = self._client.post("/api/resources", files={"file": ("a.png", data, "image/png")})
        return self._is_kept("form", answer, data)

    def _result(self, size_bytes: int) -> bool:
        data = self._data(size_bytes)
        image = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}
        call = {"toolName": "t", "toolCallId": f"c{next(self._kept.numbers)}", "sessionId": "s"}
        body = {**call, "result": {"content": [image, {"type": "text", "text": "seen"}]}}
        answer = self._client.post("/api/tool-results", json=body)
        if not self._kept.note("result", answer):
            return False
        self._kept.add_record(answer, data)
        return True

    def _message(self, size_bytes: int) -> bool:
        data = self._data(size_bytes)
        url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
        content = [{"type": "image_url", "image_url": {"url": url}}]
        answer = self._client.post(
            "/api/sessions/m/messages", json={"role": "user", "content": content}
        )
        if not self._kept.note("message", answer):
            return False
        self._kept.add_record(answer, data)
        return True

    def _pieces(self, size_bytes: int) -> bool:
        data = self._data(size_bytes)
        begun = self._client.post(ROUTE, headers={**TUS, "Upload-Length": str(len(data))})
        if not self._kept.note("upload begun", begun):
            return False
        path = begun.headers["location"]
        for offset in (0, len(data) // 2):
            end = len(data) if offset else len(data) // 2
            self._kept.unfinished[path] = (data, offset)
            if not self._kept.note("piece", send(self._client, path, offset, data[offset:end])):
                return False
        self._finished(path)
        return True

    def go_on(self, path: str) -> None:
        """Send what is missing of an upload, if anything is."""
        data, _ = self._kept.unfinished[path]
        offset = offset_of(self._client, path)
        if offset < len(data):
            send(self._client, path, offset, data[offset:]).raise_for_status()
        self._finished(path)

    def _finished(self, path: str) -> None:
        data, _ = self._kept.unfinished.pop(path)
        described = self._client.get(path, headers={"Accept": "application/json"})
        self._kept.add(described.raise_for_status().json()["resource"]["uri"], data)

    def _is_kept(self, kind: str, answer: httpx.Response, data: bytes) -> bool:
        if not self._kept.note(kind, answer):
            return False
        self._kept.add(answer.json()["uri"], data)
        return True

    def _data(self, size_bytes: int) -> bytes:
        return png() + next(self._kept.numbers).to_bytes(4) + noise_bytes(size_bytes)


@dataclass(frozen=True)
class Full:
    """A service whose disk has no room left, and what it has acknowledged."""

    disk: SmallDisk
    server: PagefaultProcess
    env: dict[str, str]
    kept: Kept

    def said(self, *arguments: str) -> tuple[int, str]:
        """Return the status and the output of a command on the same disk."""
        spaces = self.disk.namespaces
        done = LoadedCommand().run(*arguments, env=self.env, namespaces=spaces)
        return done.returncode, done.stdout + done.stderr

    @property
    def has_database_on_it(self) -> bool:
        """True if a deletion needs room too, as on SQLite, which writes a journal first."""
        return "PAGEFAULT_DB__URL" not in self.env

    def make_room(self) -> None:
        """Remove what somebody else has put there."""
        (self.disk.seen / BALLAST).unlink()

    def assert_kept(self) -> None:
        """See that what was acknowledged is there as it was sent, and nothing else."""
        with self.server.client() as client:
            assert {uri: _digest(client, uri) for uri in self.kept.files} == self.kept.files
            records = {path: client.get(path).content for path in self.kept.records}
            assert records == self.kept.records
            assert set(_listed(client, "/api/resources")) == set(self.kept.files)
            sessions = client.get("/api/sessions").raise_for_status().json()["items"]
            paths = [f"/api/sessions/{session['id']}/messages" for session in sessions]
            entries = [len(_listed(client, path)) for path in paths]
            assert sum(entries) == len(self.kept.records)
            for path, (data, acknowledged) in self.kept.unfinished.items():
                answer = client.head(path, headers=TUS)
                # What has come to its end without room to be put together says so, and waits.
                if answer.status_code != 507:
                    assert acknowledged <= int(answer.headers["upload-offset"]) <= len(data)

    def blobs(self) -> set[str]:
        """The digests of all files there are."""
        return {place.name for place in (self.disk.seen / "blobs").rglob("*") if place.is_file()}

    def assert_nothing_on_its_way(self) -> None:
        """See that no write has left a temporary file."""
        assert [place.name for place in (self.disk.seen / "tmp").iterdir()] == []


def _digest(client: httpx.Client, uri: str) -> str:
    answer = client.get(f"/api/resources/{uri}/content").raise_for_status()
    return hashlib.sha256(answer.content).hexdigest()


def _listed(client: httpx.Client, path: str) -> list[object]:
    found = client.get(path, params={"limit": 200}).raise_for_status().json()
    assert found["nextCursor"] is None
    return [item.get("uri") for item in found["items"]]


def _delete_files(client: httpx.Client, kept: Kept) -> None:
    """Delete what nothing refers to, of what was acknowledged."""
    for uri in list(kept.files):
        answer = client.delete(f"/api/resources/{uri}")
        if answer.status_code != 409:
            assert answer.status_code == 204, answer.text
            del kept.files[uri]


def _delete_session(client: httpx.Client, kept: Kept) -> None:
    """Delete the session of the messages, and what only they refer to."""
    receipt = client.delete("/api/sessions/m").raise_for_status().json()
    kept.records = {path: body for path, body in kept.records.items() if "/m/" not in path}
    for resource in receipt["resources"]:
        assert resource["status"] == "deleted"
        del kept.files[resource["uri"]]


@pytest.fixture(params=["embedded", "server"])
def full(request: pytest.FixtureRequest, backends: Backends, tmp_path: Path) -> Iterator[Full]:
    """SQLite on the small disk, or PostgreSQL on another; the files are on the small one."""
    chosen: Engine = request.param
    settings = backends.settings(chosen, tmp_path / "data")
    env = environment_of(settings.model_copy(update={"blobs": BlobSettings()}))
    env["PAGEFAULT_SWEEP__INTERVAL_SECONDS"] = "0"
    kept = Kept()
    with (
        SmallDisk(settings.data_dir, size_bytes=DISK_BYTES) as disk,
        PagefaultProcess(settings.data_dir, env=env, namespaces=disk.namespaces) as server,
    ):
        (disk.seen / BALLAST).write_bytes(bytes(MIB))
        with server.client() as client:
            Writing(client, kept).until_full()
        disk.fill("somebody-elses")
        yield Full(disk, server, env, kept)
        assert server.logs.count("Traceback") == 0, server.logs


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "A disk that is full to its last block is answered with 507: what was acknowledged "
        "reads back, and what was refused leaves no row and no temporary file"
    ),
    kept_by="app/stores/blobs/temporary_file.py",
    tried=(
        "a file system of 12 MiB, with SQLite on it and with PostgreSQL elsewhere; 5 kinds of"
        " writes, every answer a 201, 204 or 507"
    ),
)
def test_full_disk_is_told_and_everything_acknowledged_reads_back(full: Full) -> None:
    assert {status for _, status in full.kept.answers} == {201, 204, 507}
    for kind in ("upload", "form", "result", "message"):
        assert {status for answer, status in full.kept.answers if answer == kind} == {201, 507}
    assert full.kept.answers["piece", 204]
    full.assert_kept()
    full.assert_nothing_on_its_way()
    with full.server.client() as client:
        assert client.get("/healthz").status_code == 200
        unready = client.get("/readyz")
        assert (unready.status_code, unready.json()["code"]) == (507, "store-full")


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A service that was stopped or killed starts on a full disk and can be read from",
    kept_by="app/wiring/open_stores.py",
    tried="a stop and a kill, both databases",
)
def test_service_starts_on_a_full_disk_and_is_read_from(full: Full) -> None:
    for end in (full.server.stop, full.server.kill):
        end()
        full.server.start()
        full.assert_kept()
        full.assert_nothing_on_its_way()
        with full.server.client() as client:
            assert not Writing(client, full.kept).upload(min(SIZES))


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    (
        "Deleted files make room when they are swept; with SQLite on the full disk, once "
        "there is room for the deletion itself"
    ),
    kept_by="app/services/maintenance/sweep.py",
    tried="both databases; 1 MiB made room for SQLite",
)
def test_what_is_deleted_makes_room_when_it_is_swept(full: Full) -> None:
    if full.has_database_on_it:
        full.make_room()
    with full.server.client() as client:
        _delete_session(client, full.kept)
        _delete_files(client, full.kept)
        swept, said = full.said("gc", "--grace", "0")
        assert (swept, said[:8]) == (0, "Removed ")
        full.assert_kept()
        writing = Writing(client, full.kept)
        for path in list(full.kept.unfinished):
            writing.go_on(path)
        for write in writing.kinds.values():
            assert write(max(SIZES))
    full.assert_kept()
    assert full.said("gc", "--grace", "0")[0] == 0
    assert full.blobs() == set(full.kept.files.values())
    assert full.said("fsck")[0] == 0
