"""`pagefault`, loaded once for many processes of it.

The command is loaded for longer than it takes to do most of what it is told, or to begin serving.
Here a process loads it, and forks for each command line: what runs then is the same `main` in a
process of its own, with arguments, environment, standard streams, a process group and an end of its
own. What modules read from the environment while they load is not seen.

Whoever can only start programs, such as the client of an SDK, is given a `program`: a small one
that stands for a fork. The server of MCP made with the official SDK is loaded for it as well.
"""

import ctypes
import gc
import importlib
import json
import logging
import marshal
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from starlette.types import ASGIApp

from tests.kit.recorded_answers import AnswerFile

_ROOT = Path(__file__).resolve().parents[2]
_LOADED = b"loaded"
_FAILED = 70
_STREAMS = 3
_LIBC = ctypes.CDLL(None, use_errno=True)
# A command line and an environment fit; the socket refuses what is longer.
_MESSAGE_BYTES = 128 * 1024
_LOADING = (sys.executable, "-m", "tests.kit.preloaded")
_FORKED = Path(__file__).with_name("forked.py")
# The names of programs, and the modules of their `main`, which reads `sys.argv`.
_PROGRAMS = {"pagefault": "app.cli.main", "mcp_sdk_server": "tests.kit.mcp_sdk_server"}
# The command itself loads these when it needs them.
_LOADED_LATER = (
    "app.main",
    *(f"app.cli.{name}" for name in ("ingest", "keys", "pages", "serve", "stores", "tail")),
    *("pagefault_mcp.hosts.host_configs", "pagefault_mcp.http_server.host_listener"),
    *("pagefault_mcp.proxy.bridge", "pagefault_mcp.server.memory_process"),
    *("pagefault_mcp.server.daemon", "pagefault_mcp.server.serve_proxies"),
    *("alembic.autogenerate", "alembic.command", "anyio._backends._asyncio"),
)


def _command_line(address: str, name: str) -> list[str]:
    """Return the command line of a program that represents a fork, without its arguments."""
    return [sys.executable, "-IS", str(_FORKED), address, name]


