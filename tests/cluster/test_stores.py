"""Faults of the database of a cluster: a failover, connections with certificates, a full disk.

After each: nothing that was acknowledged is lost, no history and no log of events has a gap, and
listeners have heard everything once and in order.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.cluster.cluster import Cluster, free_port
from tests.cluster.conftest import SETTINGS
from tests.cluster.postgres_servers import promote, server_folder, synchronous_replica
from tests.e2e.stored_state import ServerState
from tests.faults.small_disk import SmallDisk
from tests.kit.certificates import Authority
from tests.kit.pgbouncer import PgBouncer
from tests.kit.servers import Backends, Postgres

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(240)]

DISK_BYTES = 48 * 1024 * 1024
MORE_THAN_FITS = (
    "INSERT INTO ballast SELECT repeat(gen_random_uuid()::text, 50) FROM generate_series(1, 100000)"
)


@pytest.fixture
def own_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A server that is not the same after the test."""
    with Postgres(tmp_path_factory.mktemp("own"), is_durable=True) as postgres:
        yield postgres


def database_of(env: dict[str, str]) -> str:
    """Return the name of the database in the settings."""
    return env["PAGEFAULT_DB__URL"].partition("?")[0].rpartition("/")[2]


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "If the primary database dies under load, processes continue with its synchronous replica",
    kept_by="app/stores/records/database_address.py",
    tried="a failover, 4 writers, 2 listeners, 0 lost",
)
def test_failover_to_a_synchronous_replica_loses_nothing(
    backends: Backends, own_postgres: Postgres, tmp_path: Path
) -> None:
    env = ServerState(Backends(lambda: own_postgres, lambda: backends.object_store)).env
    replica = own_postgres.folder / "replica"
    hosts = f"{server_folder(own_postgres)},{replica}"
    url = f"postgresql://postgres@/{database_of(env)}?host={hosts}"
    with (
        synchronous_replica(own_postgres, replica),
        Cluster(tmp_path, env | {"PAGEFAULT_DB__URL": url}) as cluster,
        cluster.load() as load,
    ):
        own_postgres.crash()
        promote(replica)
        load.wait_for_more()


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "Connections with a client certificate are made again when they end",
    kept_by="app/stores/records/database_address.py",
    tried="PgBouncer with `verify-full`, all connections once, 4 writers, 2 listeners, 0 lost",
)
def test_connections_with_certificates_of_both_sides_lose_nothing(
    postgres: Postgres, env: dict[str, str], tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("postgres")
    port = free_port()
    url = (
        f"postgresql://postgres@127.0.0.1:{port}/{database_of(env)}?sslmode=verify-full"
        f"&sslrootcert={authority.certificate}&sslcert={certificate}&sslkey={key}"
    )
    # PostgreSQL itself has no TLS in the package that the tests use.
    with PgBouncer(
        postgres, settings_with_tls(postgres.folder / "tls", authority, port)
    ) as bouncer:
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url.partition("&sslcert")[0])
        settings = {
            "PAGEFAULT_DB__URL": url,
            "PAGEFAULT_DB__LISTEN_URL": env["PAGEFAULT_DB__URL"],
        }
        with Cluster(tmp_path, env | settings) as cluster, cluster.load() as load:
            bouncer.kill()
            bouncer.start()
            load.wait_for_more()


def settings_with_tls(folder: Path, authority: Authority, port: int) -> dict[str, str]:
    """Return settings of PgBouncer that take only clients with a certificate, on a port.

    Their files are in a folder, which is made.
    """
    certificate, key = authority.issue("server")
    folder.mkdir()
    users = folder / "users"
    users.write_text('"postgres" ""\n')
    files = {"ca": authority.certificate, "cert": certificate, "key": key}
    copies = {name: shutil.copy(path, folder / name) for name, path in files.items()}
    for path in folder.iterdir():
        shutil.chown(path, folder.parent.joinpath("cluster").stat().st_uid)
    return {
        "listen_addr": "127.0.0.1",
        "listen_port": f"{port}",
        "auth_type": "cert",
        "auth_file": f"{users}",
        "client_tls_sslmode": "verify-full",
        **{f"client_tls_{name}_file": f"{path}" for name, path in copies.items()},
        **SETTINGS,
    }


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "If the disk of the database is full, writes of all processes are refused until there is room",
    kept_by="app/stores/records/database_errors.py",
    tried="a file system of 48 MiB, 507, 4 writers, 2 listeners, 0 lost",
)
def test_full_disk_of_the_database_loses_nothing(
    backends: Backends, own_postgres: Postgres, tmp_path: Path
) -> None:
    env = ServerState(Backends(lambda: own_postgres, lambda: backends.object_store)).env
    owner = server_folder(own_postgres).stat().st_uid
    directory = own_postgres.folder / "small"
    directory.mkdir()
    shutil.chown(directory, owner)
    user = owner if os.geteuid() == 0 else None
    with SmallDisk(directory, size_bytes=DISK_BYTES, user=user) as disk:
        own_postgres.execute(f"CREATE TABLESPACE small LOCATION '{disk.seen}'")
        own_postgres.execute(f"ALTER DATABASE {database_of(env)} SET TABLESPACE small")
        own_postgres.execute("CREATE TABLE ballast (t text) TABLESPACE small")
        with Cluster(tmp_path, env) as cluster, cluster.load() as load:
            with pytest.raises(psycopg.errors.DiskFull):
                own_postgres.execute(MORE_THAN_FITS)
            load.wait_for_status(507)
            own_postgres.execute("DROP TABLE ballast")
            load.wait_for_more()
        own_postgres.execute(f"DROP DATABASE {database_of(env)} WITH (FORCE)")
        own_postgres.execute("DROP TABLESPACE small")
