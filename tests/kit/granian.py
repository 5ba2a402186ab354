"""The service under Granian, which sends files by itself (ASGI's `http.response.pathsend`)."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import httpx

from tests.kit.process import ROOT, WAIT_SECONDS, environment

_COMMAND = Path(sys.executable).with_name("granian")
# At first at once, then after half a second, and each time after twice as long.
_TRIES = 7


class GranianProcess:
    """Granian with one worker on a free port; used as a context it serves, and is killed.

    Args:
        data_dir: Its data directory.
        env: Settings for this process, by variable.
    """

    def __init__(self, data_dir: Path, env: dict[str, str]) -> None:
        # The server shares its port; this socket only reserves it, and accepts no connections.
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self._port: int = self._socket.getsockname()[1]
        self._env = environment({"PAGEFAULT_DATA_DIR": str(data_dir), **env})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "GranianProcess":
        interface = ["--interface", "asgi", "--factory", "app.server.uvicorn_config:served_app"]
        self._process = subprocess.Popen(  # noqa: S603 - our own arguments
            [_COMMAND, *interface, "--port", str(self._port)],
            cwd=ROOT,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        # Its process id is not used again until its status is read.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(WAIT_SECONDS)
        self._socket.close()

    def client(self, key: str) -> httpx.Client:
        """A client with a key; close it."""
        return httpx.Client(
            # There is no notice when the worker listens, so connecting is tried until then.
            transport=httpx.HTTPTransport(retries=_TRIES),
            base_url=f"http://127.0.0.1:{self._port}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=WAIT_SECONDS,
        )
