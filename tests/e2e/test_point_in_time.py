"""Point-in-time recovery by the documented commands, after a session was deleted with its files."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest

from tests.e2e.stored_state import ServerState
from tests.e2e.test_backup import run_lines, run_shell, write
from tests.kit.loaded_command import LoadedCommand
from tests.kit.object_store import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Postgres, folder_in_memory

pytestmark = pytest.mark.xdist_group("heavy")
BEFORE = AFTER = 4


class ArchivedServer:
    """A PostgreSQL that archives its log, and its documented backup and restore."""

    def __init__(self, postgres: Postgres) -> None:
        self.postgres = postgres
        cluster = postgres.folder / "cluster"
        owner = cluster.stat()
        # Root starts PostgreSQL as another user, which writes beside its folder.
        self._owner = pwd.getpwuid(owner.st_uid).pw_name if os.geteuid() == 0 else None
        os.chown(postgres.folder, owner.st_uid, owner.st_gid)
        folder = self._folder = postgres.folder
        # The package gives them as options, which are not in its files.
        postgres.execute("ALTER SYSTEM SET listen_addresses = ''")
        postgres.execute(f"ALTER SYSTEM SET unix_socket_directories = '{cluster}'")
        self._env = {
            "PGDATA": f"{cluster}",
            "PGHOST": f"{cluster}",
            "PGUSER": "postgres",
            "ARCHIVE": f"{folder / 'archive'}",
            "BASE": f"{folder / 'base'}",
        }

    def run(self, block: str, **env: str) -> None:
        """Run the documented lines as the owner of the server."""
        run_lines(block, self._folder, self._env | env, user=self._owner)

    def back_up(self) -> None:
        """Take a base backup, without the lock of a socket that this server has in its folder."""
        self.run("base-backup")
        (self._folder / "base" / ".s.PGSQL.5432.lock").unlink()

    def now(self) -> str:
        """Return the time of the server."""
        [(time,)] = self.postgres.execute("SELECT clock_timestamp()::text")
        return str(time)

    def stop(self) -> None:
        """Stop the server; it archives its log first."""
        run_shell('pg_ctl -w -D "$PGDATA" stop', self._folder, self._env, user=self._owner)


@contextmanager
def archived_server(folder: Path) -> Iterator[ArchivedServer]:
    """Start a server of its own, with an archive."""
    with folder_in_memory(folder) as place, Postgres(place, is_durable=True) as postgres:
        server = ArchivedServer(postgres)
        server.run("archive-log")
        yield server


def remove_delete_markers(bucket: Any) -> None:  # noqa: ANN401 - boto3 has no types
    """Do what the documented lines of `aws` do."""
    for page in bucket.meta.client.get_paginator("list_object_versions").paginate(
        Bucket=bucket.name, Prefix="blobs/"
    ):
        for marker in page.get("DeleteMarkers", ()):
            if marker["IsLatest"]:
                bucket.Object(marker["Key"]).Version(marker["VersionId"]).delete()


def versioned_bucket(state: ServerState) -> Any:  # noqa: ANN401 - boto3 has no types
    """Return the bucket of some stores, which keeps versions from now on."""
    bucket = boto3.resource(
        "s3",
        endpoint_url=state.env["PAGEFAULT_BLOBS__S3_ENDPOINT"],
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_ACCESS_KEY,
    ).Bucket(state.env["PAGEFAULT_BLOBS__URL"].removeprefix("s3://"))
    bucket.Versioning().enable()
    return bucket


@pytest.mark.promise(
    "durability.md#changes-of-the-service",
    (
        "A database with archived log and a bucket with versions are restored to a moment before "
        "a deletion (the test removes the delete markers itself, without `aws`)"
    ),
    kept_by="docs/operations.md",
    tried="a deleted session with its files, and later writes",
)
@pytest.mark.engines("server")
def test_stores_are_restored_to_a_moment_before_a_deletion(
    backends: Backends, pagefault: LoadedCommand, tmp_path: Path
) -> None:
    with archived_server(tmp_path) as server:
        state = ServerState(Backends(lambda: server.postgres, lambda: backends.object_store))
        bucket = versioned_bucket(state)
        with PagefaultProcess(tmp_path / "data", env=state.env) as process:
            with process.client() as client:
                written = [write(client, number) for number in range(BEFORE)]
                server.back_up()
                written += [write(client, BEFORE + number) for number in range(BEFORE)]
                target = server.now()
                client.delete("/api/sessions/s").raise_for_status()
                later = [write(client, 100 + number)[0] for number in range(AFTER)]
            process.stop()
        assert pagefault.run("gc", "--grace", "0", env=state.env).returncode == 0
        server.stop()
        server.run("restore-to-time", TARGET_TIME=target)
        remove_delete_markers(bucket)
        checked = pagefault.run("fsck", env=state.env)
        assert checked.returncode == 0, checked.stdout
        with (
            PagefaultProcess(tmp_path / "data", env=state.env) as process,
            process.client() as client,
        ):
            assert [
                (record, client.get(record).content, content, client.get(content).content)
                for record, _, content, _ in written
            ] == written
            assert {client.get(record).status_code for record in later} == {404}
            write(client, 200)
