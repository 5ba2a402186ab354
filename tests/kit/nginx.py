"""A real nginx in front of live services, with the configurations of `deploy/nginx`."""

import os
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.kit.process import ROOT

WAIT_SECONDS = 60.0
EXAMPLES = ROOT / "deploy" / "nginx"

_PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:{ROOT / '.venv' / 'nginx' / 'usr' / 'sbin'}"
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
        configuration: Its configuration, as `sending_files` or `balancing` make it.
    """

    def __init__(self, folder: Path, configuration: str) -> None:
        self._folder = folder
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._socket.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self._port}"
        self._write(configuration)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Nginx":
        command = shutil.which("nginx", path=_PLACES)
        assert command, "the tests need Debian's package nginx: run `make nginx`, or install it"
        descriptor = self._socket.fileno()
        self._process = subprocess.Popen(  # noqa: S603 - our own arguments
            [command, "-p", str(self._folder), "-e", "stderr", "-c", str(self._config)],
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
        # Its process id is not used again until its status is read.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(WAIT_SECONDS)
        self._socket.close()

    def reload(self, configuration: str) -> None:
        """Load another configuration; return when the old workers have ended."""
        assert self._process is not None
        before = self._workers()
        self._write(configuration)
        self._process.send_signal(signal.SIGHUP)
        with select.epoll() as ended:
            left = {os.pidfd_open(worker) for worker in before}
            for descriptor in left:
                ended.register(descriptor, select.EPOLLIN)
            while left:
                events = ended.poll(WAIT_SECONDS)
                assert events, "nginx goes on with the old configuration"
                for descriptor, _ in events:
                    ended.unregister(descriptor)
                    os.close(descriptor)
                    left.remove(descriptor)

    @property
    def _config(self) -> Path:
        return self._folder / "nginx.conf"

    def _write(self, configuration: str) -> None:
        # Its workers would give up what only the user of the service may do: to read the blobs.
        user = "user root;" if os.geteuid() == 0 else ""
        server = configuration.replace("listen 443 ssl;", f"listen 127.0.0.1:{self._port};")
        self._config.write_text(_AROUND.format(folder=self._folder, user=user, server=server))

    def _workers(self) -> list[int]:
        assert self._process is not None
        pid = self._process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def sending_files(service_port: int, data_dir: Path) -> str:
    """The example before one service, with the location that sends its files."""
    places = {
        "    server 127.0.0.1:8002 max_fails=0;\n": "",
        "127.0.0.1:8001": f"127.0.0.1:{service_port}",
        "/var/lib/pagefault/blobs/": f"{data_dir / 'blobs'}/",
    }
    location = (EXAMPLES / "blobs.conf").read_text()
    return _placed(_example().removesuffix("}\n") + location + "}\n", places)


def balancing(first: str, second: str) -> str:
    """The example before two services, each `127.0.0.1:PORT`, with `down` behind it."""
    return _placed(_example(), {"127.0.0.1:8001": first, "127.0.0.1:8002": second})


def _example() -> str:
    """The upstream and the server of the example."""
    server = (EXAMPLES / "pagefault.conf").read_text()
    assert server.count("listen 443 ssl;") == 1
    return server


def _placed(configuration: str, places: Mapping[str, str]) -> str:
    """A configuration with each of these texts, which it has once, replaced."""
    for example, here in places.items():
        assert configuration.count(example) == 1
        configuration = configuration.replace(example, here)
    return configuration
