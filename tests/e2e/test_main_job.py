"""The main job, as the three commands of the front page: hand over, read back, stream.

The commands are `curl` lines. Where this machine has no curl, the same request is made from the
same words, so that the lines are held to what they promise everywhere.
"""

import base64
import hashlib
import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.kit import media
from tests.kit.process import WAIT_SECONDS, PagefaultProcess, environment

HAND_OVER = (
    "curl -sS -H 'Content-Type: application/json' --data-binary @result.json "
    "http://127.0.0.1:8000/api/tool-results"
)
READ_BACK = "curl -sS http://127.0.0.1:8000/api/sessions/demo/messages"
STREAM = "curl -sS -r 0-1023 http://127.0.0.1:8000/api/resources/URI/content"

IMAGE = media.png(noise=True)
VIDEO = media.mp4(seconds=3.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder with an MCP result of an image and a video in a file."""
    blocks = [
        {"type": "text", "text": "The crossing at noon."},
        {"type": "image", "data": base64.b64encode(IMAGE).decode(), "mimeType": "image/png"},
        {
            "type": "resource",
            "resource": {
                "uri": "file:///tmp/crossing.mp4",
                "mimeType": "video/mp4",
                "blob": base64.b64encode(VIDEO).decode(),
            },
        },
    ]
    request = {
        "toolName": "camera",
        "toolCallId": "call-1",
        "sessionId": "demo",
        "result": {"content": blocks, "isError": False},
    }
    (tmp_path / "result.json").write_text(json.dumps(request))
    return tmp_path


def run_line(line: str, process: PagefaultProcess, folder: Path) -> bytes:
    """Return the output of a curl line, run in a folder against this process."""
    words = shlex.split(line.replace("http://127.0.0.1:8000", process.base_url))
    if shutil.which("curl"):
        return subprocess.run(  # noqa: S603 - the lines above
            words, cwd=folder, env=environment(), capture_output=True, timeout=60, check=True
        ).stdout
    return _requested(words[1:], folder)


def _requested(words: list[str], folder: Path) -> bytes:
    """Send the request of a curl line by another client, which knows the options of the lines."""
    given = dict(zip(words[1:-1:2], words[2:-1:2], strict=True))
    assert words[0] == "-sS"
    assert given.keys() <= {"-H", "-r", "--data-binary"}
    headers = dict([given["-H"].split(": ")]) if "-H" in given else {}
    if "-r" in given:
        headers["Range"] = f"bytes={given['-r']}"
    file = given.get("--data-binary")
    body = (folder / file.removeprefix("@")).read_bytes() if file else None
    with httpx.Client(trust_env=False, timeout=WAIT_SECONDS) as client:
        return client.request(
            "POST" if body else "GET", words[-1], headers=headers, content=body
        ).content


def expected(record: dict[str, Any]) -> dict[str, Any]:
    """Return the expected record; only the ids are chosen by the service."""
    image, video = (resource["uri"] for resource in record["resources"])
    return {
        "parts": [
            {"type": "text", "text": "The crossing at noon."},
            {"type": "image", "image": f"@{image}", "mimeType": "image/png"},
            {
                "type": "file",
                "data": f"@{video}",
                "mimeType": "video/mp4",
                "mediaKind": "video",
                "filename": "crossing.mp4",
                "uri": "file:///tmp/crossing.mp4",
            },
        ],
        "resources": [
            {
                "uri": image,
                "kind": "image",
                "mimeType": "image/png",
                "size": len(IMAGE),
                "digest": f"sha-256:{hashlib.sha256(IMAGE).hexdigest()}",
                "width": 64,
                "height": 48,
            },
            {
                "uri": video,
                "kind": "video",
                "mimeType": "video/mp4",
                "filename": "crossing.mp4",
                "mediaKind": "video",
                "size": len(VIDEO),
                "digest": f"sha-256:{hashlib.sha256(VIDEO).hexdigest()}",
                "durationSeconds": 3.0,
            },
        ],
        "meta": {"toolName": "camera", "toolCallId": "call-1", "success": True},
    }


def everything(process: PagefaultProcess, record: dict[str, Any], folder: Path) -> list[bytes]:
    """All bytes that a reader can get of a record: itself, history, descriptors, contents."""
    uris = [resource["uri"] for resource in record["sanitized"]["resources"]]
    paths = [
        f"/api/tool-results/{record['id']}",
        "/api/tool-results?sessionId=demo",
        "/api/resources",
        *(f"/api/resources/{uri}" for uri in uris),
        *(f"/api/resources/{uri}/content" for uri in uris),
    ]
    with process.client() as client:
        answers = [client.get(path).raise_for_status() for path in paths]
    return [run_line(READ_BACK, process, folder), *(answer.content for answer in answers)]


@pytest.mark.requirement("002-deterministic-rehydration")
@pytest.mark.requirement("002-content-endpoint")
def test_a_result_is_handed_over_read_back_and_streamed(folder: Path) -> None:
    with PagefaultProcess(folder / "data") as process:
        record = json.loads(run_line(HAND_OVER, process, folder))
        assert record["sanitized"] == expected(record["sanitized"])
        (message,) = json.loads(run_line(READ_BACK, process, folder))["items"]
        assert message["sanitized"] == record["sanitized"]
        uri = message["sanitized"]["resources"][1]["uri"]
        assert run_line(STREAM.replace("URI", uri), process, folder) == VIDEO[:1024]


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "After a restart everything reads back byte for byte",
    kept_by="app/stores/records/records.py",
    tried="stopped and killed",
)
@pytest.mark.requirement("002-history-as-is")
@pytest.mark.requirement("002-media-survive-reload")
@pytest.mark.parametrize("end", [PagefaultProcess.stop, PagefaultProcess.kill])
def test_everything_reads_back_the_same_after_a_restart(
    end: Callable[[PagefaultProcess], object], folder: Path
) -> None:
    with PagefaultProcess(folder / "data", is_installed=True) as process:
        first = run_line(HAND_OVER, process, folder)
        record = json.loads(first)
        before = everything(process, record, folder)
        end(process)
        process.start()
        assert everything(process, record, folder) == before
        # The same result handed over again is the same record.
        assert run_line(HAND_OVER, process, folder) == first
    assert before[-2:] == [IMAGE, VIDEO]
