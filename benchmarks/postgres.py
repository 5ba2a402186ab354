"""A PostgreSQL server with durable commits."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
import psycopg

from tests.kit.servers import Postgres

_PROMISES = ("fsync", "full_page_writes", "synchronous_commit")


@asynccontextmanager
async def durable_postgres() -> AsyncIterator[Postgres]:
    """A private cluster for the length of the block; that of the tests does without fsync."""
    with tempfile.TemporaryDirectory() as name:
        # It brings a database up to date with an event loop of its own.
        server = await anyio.to_thread.run_sync(Postgres, Path(name))
        with server, psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            for promise in _PROMISES:
                connection.execute(f"ALTER SYSTEM RESET {promise}".encode())
            connection.execute("SELECT pg_reload_conf()")
            yield server
