"""The power fails behind any step of a write: no row lacks its blob, and no blob is torn.

A service over a directory and SQLite is watched while it takes files and results in. What it did
to the files is then done again to a disk that may lose all that was not synced.
"""

import base64
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.contract.upload_requests import DATA, begin, send
from tests.faults.lossy_disk import (
    Answered,
    Committed,
    FileSynced,
    FolderSynced,
    Operation,
    Written,
    faults,
)
from tests.faults.recorded_files import Recorder
from tests.kit.media import noise_bytes, png
from tests.kit.servers import serving

MEDIUM = png() + noise_bytes(100_000)
LARGE = png(32, 32) + noise_bytes(1_400_000)
"""Long enough for a draft that is written while the body comes in."""
SEVERAL = [png(number, 8) + noise_bytes(50_000 + number) for number in (8, 9)]
"""Kept together, each in a directory of its own."""


def result_of(number: int, media: Sequence[bytes]) -> dict[str, object]:
    images = [
        {"type": "image", "data": base64.b64encode(medium).decode(), "mimeType": "image/png"}
        for medium in media
    ]
    return {
        "toolName": "camera",
        "toolCallId": f"c{number}",
        "sessionId": "s",
        "result": {"content": images},
    }


def digests_of(descriptors: list[dict[str, str]]) -> Answered:
    return Answered(
        frozenset(descriptor["digest"].removeprefix("sha-256:") for descriptor in descriptors)
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("power-loss")


@pytest.fixture(scope="module")
def operations(root: Path) -> list[Operation]:
    """The file operations of the service, with its commits and answers."""
    recorder = Recorder(root)
    done = recorder.operations
    with (
        recorder.recording(),
        serving(Settings(data_dir=root, log_level="error")) as service,
        httpx.Client(base_url=service.base_url, timeout=30, trust_env=False) as client,
    ):
        for number, media in enumerate(([MEDIUM], [LARGE], SEVERAL, [LARGE, *SEVERAL], [MEDIUM])):
            answer = client.post("/api/tool-results", json=result_of(number, media))
            done.append(digests_of(answer.raise_for_status().json()["sanitized"]["resources"]))
        answer = client.post("/api/resources", content=DATA[::-1])
        done.append(digests_of([answer.raise_for_status().json()]))
        path = begin(client, len(DATA))
        for start in (0, 200_000):
            end = start + 200_000
            send(client, path, start, DATA[start:end]).raise_for_status()
    return done


@pytest.mark.promise(
    "durability.md#the-power-goes",
    "If power is lost after any step of a write, no committed row lacks its whole blob",
    kept_by="app/stores/blobs/temporary_file.py",
    tried="every prefix of the recorded file operations",
)
def test_power_loss_behind_any_step_leaves_no_row_without_its_whole_blob(
    root: Path, operations: list[Operation]
) -> None:
    assert {kind: len(of(operations, kind)) for kind in (FileSynced, Answered)} == {
        # The key that signs links, when the service first starts, and twelve files.
        FileSynced: 13,
        Answered: 6,
    }
    assert faults(root, operations) == set()


@pytest.mark.promise(
    "durability.md#the-power-goes",
    "The test of power loss notices a commit before the sync of the directory",
    kept_by="tests/faults/lossy_disk.py",
    tried="the order turned round",
)
def test_commit_before_the_directory_is_synced_is_noticed(
    root: Path, operations: list[Operation]
) -> None:
    last_sync = of(operations, FolderSynced)[-1]
    commit = next(place for place in of(operations, Committed) if place > last_sync)
    early = [*operations]
    early.insert(last_sync, early.pop(commit))
    assert faults(root, early) == {"lost"}


@pytest.mark.promise(
    "durability.md#the-power-goes",
    "The test of power loss notices a sync that is left out",
    kept_by="tests/faults/lossy_disk.py",
    tried="the last sync of a file, and of a directory",
)
@pytest.mark.parametrize(("kind", "fault"), [(FileSynced, "torn"), (FolderSynced, "lost")])
def test_sync_that_is_left_out_is_noticed(
    root: Path, operations: list[Operation], kind: type[Operation], fault: str
) -> None:
    left_out = of(operations, kind)[-1]
    assert faults(root, operations[:left_out] + operations[left_out + 1 :]) == {fault}


def test_write_behind_its_sync_is_noticed(root: Path, operations: list[Operation]) -> None:
    synced, written = of(operations, FileSynced)[-1], of(operations, Written)[-1]
    late = [*operations]
    late.insert(synced, late.pop(written))
    assert faults(root, late) == {"torn"}


def test_answer_before_its_commit_is_noticed(root: Path, operations: list[Operation]) -> None:
    answer = of(operations, Answered)[0]
    commit = [place for place in of(operations, Committed) if place < answer][-1]
    early = [*operations]
    early.insert(commit, early.pop(answer))
    assert faults(root, early) == {"forgotten"}


def of(operations: list[Operation], kind: type[Operation]) -> list[int]:
    """Return the positions of the operations of a kind."""
    return [place for place, operation in enumerate(operations) if isinstance(operation, kind)]
