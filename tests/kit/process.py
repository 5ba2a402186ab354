"""Pagefault as its users run it: the command, in processes of their own.

Every process is in a group of its own, so that what is ended is what was started here: the
command and its workers, and nothing else.
"""

import atexit
import functools
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import httpx

from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.preloaded import Preloaded, Started
from tests.kit.recorded_answers import folder as answers_folder

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).with_name("pagefault")
WAIT_SECONDS = 60.0

# Two threads may be the first to start a process.
_loading = threading.Lock()
# What is read before the command line is, by the loader and the interpreter.
_READ_AT_START = re.compile("LD_.*|PYTHON.*")
_URL = re.compile(r"Pagefault is at (http://\S+)")
# What would change settings, colour the output or have each start compile all modules anew, were it
# to come from whoever runs the tests.
_NOT_INHERITED = re.compile(
    "(PAGEFAULT_|PROMETHEUS_|OTEL_|AWS_|DECTO_).*|.*_COLORS?|.*_proxy|COLUMNS|GITHUB_ACTIONS"
    "|PYTHONDONTWRITEBYTECODE|MAKE.*|MFLAGS",
    re.IGNORECASE,
)


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a user whose only settings are `changes`."""
    kept = {name: value for name, value in os.environ.items() if not _NOT_INHERITED.match(name)}
    return kept | {"NO_PROXY": "*", **(changes or {})}


def run_command(
    *arguments: str,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    command: Path = COMMAND,
    folder: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    """Run `pagefault` with arguments to its end, `given` on its standard input.

    `command` is another installation of it, and `folder` where it is started.
    """
    done = subprocess.run(  # noqa: S603 - our own command
        [command, *arguments],
        cwd=folder,
        env=environment(env),
        input=given,
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def run_until_answer(
    command: Sequence[str | Path], line: bytes, *, env: Mapping[str, str], folder: Path = ROOT
) -> subprocess.CompletedProcess[bytes]:
    """Send a line to a command, and close its input after the first line of its answer.

    A proxy gives its server five seconds from the end of its input. Under load, a server may need
    longer to start, and would be ended before it answers.
    """
    with (
        subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
        ThreadPoolExecutor(1) as threads,
    ):
        assert process.stdin
        assert process.stdout
        assert process.stderr
        errors = threads.submit(process.stderr.read)
        # A command that refuses its options does not read.
        with suppress(BrokenPipeError):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        with suppress(BrokenPipeError):
            process.stdin.close()
        answer += process.stdout.read()
        return subprocess.CompletedProcess(command, process.wait(), answer, errors.result())


def workspace(folder: Path) -> Path:
    """Make a folder with modules that are named as ours; whatever loads one leaves a file `ran`."""
    made = folder / "workspace"
    for name in (
        "app",
        "pagefault_dialects",
        "pagefault_bundles",
        "pagefault_doctor",
        "typing_extensions",
    ):
        (made / name).mkdir(parents=True)
        (made / name / "__init__.py").write_text("open('ran', 'w').close()")
    return made


def preloaded() -> Preloaded:
    """The command, loaded once for this test process; its tables are 200 columns wide."""
    with _loading:
        return _preloaded()


def program(name: str = "pagefault") -> list[str]:
    """The command line of a program that is a fork of one loaded already, for who starts programs.

    `name` is `pagefault`, or `mcp_sdk_server`, which takes a transport.
    """
    return preloaded().program(name)


@functools.cache
def _preloaded() -> Preloaded:
    process = Preloaded(environment({"COLUMNS": "200"}), answers_folder())
    atexit.register(process.close)
    return process


class PagefaultProcess:
    """`pagefault serve` on a free port; used as a context it serves, and is killed at the end.

    Args:
        data_dir: Its data directory; it outlives the process.
        options: More options of `serve`.
        env: Settings for this process, by variable.
        is_installed: Whether it is the installed command from its first line on, with hashes of
            its own, and not a fork of one that is loaded. Variables which are read that early
            make it so by themselves.
        namespaces: The files of Linux namespaces that it is in; it is a fork then.
        command: Another installation of it.
        folder: Where it is started.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        is_installed: bool = False,
        namespaces: Sequence[Path] = (),
        command: Path = COMMAND,
        folder: Path = ROOT,
    ) -> None:
        self._namespaces = namespaces
        self._command = command
        self._folder = folder
        self._arguments = ["serve", "--port", "0", "--data-dir", str(data_dir), *options]
        self._env = environment(env)
        read_at_start = any(map(_READ_AT_START.fullmatch, env or ()))
        self._is_installed = is_installed or read_at_start or command != COMMAND
        assert not (namespaces and self._is_installed)
        self._process: subprocess.Popen[bytes] | Started | None = None
        self._lines: list[str] = []
        self._ended = False
        self._news = threading.Condition()
        self._reader: threading.Thread | None = None
        self.base_url = ""

    def __enter__(self) -> "PagefaultProcess":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it; returns once it answers."""
        self._lines.clear()
        self._ended = False
        logs, its_logs = os.pipe()
        try:
            self._process = self._started(its_logs)
        finally:
            os.close(its_logs)
            self._reader = threading.Thread(target=self._read, args=(logs,), daemon=True)
            self._reader.start()
        self.base_url = self.wait_for_log(_URL).group(1)
        # It listens before it says so, so this request waits until it is served.
        httpx.get(
            f"{self.base_url}/healthz", timeout=WAIT_SECONDS, trust_env=False, verify=TRUSTS_NOBODY
        ).raise_for_status()

    @property
    def port(self) -> int:
        """The port it took."""
        return httpx.URL(self.base_url).port or 0

    @property
    def pid(self) -> int:
        """The number of the process that serves."""
        assert self._process is not None
        return self._process.pid

    @property
    def logs(self) -> str:
        """Return its standard error since the last start."""
        with self._news:
            return "".join(self._lines)

    def client(self, key: str | None = None) -> httpx.Client:
        """A client of it, with a key if one is given; close it."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(
            base_url=self.base_url,
            headers=headers,
            timeout=WAIT_SECONDS,
            trust_env=False,
            verify=TRUSTS_NOBODY,
        )

    def wait_for_log(self, pattern: re.Pattern[str], *, times: int = 1) -> re.Match[str]:
        """The match in the first log line, or the `times`th, that has the pattern in it."""

        def found() -> list[re.Match[str]]:
            return [match for line in self._lines if (match := pattern.search(line))]

        with self._news:
            self._news.wait_for(lambda: len(found()) >= times or self._ended, WAIT_SECONDS)
            matches = found()
        assert len(matches) >= times, f"no {pattern.pattern!r} among\n{self.logs}"
        return matches[times - 1]

    def terminate(self) -> None:
        """Ask the command to end, as service managers do; does not wait."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Ask it to end and wait until it and all its workers have; returns its status."""
        self.terminate()
        return self._join()

    def kill(self) -> None:
        """End it and its workers at once, with SIGKILL; one that has ended stays as it is."""
        if self._process is None:
            return
        # Its process id is not used again until its status is read.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._join()

    def _join(self) -> int:
        assert self._process is not None
        assert self._reader is not None
        process = self._process
        # Workers hold the other end of this pipe too: it ends when the last of them has.
        self._reader.join(WAIT_SECONDS)
        assert not self._reader.is_alive(), f"still running:\n{self.logs}"
        self._process = None
        return process.wait(WAIT_SECONDS)

    def _started(self, logs: int) -> subprocess.Popen[bytes] | Started:
        with Path(os.devnull).open("r+b") as nothing:
            if not self._is_installed:
                streams = (nothing.fileno(), nothing.fileno(), logs)
                return preloaded().start(
                    self._arguments, self._env, streams, self._folder, self._namespaces
                )
            return subprocess.Popen(  # noqa: S603 - our own command
                [self._command, *self._arguments],
                cwd=self._folder,
                env=self._env,
                stdin=nothing,
                stdout=nothing,
                stderr=logs,
                start_new_session=True,
            )

    def _read(self, logs: int) -> None:
        with open(logs) as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line)
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()
