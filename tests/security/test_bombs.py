"""Small files that stand for large ones: stored as they are, and never unpacked beyond bounds."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_resumable_upload import Process
from tests.kit import media
from tests.kit.bombs import BOMBS, MIB
from tests.kit.child_processes import children_of

pytestmark = pytest.mark.xdist_group("bombs")

MAX_GROWTH_BYTES = 64 * MIB


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A service that has made an image smaller before, so that all it needs for that is loaded."""
    started = Process(tmp_path_factory.mktemp("bombs") / Path("data"))
    with started:
        told(started, media.png(300, 200, noise=True), "image/png", "warm")
        yield started


def peak_bytes(process: Process) -> int:
    """The most that the service and the process that decodes for it have had in memory."""
    return process.peak_bytes() + sum(child.peak_bytes() for child in children_of(process.pid))


def told(process: Process, data: bytes, mime_type: str, place: str) -> list[int]:
    """The answers where an image is described, made smaller and rendered."""
    encoded = base64.b64encode(data).decode()
    block = {"type": "image", "data": encoded, "mimeType": mime_type}
    call = {"toolName": "t", "toolCallId": place, "result": block, "sessionId": place}
    page = {"modality": "image", "content": f"data:{mime_type};base64,{encoded}"}
    with process.client() as client:
        answers = [
            client.post("/api/resources", content=data),
            client.post("/api/tool-results", json=call),
            client.put(f"/api/pages/{place}", json=page),
            client.get(f"/api/pages/{place}/blocks?level=1"),
            client.get(f"/api/sessions/{place}/render?target=anthropic"),
            client.get(f"/api/sessions/{place}/render?target=openai-chat&detail=low"),
            client.get("/healthz"),
        ]
    return [answer.status_code for answer in answers]


@pytest.mark.promise(
    "security.md#decoders",
    "A decompression bomb is stored and described but never unpacked",
    kept_by="app/services/images/pixels.py",
    tried="7 bombs below 1 MiB, at most 64 MiB more each, in all processes",
)
@pytest.mark.parametrize("name", BOMBS)
def test_bomb_is_stored_described_and_never_unpacked(process: Process, name: str) -> None:
    make, mime_type = BOMBS[name]
    data = make()
    assert len(data) < MIB
    before = peak_bytes(process)
    answers = told(process, data, mime_type, name.replace(" ", "-"))
    grown = peak_bytes(process) - before
    print(f"{name}: {len(data)} bytes, grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert answers == [201, 201, 201, 200, 200, 200, 200]
    assert grown < MAX_GROWTH_BYTES
