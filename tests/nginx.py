"""A real nginx in front of a live service, with the configuration that the documentation shows."""

import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType

from tests.process import ROOT

WAIT_SECONDS = 30.0
PAGE = ROOT / "docs" / "content.md"

_PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:{ROOT / '.venv' / 'nginx' / 'usr' / 'sbin'}"
_BLOCK = re.compile(r"^```nginx\n(.*?)^```", re.MULTILINE | re.DOTALL)
_AROUND = """
daemon off;
worker_processes 1;
{user}
pid {folder}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""


class Nginx:
    """nginx on a free loopback port; used as a context it serves, and is killed at the end.

    Args:
        folder: Where it may write.
        service_port: The port of the service behind it.
        data_dir: The service's data directory.
    """

    def __init__(self, folder: Path, *, service_port: int, data_dir: Path) -> None:
        self._folder = folder
        self._socket = socket.create_server(("127.0.0.1", 0))
        port: int = self._socket.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}"
        self._config = _config(folder, port, service_port, data_dir)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Nginx":
        command = shutil.which("nginx", path=_PLACES)
        assert command, "the tests need Debian's package nginx: run `make nginx`, or install it"
        config = self._folder / "nginx.conf"
        config.write_text(self._config)
        descriptor = self._socket.fileno()
        self._process = subprocess.Popen(  # noqa: S603 - our own arguments
            [command, "-p", str(self._folder), "-e", "stderr", "-c", str(config)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # As one that is replaced while it runs hands its socket on: callers already wait there.
            pass_fds=[descriptor],
            env={"NGINX": f"{descriptor};"},
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
        # Until it is waited for, nobody else can have its number.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(WAIT_SECONDS)
        self._socket.close()


def _config(folder: Path, port: int, service_port: int, data_dir: Path) -> str:
    """The documented server, at other places."""
    (shown,) = _BLOCK.findall(PAGE.read_text())
    server = shown
    for documented, here in {
        "listen 443 ssl;": f"listen 127.0.0.1:{port};",
        "http://127.0.0.1:8000": f"http://127.0.0.1:{service_port}",
        "/var/lib/pagefault/blobs/": f"{data_dir / 'blobs'}/",
    }.items():
        assert server.count(documented) == 1
        server = server.replace(documented, here)
    # Its workers would give up what only the user of the service may do: to read the blobs.
    user = "user root;" if os.geteuid() == 0 else ""
    return _AROUND.format(folder=folder, user=user, server=server)
