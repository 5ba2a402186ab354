"""Faults of a cluster behind nginx and PgBouncer, under load, one after the other.

After each: nothing that was acknowledged is lost, no history and no log of events has a gap, and
listeners have heard everything once and in order.
"""

import pytest

from tests.cluster.cluster import Cluster
from tests.kit.pgbouncer import PgBouncer
from tests.kit.servers import Postgres

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(240)]


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#the-process-dies",
    "A process of a cluster behind nginx and PgBouncer that is killed under load loses nothing",
    kept_by="app/services/tool_results/tool_results.py",
    tried="2 kills, 4 writers, 2 listeners",
)
def test_processes_that_are_killed_lose_nothing(pooled_cluster: Cluster) -> None:
    with pooled_cluster.load() as load:
        for index in range(2):
            pooled_cluster.kill(index)
            load.wait_for_more()


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A database behind PgBouncer that is restarted under load loses nothing",
    kept_by="app/stores/records/engine.py",
    tried="a crash, 4 writers, 2 listeners",
)
def test_database_that_crashes_and_starts_again_loses_nothing(
    pooled_cluster: Cluster, postgres: Postgres
) -> None:
    with pooled_cluster.load() as load:
        postgres.crash()
        postgres.start_again()
        load.wait_for_more()


@pytest.mark.slow
@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "Connections to the database that are ended by the pooler or the server lose nothing",
    kept_by="app/stores/records/engine.py",
    tried="all connections twice, 4 writers, 2 listeners",
)
def test_connections_that_expire_lose_nothing(
    pooled_cluster: Cluster, postgres: Postgres, bouncer: PgBouncer
) -> None:
    with pooled_cluster.load() as load:
        postgres.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        load.wait_for_more()
        bouncer.kill()
        bouncer.start()
        load.wait_for_more()
