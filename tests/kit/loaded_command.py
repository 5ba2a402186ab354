"""Command lines of `pagefault` that run to their end, in forks of a process which has loaded it.

How the installed command starts is what `run_command` shows.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.kit.process import ROOT, WAIT_SECONDS, environment, preloaded


class LoadedCommand:
    """The command, which is there to be run."""

    def run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        given: str = "",
        folder: Path = ROOT,
        namespaces: Sequence[Path] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run `pagefault` with arguments in a folder to its end, `given` on its standard input.

        `env` are settings, and `namespaces` the files of Linux namespaces that it is in.
        Tables are 200 columns wide, which is decided when it is loaded.
        """
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(given.encode(errors="surrogateescape"))
            files[0].seek(0)
            streams = [file.fileno() for file in files]
            process = preloaded().start(arguments, environment(env), streams, folder, namespaces)
            try:
                status = process.wait(WAIT_SECONDS)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(WAIT_SECONDS)
                raise
            for file in files:
                file.seek(0)
            out, err = (file.read().decode() for file in files[1:])
        return subprocess.CompletedProcess(list(arguments), status, out, err)
