"""The memory of the service that the proxies of a user share."""

from pathlib import Path

import pytest

from packages.mcp.tests.e2e.test_proxy_command import SERVER, talking
from packages.mcp.tests.e2e.test_proxy_memory import MIB, peak_bytes
from packages.mcp.tests.e2e.test_shared_service_command import folder_of, pid_in
from tests.kit.process import COMMAND
from tests.kit.servers import with_a_database

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(300)]

# Measured: 110 MiB, and 150 with a vocabulary.
MAX_BYTES = 130 * MIB


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "The service that stores for the proxies of a user loads no vocabulary to count tokens",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/service_store.py",
    tried="a long text, a sound of 1 MB and a call of one of the memory's tools: below 130 MiB",
)
def test_service_renders_for_proxies_without_a_vocabulary(tmp_path: Path) -> None:
    data = with_a_database(tmp_path / "data")
    options: list[str | Path] = ["--session", "demo", "--data-dir", data]
    with talking(COMMAND, "proxy", *options, "--", *SERVER, stderr=tmp_path / "stderr") as host:
        host.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={})
        host.ask(1, "tools/list")
        host.call(2, "long", characters=20_000)
        assert b'"audio"' in host.call(3, "sound", seconds=5)
        assert b"audio @blob:" in host.call(4, "list_media")
        service = pid_in(folder_of(data))
        loaded = Path(f"/proc/{service}/maps").read_text()
        peak = peak_bytes(service)
        assert host.leave() == 0, (tmp_path / "stderr").read_text()
    print(f"{peak // MIB} MiB")  # noqa: T201 - the measure
    # The tokenizer is a library of its own, beside that of the schema library.
    assert ("pydantic_core" in loaded, "tiktoken" in loaded) == (True, False)
    assert peak < MAX_BYTES
