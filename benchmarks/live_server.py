"""The service as its users run it, and its baseline, each in a process of its own.

Both are on a free loopback port, and on the core for servers unless they are given more. The
service asks for a key, writes its log as JSON to a file, and keeps what it is given in SQLite and
a directory, unless told otherwise.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from benchmarks.figures import WrongAnswerError
from benchmarks.machine import SERVER, on_cores
from tests.kit.process import COMMAND, ROOT, environment, run_command

PROJECT = "bench"
_START_SECONDS = 60.0
_ANNOUNCED = re.compile(r" is at http://127\.0\.0\.1:(\d+)\S*\s")


@dataclass(frozen=True, slots=True)
class Service:
    """A service that answers."""

    port: int
    pid: int
    key: str
    data_dir: Path

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {"Authorization": f"Bearer {self.key}"}

    def client(self) -> httpx.Client:
        """Return a client for requests before and after the measurement; close it."""
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers=self.headers,
            timeout=300,
            trust_env=False,
        )

    def blob(self, digest: str) -> Path:
        """The file in which a directory keeps a blob."""
        return next((self.data_dir / "blobs").rglob(digest))


@dataclass(frozen=True, slots=True)
class Bare:
    """A server without data of its own that answers."""

    port: int
    pid: int


class Memory:
    """Return the resident size of a process, in bytes."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")

    @property
    def now(self) -> int:
        """All pages of it that are resident."""
        return self._kibibytes("VmRSS") * 1024

    @property
    def peak(self) -> int:
        """The most there were since the last reset."""
        return self._kibibytes("VmHWM") * 1024

    def reset_peak(self) -> None:
        """Forget what there was before (proc(5), clear_refs)."""
        (self._folder / "clear_refs").write_text("5")

    def _kibibytes(self, name: str) -> int:
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise WrongAnswerError(f"the kernel does not tell {name}")


@contextmanager
def serving(
    folder: Path,
    *,
    env: Mapping[str, str] | None = None,
    cores: Set[int] = SERVER,
    command: Sequence[str] = (str(COMMAND),),
) -> Iterator[Service]:
    """The service for the length of the block.

    Args:
        folder: For its data and its log; made if need be.
        env: More settings, by variable: another database, another store.
        cores: Those it may use.
        command: The command line; by default, that of the service.
    """
    data_dir = folder / "data"
    data_dir.mkdir(parents=True, exist_ok=True)
    settings = {
        "PAGEFAULT_AUTH": "api-key",
        "PAGEFAULT_LOG_FORMAT": "json",
        "PAGEFAULT_DATA_DIR": str(data_dir),
        **(env or {}),
    }
    made = run_command("keys", "create", "--project", PROJECT, env=settings)
    if made.returncode:
        raise WrongAnswerError(made.stderr)
    log = folder / "service.log"
    with (
        log.open("wb") as sink,
        _running([*command, "serve", "--port", "0"], settings, out=sink, cores=cores) as process,
    ):
        port = _announced_port(process, log)
        service = Service(port, process.pid, made.stdout.strip(), data_dir)
        with service.client() as client:
            client.get("/healthz").raise_for_status()
        yield service


@contextmanager
def bare_server(
    folder: Path,
    *,
    constants: Mapping[str, bytes] | None = None,
    files: Mapping[str, Path] | None = None,
    cores: Set[int] = SERVER,
) -> Iterator[Bare]:
    """Serve the baselines of `benchmarks.bare_app` during the block.

    Args:
        folder: For the constants and for what `/keep` is sent; made if need be.
        constants: By name, what `/constants/NAME` answers with.
        files: By name, what `/files/NAME` sends.
        cores: Those it may use.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, body in (constants or {}).items():
        paths[name] = str(folder / name)
        (folder / name).write_bytes(body)
    specification = folder / "specification.json"
    shown = {name: str(path) for name, path in (files or {}).items()}
    said = {"constants": paths, "files": shown, "kept": str(folder / "kept")}
    specification.write_text(json.dumps(said))
    command = [sys.executable, "-m", "benchmarks.bare_app", str(specification)]
    with _running(command, {}, out=subprocess.PIPE, cores=cores) as process:
        # It listens before it says so, so the first request waits until it is served.
        yield Bare(int(process.stdout.readline() if process.stdout else 0), process.pid)


@contextmanager
def listening_proxy(folder: Path, *, cores: Set[int] = SERVER) -> Iterator[Bare]:
    """`pagefault proxy --listen` before a small server, for the length of the block.

    Args:
        folder: For its data and its log; made if need be.
        cores: Those it may use.
    """
    log = folder / "proxy.log"
    options = ["--session", "s", "--data-dir", str(folder / "data"), "--listen", "127.0.0.1:0"]
    command = [str(COMMAND), "proxy", *options, "--", sys.executable, "-m", "tests.kit.mcp_server"]
    with log.open("wb") as sink, _running(command, {}, out=sink, cores=cores) as process:
        yield Bare(_announced_port(process, log), process.pid)


@contextmanager
def _running(
    command: Sequence[str], settings: Mapping[str, str], *, out: IO[bytes] | int, cores: Set[int]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process; killed at the end."""
    with on_cores(cores):
        process = subprocess.Popen(  # noqa: S603 - our own commands
            command,
            cwd=ROOT,
            env=environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=None if out == subprocess.PIPE else subprocess.STDOUT,
        )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _announced_port(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port that a process says it is at; waits for it to say so."""
    give_up_at = time.monotonic() + _START_SECONDS
    while time.monotonic() < give_up_at and process.poll() is None:
        if found := _ANNOUNCED.search(log.read_text()):
            return int(found[1])
        time.sleep(0.02)
    raise WrongAnswerError(f"the process did not start:\n{log.read_text()}")
