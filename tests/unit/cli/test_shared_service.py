"""What a proxy does about a service that cannot be started, and how it starts one."""

import fcntl
import sys
from pathlib import Path

import httpx
import pytest

from app.cli.shared_folder import SharedSetup, make_folder
from app.cli.shared_service import SharedService, _program
from app.mcp.store import NoAnswerError

pytestmark = pytest.mark.engines("embedded")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["used", "starting"])
async def test_start_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("app.cli.shared_service._LONGEST_START_SECONDS", 0.05)
    setup = SharedSetup(tmp_path, project=None, env_file=None)
    make_folder(setup.folder())
    with (setup.folder() / name).open("a+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        async with httpx.AsyncClient(transport=SharedService(setup)) as client:
            for _ in range(2):
                with pytest.raises(NoAnswerError, match=r"has not answered for 0\.05 seconds"):
                    await client.get("http://localhost/healthz")


def test_service_is_started_by_the_interpreter_of_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = ["proxy", "--session", "demo"]
    monkeypatch.setattr("sys.orig_argv", ["/outside/Python", "-I", "/bin/pagefault", *given])
    monkeypatch.setattr("sys.argv", ["/bin/pagefault", *given])
    assert _program() == [sys.executable, "-I", "/bin/pagefault"]
