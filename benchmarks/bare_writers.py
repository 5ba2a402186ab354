"""Baseline of a small tool result: its rows written by a bare driver, commit by commit.

The rows are those that the service writes, and as large; what is left out is everything that is
read, checked, parsed and answered. SQLite has one writer at a time, so it has one here.
"""

import sqlite3
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Protocol

import psycopg

from app.models.identity import new_id
from benchmarks.machine import SERVER, on_cores

PROJECT = "bench"
_BYTES = b"x" * 2_500
_SESSION = (
    "INSERT INTO sessions (project_id, session_id, created_at, updated_at, last_seq, "
    "tool_result_count) VALUES (?, ?, 1, 1, 1, 1) ON CONFLICT (project_id, session_id) DO UPDATE "
    "SET last_seq = sessions.last_seq + 1, tool_result_count = sessions.tool_result_count + 1 "
    "RETURNING last_seq"
)
_ENTRY = (
    "INSERT INTO history_entries (project_id, session_id, seq, kind, entry_id, size_bytes) "
    "VALUES (?, ?, ?, 'tool_result', ?, 2500)"
)
_RESULT = (
    "INSERT INTO tool_results (project_id, session_id, seq, tool_result_id, tool_name, "
    "tool_call_id, success, request_digest, created_at, sanitized) "
    "VALUES (?, ?, ?, ?, 'look', ?, true, ?, 1, ?)"
)
_NUMBER = (
    "UPDATE projects SET last_event = last_event + 1 WHERE project_id = ? RETURNING last_event"
)
_EVENT = (
    "INSERT INTO events (project_id, number, type, subject_id, session_id, seq, created_at, "
    "size_bytes, members) VALUES (?, ?, 'llmservice:toolResult', ?, ?, ?, 1, 2500, ?)"
)


class Writer(Protocol):
    """A client that writes results to a session, one after the other."""

    def write(self) -> None:
        """Write one, which is on the disk when this returns."""


class SqliteWriter:
    """A connection to a file that the service has made.

    Args:
        path: The file.
        factory: Makes the connection.
    """

    def __init__(
        self, path: Path, *, factory: type[sqlite3.Connection] = sqlite3.Connection
    ) -> None:
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=factory
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(
            "INSERT INTO projects (project_id, created_at) VALUES (?, 1)", (PROJECT,)
        )

    def write(self) -> None:
        """See Writer.write."""
        run = self._connection.execute
        call = new_id()
        run("BEGIN IMMEDIATE")
        ((seq,),) = run(_SESSION, (PROJECT, "s")).fetchall()
        run(_ENTRY, (PROJECT, "s", seq, call))
        run(_RESULT, (PROJECT, "s", seq, call, call, "0" * 64, _BYTES))
        ((number,),) = run(_NUMBER, (PROJECT,)).fetchall()
        run(_EVENT, (PROJECT, number, call, "s", seq, b"{}"))
        run("COMMIT")


class PostgresWriter:
    """A connection to a database that is migrated, with a session of its own."""

    _sessions = count()

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=2)
        self._session = f"s{next(self._sessions)}"
        self._connection.execute(
            "INSERT INTO projects (project_id, created_at) VALUES (%s, 1) ON CONFLICT DO NOTHING",
            (PROJECT,),
        )

    def write(self) -> None:
        """See Writer.write."""
        session, call = self._session, new_id()
        with self._connection.transaction():
            seq = self._run(_SESSION, PROJECT, session)
            self._run(_ENTRY, PROJECT, session, seq, call)
            self._run(_RESULT, PROJECT, session, seq, call, call, "0" * 64, _BYTES)
            number = self._run(_NUMBER, PROJECT)
            self._run(_EVENT, PROJECT, number, call, session, seq, b"{}")

    def _run(self, statement: str, *values: object) -> object:
        done = self._connection.execute(statement.replace("?", "%s").encode(), values)
        row = done.fetchone() if done.description else None
        return row[0] if row else None


def rate_of(writers: Sequence[Writer], seconds: float) -> float:
    """Results a second that they write together, each in a thread on the core for servers."""
    over_at = time.perf_counter() + seconds
    written = [0] * len(writers)

    def work(index: int) -> None:
        with on_cores(SERVER):
            while time.perf_counter() < over_at:
                writers[index].write()
                written[index] += 1

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(writers))]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(written) / (time.perf_counter() - began)
