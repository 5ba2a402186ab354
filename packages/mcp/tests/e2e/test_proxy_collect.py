"""`pagefault proxy --collect`: files that tools leave are stored with their results."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.models.limits import Limits
from packages.mcp.tests.e2e.test_proxy_command import Conversation, history, talking
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import png
from tests.kit.process import environment, program
from tests.kit.servers import serving, with_a_database

Json = dict[str, Any]
# A server whose only tool runs the code in its arguments, and returns its `result`.
SERVER = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    names = {"result": {"content": [{"type": "text", "text": "done"}]}}
    exec(request["params"]["arguments"]["code"], names)
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": names["result"]}
    print(json.dumps(answer), flush=True)
"""
SAVE = "import pathlib; pathlib.Path({path!r}).write_bytes(bytes.fromhex({data!r}))"
PICTURE = png(noise=True)


@contextmanager
def collecting(folder: Path, *where: str, server: str = SERVER) -> Iterator[Conversation]:
    """Run a server behind a proxy that stores the files in `left`."""
    (folder / "left").mkdir(exist_ok=True)
    options = ["--session", "demo", "--collect", str(folder / "left"), *where]
    command = ["proxy", *options, "--no-tools", "--", sys.executable, "-c", server]
    with talking(*program(), *command, stderr=folder / "stderr", env=environment()) as host:
        yield host


def save(host: Conversation, number: int, path: Path, data: bytes, more: str = "") -> Json:
    """Call a tool that writes a file; return its result."""
    code = "\n".join([SAVE.format(path=str(path), data=data.hex()), more])
    result: Json = json.loads(host.call(number, "run", code=code))["result"]
    return result


def test_file_of_a_call_is_stored_with_its_result_and_named_to_the_model(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with collecting(tmp_path, "--data-dir", str(data)) as host:
        answer = save(host, 1, tmp_path / "left/page.png", PICTURE)
        unchanged = save(host, 2, tmp_path / "elsewhere.png", PICTURE)
        named = "result['content'] = [{'type': 'text', 'text': 'See ./page.png.'}]"
        again = save(host, 3, tmp_path / "elsewhere.png", PICTURE, named)
        assert host.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""
    record = history(data)[1]["sanitized"]
    (resource,) = record["resources"]
    line = f"[image @{resource['uri']} page.png 64\N{MULTIPLICATION SIGN}48]"
    assert answer["content"] == [
        {"type": "text", "text": "done"},
        {"type": "text", "text": line},
    ]
    assert record["parts"][1] == {
        "type": "image",
        "image": f"@{resource['uri']}",
        "mimeType": "image/png",
        "name": "page.png",
        "_meta": {"pagefault/collected": "page.png"},
    }
    assert unchanged == {"content": [{"type": "text", "text": "done"}]}
    assert [block["text"] for block in again["content"]] == ["See ./page.png.", line]


def test_service_on_another_machine_gets_the_bytes(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "served", auth="none", log_level="error")
    with serving(settings) as service:
        with collecting(tmp_path, "--url", service.base_url) as host:
            answer = save(host, 1, tmp_path / "left/notes", b"first\nsecond\n")
            assert host.leave() == 0
        with service.client() as client:
            rendered = client.get("/api/sessions/demo/render?target=openai-chat").json()
            uri = rendered["messages"][-1]["content"].split("@")[1].split()[0]
            content = client.get(f"/api/resources/{uri}/content").content
    assert content == b"first\nsecond\n"
    assert answer["content"][1]["text"] == f"[binary @{uri} notes]"
    assert rendered["messages"][-1]["content"] == f"done\n\n[binary @{uri} notes]"
    assert [(entry["code"], entry["restore"]) for entry in rendered["loss"]] == [
        ("collected", f"GET /api/resources/{uri.removeprefix('blob:')}/content")
    ]


def test_result_is_stored_without_a_file_that_the_service_refuses(tmp_path: Path) -> None:
    limits = Limits(medium_bytes=10_000)
    settings = Settings(data_dir=tmp_path / "served", auth="none", log_level="error", limits=limits)
    with serving(settings) as service:
        with collecting(tmp_path, "--url", service.base_url) as host:
            answer = save(host, 1, tmp_path / "left/large", b"a" * 10_001)
            assert host.leave() == 0
        with service.client() as client:
            entries = client.get("/api/sessions/demo/messages").json()["items"]
    assert answer == {"content": [{"type": "text", "text": "done"}]}
    assert [entry["role"] for entry in entries] == ["assistant", "tool"]
    assert entries[1]["sanitized"]["parts"] == [{"type": "text", "text": "done"}]
    warning = (tmp_path / "stderr").read_text()
    assert "1 files of a call of run are not stored: " in warning


def test_file_of_a_failed_call_is_stored_too(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    with collecting(tmp_path, "--data-dir", str(data)) as host:
        answer = save(host, 1, tmp_path / "left/log.txt", b"why", "result['isError'] = True")
        assert host.leave() == 0
    assert (answer["isError"], answer["content"][1]["text"][:12]) == (True, "[text @blob:")
    (resource,) = history(data)[1]["sanitized"]["resources"]
    assert resource["filename"] == "log.txt"


@pytest.mark.parametrize(
    ("option", "inner"), [("--data-dir", "left/data"), ("--data-dir", "left"), ("--files", "left")]
)
def test_folder_that_the_proxy_writes_into_is_refused(
    tmp_path: Path, pagefault: LoadedCommand, option: str, inner: str
) -> None:
    folders = {"--data-dir": tmp_path / "data", option: tmp_path / inner}
    options = [str(word) for pair in folders.items() for word in pair]
    command = ["proxy", "--session", "demo", "--collect", str(tmp_path / "left"), *options]
    done = pagefault.run(*command, "--", "true")
    assert done.returncode == 2
    assert f"has the folder of {option} in it" in done.stderr
