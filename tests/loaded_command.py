"""`pagefault`, loaded once for many command lines, each of which runs in a process of its own.

A command is loaded for longer than most of them work. Here a process loads it, and forks for each
command line: what runs then is the same `main`, with arguments, environment, standard streams and
an end of its own. How the installed command starts is what `run_command` shows.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import NoReturn

from tests.process import ROOT, environment

_LOADED = "loaded\n"
_FAILED = 70


class LoadedCommand:
    """The command; used as a context it is there to be run."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> "LoadedCommand":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.loaded_command"],
            cwd=ROOT,
            env=environment({"COLUMNS": "200"}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == _LOADED
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._kill()

    def run(
        self, *arguments: str, env: Mapping[str, str] | None = None, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run `pagefault` with arguments to its end, `given` on its standard input.

        `env` are settings. Tables are 200 columns wide, which is decided when it is loaded.
        """
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            try:
                self._process.stdin.write(json.dumps([arguments, environment(env), given]) + "\n")
                self._process.stdin.flush()
                status, out, err = json.loads(self._process.stdout.readline())
            except BaseException:
                # What comes after a command that hangs is not to be given its answer.
                self._kill()
                raise
        return subprocess.CompletedProcess(list(arguments), status, out, err)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with self._process as process:
                os.killpg(process.pid, signal.SIGKILL)


def _serve() -> None:
    # Here and not above, so that the tests do not load it only to send it arguments.
    from app.cli import main  # noqa: PLC0415

    def run(arguments: list[str], env: dict[str, str], streams: list[int]) -> NoReturn:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = ["pagefault", *arguments]
        sys.stdin = open(0)  # noqa: SIM115 - the process ends with it
        try:
            main()
        except BaseException:  # noqa: BLE001 - nothing may go on in the parent's loop
            traceback.print_exc()
        finally:
            os._exit(_FAILED)

    print(_LOADED, end="", flush=True)  # noqa: T201 - said to the tests
    for line in sys.stdin:
        arguments, env, given = json.loads(line)
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(given.encode(errors="surrogateescape"))
            files[0].seek(0)
            child = os.fork()
            if child == 0:
                run(arguments, env, [file.fileno() for file in files])
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            for file in files:
                file.seek(0)
            said = [file.read().decode() for file in files[1:]]
        print(json.dumps([status, *said]), flush=True)  # noqa: T201 - said to the tests


if __name__ == "__main__":
    _serve()
