"""A proxy starts the shared service, and reports a failure to start it."""

import fcntl
import socket
import sys
import tempfile
from pathlib import Path

import anyio
import httpx
import pytest

from pagefault_mcp.server.serve_proxies import _listen_in
from pagefault_mcp.service_client.service_exchange import ServiceRequestError
from pagefault_mcp.service_client.shared_folder import SharedSetup, make_folder
from pagefault_mcp.service_client.shared_service import SharedService, _find_program

pytestmark = pytest.mark.engines("embedded")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["used", "starting"])
async def test_start_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("pagefault_mcp.service_client.shared_service._LONGEST_START_SECONDS", 0.05)
    setup = SharedSetup(tmp_path, project=None, env_file=None, version="1")
    make_folder(setup.find_folder())
    with (setup.find_folder() / name).open("a+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        async with httpx.AsyncClient(transport=SharedService(setup)) as client:
            for _ in range(2):
                with pytest.raises(
                    ServiceRequestError, match=r"has not answered for 0\.05 seconds"
                ):
                    await client.get("http://localhost/healthz")


def test_service_is_started_by_the_interpreter_of_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ["proxy", "--session", "demo"]
    monkeypatch.setattr("sys.orig_argv", ["/outside/Python", "-I", "/bin/pagefault", *arguments])
    monkeypatch.setattr("sys.argv", ["/bin/pagefault", *arguments])
    assert _find_program() == [sys.executable, "-I", "/bin/pagefault"]


def test_socket_that_was_left_without_its_address_is_replaced() -> None:
    # Paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="pagefault-", dir="/tmp") as near:
        address = Path(near) / "socket"
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(address))
        listening, now = _listen_in(Path(near))
        with listening, socket.socket(socket.AF_UNIX) as client:
            client.connect(str(address))
    assert now == address


def test_log_that_is_too_long_is_emptied_and_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import sys; print('once', file=sys.stderr); sys.exit('pagefault: no room')"
    monkeypatch.setattr(
        "pagefault_mcp.service_client.shared_service._find_program",
        lambda: [sys.executable, "-c", script],
    )
    setup = SharedSetup(tmp_path, project=None, env_file=None, version="1")
    make_folder(setup.find_folder())
    log = setup.find_folder() / "log"
    log.write_bytes(b"x" * (1024 * 1024 + 1))

    async def ask() -> None:
        async with httpx.AsyncClient(transport=SharedService(setup)) as client:
            await client.get("http://localhost/healthz")

    with pytest.raises(ServiceRequestError, match="the shared service cannot be started: no room"):
        anyio.run(ask)
    assert log.read_text() == "once\npagefault: no room\n"