class Started:
    """A process of the command; its starter ends it and waits for it."""

    def __init__(self, parent: "Preloaded", pid: int) -> None:
        self.pid: Final = pid
        self._parent = parent
        self._status: int | None = None

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it was waited for."""
        if self._status is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        """Its status once it has ended, spelled as `subprocess` does; waits so many seconds.

        Raises:
            TimeoutError: It has not ended by then.
        """
        if self._status is None:
            # Its process id is not used again until its status is read.
            ended = os.pidfd_open(self.pid)
            try:
                if not select.select([ended], [], [], timeout)[0]:
                    raise TimeoutError(f"process {self.pid} goes on")
            finally:
                os.close(ended)
            self._status = self._parent.status_of(self.pid)
        return self._status


class Preloaded:
    """The process which has loaded the command.

    Args:
        env: Its environment. Those it starts have their own.
        answers: The folder for the answers of those that serve; see `recorded_answers`.
    """

    def __init__(self, env: Mapping[str, str], answers: Path) -> None:
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="pagefault-forks-")
        self._address = f"{self._folder.name}/forks"
        with its:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [*_LOADING, str(its.fileno()), self._address, str(answers)],
                cwd=_ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,
            )
        assert self._socket.recv(_MESSAGE_BYTES) == _LOADED, "pagefault does not load"

    def start(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        streams: Sequence[int],
        folder: Path = _ROOT,
        namespaces: Sequence[Path] = (),
    ) -> Started:
        """Start `pagefault` with arguments in a folder; `streams` are its three standard ones.

        It is in the Linux namespaces whose files are given, beside those of this process.
        """
        spaces = [str(namespace) for namespace in namespaces]
        asked = {"arguments": arguments, "env": env, "folder": str(folder), "namespaces": spaces}
        return Started(self, self._ask(asked, streams))

    def program(self, name: str = "pagefault") -> list[str]:
        """Return the command line of a program that is a fork; `mcp_sdk_server` is another."""
        assert name in _PROGRAMS, f"there are {', '.join(_PROGRAMS)}"
        return _command_line(self._address, name)

    def status_of(self, pid: int) -> int:
        """The status of one that has ended; from then on others may have its number."""
        return self._ask({"pid": pid})

    def close(self) -> None:
        """End it; the forks go on."""
        self._socket.close()
        self._process.wait()
        self._folder.cleanup()

    def _ask(self, asked: Mapping[str, Any], streams: Sequence[int] = ()) -> int:
        with self._one_at_a_time:
            try:
                socket.send_fds(self._socket, [json.dumps(asked).encode()], streams)
                return int(self._socket.recv(_MESSAGE_BYTES))
            except BaseException:
                # The next request must not get this answer.
                self._socket.close()
                raise


class _Forks:
    """The process after everything is loaded: it forks, and reports the status of the forks."""

    def __init__(self, requests: socket.socket, programs: socket.socket, address: str) -> None:
        self._requests, self._programs = requests, programs
        self._address = address
        self._watched = selectors.DefaultSelector()
        self._watched.register(requests, selectors.EVENT_READ, self._answer)
        self._watched.register(programs, selectors.EVENT_READ, self._begin)
        self._is_asked = True

    def serve(self) -> None:
        """Serve until the tests have ended."""
        while self._is_asked:
            for key, _ in self._watched.select():
                # What came before it may have ended it: a program is killed as its fork ends.
                if any(item is key for item in self._watched.get_map().values()):
                    answer: Callable[[], None] = key.data
                    answer()

    def _answer(self) -> None:
        """Answer one request of the tests: a fork to be made, or the status of one."""
        message, streams, _, _ = socket.recv_fds(self._requests, _MESSAGE_BYTES, _STREAMS)
        if not message:
            self._is_asked = False
            return
        asked = json.loads(message)
        if streams:
            argv = ["pagefault", *asked["arguments"]]
            answer = self._fork(argv, asked["env"], asked["folder"], streams, asked["namespaces"])
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(asked["pid"], 0)[1])
        self._requests.send(str(answer).encode())

    def _begin(self) -> None:
        """Fork for a program that represents the fork, and watch them both."""
        program, _ = self._programs.accept()
        message, streams, _, _ = socket.recv_fds(program, _MESSAGE_BYTES, _STREAMS)
        if not message:
            # It was killed before it said anything.
            program.close()
            return
        name, arguments, env, folder = marshal.loads(message)  # noqa: S302 - from our own program
        fork = self._fork([name, *arguments], env, folder, streams)
        ended = os.pidfd_open(fork)
        # If it has been killed meanwhile, that is seen next.
        with suppress(OSError):
            program.send(str(fork).encode())
        self._watched.register(
            ended, selectors.EVENT_READ, partial(self._tell, fork, ended, program)
        )
        self._watched.register(program, selectors.EVENT_READ, partial(self._kill, fork, program))

    def _tell(self, fork: int, ended: int, program: socket.socket) -> None:
        """Tell a program how its fork has ended."""
        status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        self._watched.unregister(ended)
        os.close(ended)
        with suppress(KeyError):
            self._watched.unregister(program)
        with program, suppress(OSError):
            program.send(str(status).encode())

    def _kill(self, fork: int, program: socket.socket) -> None:
        """Kill the fork of a program that was killed."""
        self._watched.unregister(program)
        os.kill(fork, signal.SIGKILL)

    def _fork(
        self,
        argv: list[str],
        env: dict[str, str],
        folder: str,
        streams: list[int],
        namespaces: Sequence[str] = (),
    ) -> int:
        child = os.fork()
        if child == 0:
            # All that is watched is the parent's, forks of others among it.
            for watched in self._watched.get_map().values():
                os.close(watched.fd)
            # What starts programs like this one is to start a fork too.
            sys.orig_argv = [*_command_line(self._address, argv[0]), *argv[1:]]
            _run(argv, env, folder, streams, namespaces)
        # Both do it, so that it is done when either goes on.
        with suppress(OSError):
            os.setpgid(child, child)
        for stream in streams:
            os.close(stream)
        return child


def _record_answers(folder: Path) -> None:
    """Make servers record their answers: uvicorn finds the application by its name."""
    server = importlib.import_module("app.server.uvicorn_config")
    serve = server.served_app

    def recorded_app() -> ASGIApp:
        url = os.environ.get("PAGEFAULT_CONTENT_URL")
        return AnswerFile(folder).recording(serve(), content_url=url)

    vars(server)["served_app"] = recorded_app


def _serve(requests: socket.socket, programs: socket.socket, answers: Path) -> None:
    # Not above, so that the tests do not load it only to send it arguments.
    for module in (*_LOADED_LATER, *_PROGRAMS.values()):
        importlib.import_module(module)
    _record_answers(answers)
    # A server of the SDK has its process write a log as soon as it is made.
    logging.basicConfig(level=logging.WARNING, handlers=[], force=True)
    assert os.listdir("/proc/self/task") == [str(os.getpid())], "only one thread can be forked"
    # A search for garbage would write to all that the processes share, and so copy it.
    gc.freeze()
    requests.send(_LOADED)
    _Forks(requests, programs, programs.getsockname()).serve()


def _run(
    argv: list[str],
    env: dict[str, str],
    folder: str,
    streams: list[int],
    namespaces: Sequence[str],
) -> NoReturn:
    status = _FAILED
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        for namespace in namespaces:
            _enter(namespace)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = argv
        sys.stdin = open(0)  # noqa: SIM115 - the process ends with it
        importlib.import_module(_PROGRAMS[argv[0]]).main()
        status = 0
    except BaseException:  # noqa: BLE001 - nothing may go on in the parent's loop
        traceback.print_exc()
    finally:
        os._exit(status)


def _enter(namespace: str) -> None:
    # `os.setns` is there from Python 3.12 on.
    with open(namespace, "rb") as file:
        if _LIBC.setns(file.fileno(), 0):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), namespace)


if __name__ == "__main__":
    with (
        socket.socket(fileno=int(sys.argv[1])) as requests,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as programs,
    ):
        programs.bind(sys.argv[2])
        programs.listen()
        _serve(requests, programs, Path(sys.argv[3]))
