"""A real PgBouncer in front of a private PostgreSQL, configured as the example in `deploy/`."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path
from types import TracebackType

from tests.kit.process import ROOT
from tests.kit.servers import Postgres

_WAIT_SECONDS = 30.0
_PORT = 6432
_PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin"
_EXAMPLE = ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini"
# Clients take turns on two connections, and reach them over a Unix socket, without passwords.
_CHANGES = {
    "default_pool_size": "2",
    "auth_type": "any",
    "auth_file": "",
    "admin_users": "postgres",
    "listen_addr": "",
    "listen_port": str(_PORT),
}


def _example() -> dict[str, str]:
    """The settings of the example."""
    parser = ConfigParser(interpolation=None)
    parser.read(_EXAMPLE)
    return dict(parser["pgbouncer"])


class PgBouncer:
    """PgBouncer on a Unix socket; used as a context it runs, and is killed at the end.

    Args:
        postgres: The server behind it.
        settings: Changes to its settings, by their names in `pgbouncer.ini`.
    """

    def __init__(self, postgres: Postgres, settings: Mapping[str, str] | None = None) -> None:
        # The user of the server has to reach it.
        self._folder = Path(tempfile.mkdtemp(prefix="pgbouncer-", dir=postgres.folder))
        self._cluster = postgres.folder / "cluster"
        changes = {**_CHANGES, "unix_socket_dir": str(self._folder), **(settings or {})}
        self._settings = _example() | changes
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[str] = []
        self._news = threading.Condition()

    def __enter__(self) -> "PgBouncer":
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def logs(self) -> str:
        """Its log since its last start."""
        with self._news:
            return "".join(self._lines)

    def url(self, database: str, options: str = "") -> str:
        """The URL of a database behind it; `options` begin with `&`."""
        return f"postgresql://postgres@/{database}?host={self._folder}&port={_PORT}{options}"

    def start(self) -> None:
        """Start it; returns once it accepts connections."""
        command = shutil.which("pgbouncer", path=_PLACES)
        assert command, "the tests need Debian's package pgbouncer: run `make pgbouncer`"
        # It refuses to run as root, and the socket of the server is its owner's only.
        owner = self._cluster.stat().st_uid
        user = owner if os.geteuid() == 0 else None
        if user is not None:
            os.chown(self._folder, owner, -1)
        settings = "".join(f"{name} = {value}\n" for name, value in self._settings.items())
        config = self._folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = host={self._cluster} port=5432 user=postgres\n"
            f"[pgbouncer]\n{settings}"
        )
        self._process = subprocess.Popen(  # noqa: S603 - our own arguments
            [command, str(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            user=user,
            extra_groups=[] if user is not None else None,
            start_new_session=True,
        )
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        self.wait_for_log(r"process up")

    def wait_for_log(self, pattern: str, *, times: int = 1) -> None:
        """Return when so many lines of the log have the pattern in them."""

        def has_them() -> bool:
            return sum(bool(re.search(pattern, line)) for line in self._lines) >= times

        with self._news:
            assert self._news.wait_for(has_them, _WAIT_SECONDS), f"no {pattern} in\n{self.logs}"

    def kill(self) -> None:
        """End it at once, and all connections through it; one that has ended stays as it is."""
        if self._process is None:
            return
        # Until it is waited for, no other process can have its number.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(_WAIT_SECONDS)
        self._process = None
        (self._folder / f".s.PGSQL.{_PORT}").unlink(missing_ok=True)
        with self._news:
            self._lines.clear()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line)
                    self._news.notify_all()
