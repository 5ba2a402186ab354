"""`pagefault`, loaded once for many processes of it.

The command is loaded for longer than it takes to do most of what it is told, or to begin serving.
Here a process loads it, and forks for each command line: what runs then is the same `main` in a
process of its own, with arguments, environment, standard streams, a process group and an end of its
own. What modules read from the environment while they load is not seen.
"""

import gc
import json
import os
import select
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

_ROOT = Path(__file__).resolve().parents[2]
_LOADED = b"loaded"
_FAILED = 70
_STREAMS = 3
# A command line and an environment fit; the socket refuses what is longer.
_MESSAGE_BYTES = 128 * 1024


class Started:
    """A process of the command; whoever started it ends it and waits for it."""

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
            # Until its status is asked for, nobody else can have its number.
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
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()
        with its:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "tests.kit.preloaded", str(its.fileno())],
                cwd=_ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,
            )
        assert self._socket.recv(_MESSAGE_BYTES) == _LOADED, "pagefault does not load"

    def start(
        self, arguments: Sequence[str], env: Mapping[str, str], streams: Sequence[int]
    ) -> Started:
        """Start `pagefault` with arguments; `streams` are its three standard streams."""
        return Started(self, self._ask({"arguments": arguments, "env": env}, streams))

    def status_of(self, pid: int) -> int:
        """The status of one that has ended; from then on others may have its number."""
        return self._ask({"pid": pid})

    def close(self) -> None:
        """End it; what it has started goes on."""
        self._socket.close()
        self._process.wait()

    def _ask(self, asked: Mapping[str, Any], streams: Sequence[int] = ()) -> int:
        with self._one_at_a_time:
            try:
                socket.send_fds(self._socket, [json.dumps(asked).encode()], streams)
                return int(self._socket.recv(_MESSAGE_BYTES))
            except BaseException:
                # Whoever asks next is not to be given this answer.
                self._socket.close()
                raise


def _serve(requests: socket.socket) -> None:
    # Here and not above, so that the tests do not load it only to send it arguments. The command
    # itself loads these when it needs them.
    from app import main  # noqa: F401, PLC0415
    from app.cli import ingest, keys, pages, serve, stores, tail  # noqa: F401, PLC0415
    from app.cli import main as cli  # noqa: F401, PLC0415

    assert os.listdir("/proc/self/task") == [str(os.getpid())], "only one thread can be forked"
    # A search for garbage would write to all that the processes share, and so copy it.
    gc.freeze()
    requests.send(_LOADED)
    while True:
        message, streams, _, _ = socket.recv_fds(requests, _MESSAGE_BYTES, _STREAMS)
        if not message:
            return
        asked = json.loads(message)
        if streams:
            answer = _fork(asked["arguments"], asked["env"], streams, requests)
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(asked["pid"], 0)[1])
        requests.send(str(answer).encode())


def _fork(
    arguments: list[str], env: dict[str, str], streams: list[int], requests: socket.socket
) -> int:
    child = os.fork()
    if child == 0:
        requests.close()
        _run(arguments, env, streams)
    # Both do it, so that it is done when either goes on.
    with suppress(OSError):
        os.setpgid(child, child)
    for stream in streams:
        os.close(stream)
    return child


def _run(arguments: list[str], env: dict[str, str], streams: list[int]) -> NoReturn:
    from app.cli.main import main  # noqa: PLC0415 - loaded already

    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = ["pagefault", *arguments]
        sys.stdin = open(0)  # noqa: SIM115 - the process ends with it
        main()
    except BaseException:  # noqa: BLE001 - nothing may go on in the parent's loop
        traceback.print_exc()
    finally:
        os._exit(_FAILED)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        _serve(requests)
