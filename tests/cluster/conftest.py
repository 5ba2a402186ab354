"""A PostgreSQL for the cluster alone, and clusters over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e.stored_state import ServerState
from tests.kit.pgbouncer import PgBouncer
from tests.kit.servers import Backends, Postgres

# Those of docs/deployment.md.
SETTINGS = {"default_pool_size": "6", "query_wait_timeout": "10", "server_login_retry": "1"}


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A server with durable commits."""
    with Postgres(tmp_path_factory.mktemp("cluster"), is_durable=True) as postgres:
        yield postgres


@pytest.fixture
def env(backends: Backends, postgres: Postgres) -> dict[str, str]:
    """Settings of a new database of the server, and of a bucket."""
    return ServerState(Backends(lambda: postgres, lambda: backends.object_store)).env


@pytest.fixture
def bouncer(postgres: Postgres) -> Iterator[PgBouncer]:
    """PgBouncer before the server, in transaction mode."""
    with PgBouncer(postgres, SETTINGS) as bouncer:
        yield bouncer


@pytest.fixture
def pooled_cluster(tmp_path: Path, env: dict[str, str], bouncer: PgBouncer) -> Iterator[Cluster]:
    """A cluster behind nginx and PgBouncer, whose notifications do not pass PgBouncer."""
    url = env["PAGEFAULT_DB__URL"]
    database = url.partition("?")[0].rpartition("/")[2]
    settings = {"PAGEFAULT_DB__URL": bouncer.url(database), "PAGEFAULT_DB__LISTEN_URL": url}
    with Cluster(tmp_path, env | settings) as cluster:
        yield cluster
