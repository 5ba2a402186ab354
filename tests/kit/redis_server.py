"""A Redis server on loopback, which keeps nothing."""

import shutil
import signal
import socket
import subprocess
from types import TracebackType

_WAIT_SECONDS = 30.0


class RedisServer:
    """Debian's Redis; used as a context it runs, and is killed at the end."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "RedisServer":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """Its URL, with a password."""
        return f"redis://:secret@127.0.0.1:{self.port}/3"

    def start(self) -> None:
        """Start it; returns once it accepts connections."""
        # The same program under another name, in a package that starts no service.
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        assert program, "the tests need Debian's package redis-tools: run `make redis`"
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        self._process = subprocess.Popen(  # noqa: S603 - our own arguments
            [*command, "--requirepass", "secret", "--save", ""],
            executable=program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert any("Ready to accept connections" in line for line in self._process.stdout)

    def kill(self) -> None:
        """End it at once, and all connections to it; one that has ended stays as it is."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_WAIT_SECONDS)
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
