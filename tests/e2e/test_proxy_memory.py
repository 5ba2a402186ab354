"""How much memory a proxy of MCP takes: the whole process, from its start on."""

import json
import re
import sys
from base64 import b64decode
from pathlib import Path

import pytest

from tests.e2e.test_proxy import Conversation, history, talking
from tests.kit.media import wav
from tests.kit.process import COMMAND

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(300)]

MIB = 1024 * 1024
LARGE_BYTES = 75 * MIB
"""As base64 it is a line of 100 MiB."""
# Measured: 82 MiB after a small result, 88 MiB after one of 300 MB.
MOST_BYTES = 100 * MIB
MOST_GROWTH_BYTES = 12 * MIB
SOUND_SECONDS = 100
"""Of a sound of 20 MB, which a host is given whole."""
SERVER = [sys.executable, "-m", "tests.kit.mcp_server"]


def peak_bytes(host: Conversation) -> int:
    """The most that the proxy has had resident at once."""
    status = Path(f"/proc/{host.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024


def sound_in(answer: bytes) -> bytes:
    """The sound that a host is given by an answer."""
    content = json.loads(answer)["result"]["content"]
    (sound,) = [each for each in content if each["type"] == "audio"]
    return b64decode(sound["data"])


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A result of any size that is mostly a medium passes a proxy in constant memory",
    kept_by="app/mcp/lines.py",
    tried="a line of 100 MiB, and a sound of 20 MB that the host is given: below 12 MiB more",
)
def test_large_medium_is_stored_and_rendered_in_constant_memory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    options: list[str | Path] = ["--session", "demo", "--data-dir", data]
    with talking(COMMAND, "proxy", *options, "--", *SERVER, stderr=tmp_path / "stderr") as host:
        host.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={})
        host.ask(1, "tools/list")
        host.call(2, "long", characters=20_000)
        before = peak_bytes(host)
        answer = json.loads(host.call(3, "large", bytes=LARGE_BYTES))
        whole = sound_in(host.call(4, "sound", seconds=SOUND_SECONDS))
        after = peak_bytes(host)
        assert host.leave() == 0, (tmp_path / "stderr").read_text()
    print(f"{before // MIB} MiB, then {after // MIB} MiB")  # noqa: T201 - the measure
    content = answer["result"]["content"]
    assert whole == wav(SOUND_SECONDS, 100_000)
    *_, entry, _, _ = history(data)
    (resource,) = entry["sanitized"]["resources"]
    assert resource["size"] == LARGE_BYTES
    # It is damaged, so that no model is shown it.
    assert {block["type"] for block in content} == {"text"}
    assert resource["uri"] in content[-1]["text"]
    assert after - before < MOST_GROWTH_BYTES
    assert after < MOST_BYTES
