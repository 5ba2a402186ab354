"""A store with as many records as one likes: the service writes one of each kind, SQL the others.

What the service has written in one project is copied into another, under other ids, far faster than
anybody could send it. Of `count` tool results half are in one long session and the others in
sessions of 50, each with a history entry and an event. There are as many resources, each linked to
a result, and as many pages, a hundred to a session, every tenth of another kind and pinned.

    word of a page   pages that have it
    rareword<n>      10, in a store of any size
    someword<n>      200, in a store of any size
    everyword        all
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from sqlalchemy import Table

from app.config.settings import Settings
from app.features import open_services
from app.services.access.callers import Access
from app.services.pages.pages import Pages
from app.services.tool_results.tool_results import ToolResults
from app.stores.records.records import Records
from app.stores.records.tables import (
    events,
    history_entries,
    page_numbers,
    pages,
    resource_links,
    resources,
    sessions,
    tool_results,
)
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import MARK
from app.stores.records.word_indexes import choose_page_index
from app.wiring.services import Services
from tests.kit.media import png

PROJECT = "growth"
LONG = "long"
IN_SHORT_SESSION = 50
PAGES_IN_SESSION = 100
PAGES_WITH_RARE_WORD, PAGES_WITH_SOME_WORD = 10, 200
_TEMPLATE = "template"
_Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_MODALITIES = ("text", "structured")
# Which of the two kinds of pages the copy with the number `i` is of.
_IS_SECOND = "(i % 10 = 0)"
_SHORT = f"'s' || (i / 2 / {IN_SHORT_SESSION})"
_SESSION = f"CASE WHEN i % 2 = 0 THEN '{LONG}' ELSE {_SHORT} END"
_SEQ = f"CASE WHEN i % 2 = 0 THEN i / 2 + 1 ELSE i / 2 % {IN_SHORT_SESSION} + 1 END"
_FILLING = "".join(
    f" || ' filler' || ((i * 31 + {7_919 * number}) % 20000)" for number in range(25)
)


async def body(value: object) -> AsyncIterator[bytes]:
    """A value as the body of a request."""
    yield json.dumps(value).encode()


def tool_result_id(number: int) -> str:
    """The id of a tool result; numbers begin with 0."""
    return f"01900000-0000-7000-8000-{number:012x}"


def resource_id(number: int) -> str:
    """The id of a resource."""
    return hashlib.md5(f"r{number}".encode(), usedforsecurity=False).hexdigest()


def page_id(number: int) -> str:
    """The id of a page."""
    return f"page-{number}"


async def fill(settings: Settings, count: int) -> None:
    """Make a store with so many records of each kind, a multiple of 1,000, in `PROJECT`."""
    async with open_services(settings) as services:
        for project_id in (_TEMPLATE, PROJECT):
            await services[Access].ensure_project(project_id)
        await _write_templates(services)
        marks = await services[Records].read(PROJECT, lambda unit: _Marks.of(unit, count))
    if settings.db.url is None:
        _fill_sqlite(settings, count, marks)
    else:
        _fill_postgresql(settings.db.url.get_secret_value(), count, marks)


async def _write_templates(services: Services) -> None:
    """One record of each kind, two of the pages."""
    image = base64.b64encode(png(64, 64, noise=True)).decode()
    result = {
        "toolName": "look",
        "toolCallId": "call",
        "sessionId": _TEMPLATE,
        "result": {
            "content": [
                {"type": "text", "text": "What the tool has found. " * 8},
                {"type": "image", "data": image, "mimeType": "image/png"},
            ]
        },
    }
    await services[ToolResults].ingest(_TEMPLATE, body(result), idempotency_key=None)
    for modality, content in zip(_MODALITIES, ("A page of text. " * 8, {"a": 1}), strict=True):
        page = {
            "session_id": _TEMPLATE,
            "modality": modality,
            "hint": "What it is about",
            "pinned": modality != "text",
            "content": content,
        }
        await services[Pages].put(
            _TEMPLATE, f"{_TEMPLATE}-{modality}", body(page), condition=lambda _: None
        )


@dataclass(frozen=True, slots=True)
class _Marks:
    """The terms of projects, modalities and sessions in the index of pages."""

    project: str
    modalities: tuple[str, ...]
    sessions: Mapping[str, str]

    @classmethod
    def of(cls, unit: UnitOfWork, count: int) -> "_Marks":
        """Those of a store with so many pages."""
        mark = choose_page_index(unit).mark
        names = [f"s{number}" for number in range(count // PAGES_IN_SESSION)]
        return cls(
            mark("project", ""),
            (mark("modality", "text"), mark("modality", "structured")),
            {name: mark("session", name) for name in names},
        )

    @property
    def modality(self) -> str:
        """As an expression."""
        return f"CASE WHEN {_IS_SECOND} THEN '{self.modalities[1]}' ELSE '{self.modalities[0]}' END"


@dataclass(frozen=True, slots=True)
class _Copies:
    """The statements that make the copies.

    Args:
        count: How many.
        first_page: The number of the first page.
        hexadecimal: An integer as twelve hexadecimal digits, for `str.format`.
        named: Bytes of a page with names in the place of the template's, likewise.
    """

    count: int
    first_page: int
    hexadecimal: str
    named: str

    def statements(self) -> Iterator[str]:
        """All but those of the index of pages."""
        result_id = f"'01900000-0000-7000-8000-' || {self.hexadecimal.format('i')}"
        later = {"project_id": f"'{PROJECT}'", "created_at": "t.created_at + i"}
        yield from self._sessions(later)
        in_session = {"session_id": _SESSION, "seq": _SEQ}
        yield self._copy(
            tool_results,
            {**later, **in_session, "tool_result_id": result_id, "tool_call_id": "'call-' || i"},
        )
        yield self._copy(history_entries, {**later, **in_session, "entry_id": result_id})
        yield self._copy(
            events,
            {**later, **in_session, "number": "i + 1", "subject_id": result_id},
            "t.type = 'llmservice:toolResult'",
        )
        yield f"UPDATE projects SET last_event = {self.count} WHERE project_id = '{PROJECT}'"  # noqa: S608
        named = {"resource_id": "md5('r' || i)"}
        yield self._copy(resources, {**later, **named, "digest": "md5('r' || i) || md5('d' || i)"})
        yield self._copy(
            resource_links, {**later, **named, "owner_id": result_id, "session_id": _SESSION}
        )
        yield self._pages(later)

    def series(self, statement: str) -> str:
        """A statement behind the numbers `i` of all copies."""
        following = f"SELECT i + 1 FROM series WHERE i + 1 < {self.count}"  # noqa: S608
        return f"WITH RECURSIVE series(i) AS (SELECT 0 UNION ALL {following}) {statement}"

    def words(self) -> str:
        """The words of a page, as an expression."""
        rare, some = (self.count // item for item in (PAGES_WITH_RARE_WORD, PAGES_WITH_SOME_WORD))
        return f"'everyword rareword' || (i % {rare}) || ' someword' || (i % {some}){_FILLING}"

    def session_of_page(self) -> str:
        """The session of a page, as an expression: pages of one stand among those of others."""
        return f"'s' || ((i * 7 + i / 10) % {self.count // PAGES_IN_SESSION})"

    def _sessions(self, later: Mapping[str, str]) -> Iterator[str]:
        half = str(self.count // 2)
        for name, entries, condition in (
            (f"'{LONG}'", half, "i = 0"),
            ("'s' || i", str(IN_SHORT_SESSION), f"i < {self.count // 2 // IN_SHORT_SESSION}"),
        ):
            changes = {"session_id": name, "last_seq": entries, "tool_result_count": entries}
            changes |= {"updated_at": "t.updated_at + i"}
            yield self._copy(sessions, {**later, **changes}, condition)

    def _pages(self, later: Mapping[str, str]) -> str:
        changes = {
            "page_number": f"{self.first_page} + i",
            "page_id": "'page-' || i",
            "session_id": self.session_of_page(),
            "descriptor": self.named.format("t.descriptor"),
        }
        return self._copy(pages, {**later, **changes}, f"t.pinned = {_IS_SECOND}")

    def _copy(self, table: Table, changes: Mapping[str, str], condition: str = "true") -> str:
        names = [column.name for column in table.c]
        values = ", ".join(changes.get(name, f"t.{name}") for name in names)
        return self.series(
            f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} FROM series "  # noqa: S608
            f"JOIN {table.name} AS t ON t.project_id = '{_TEMPLATE}' AND {condition}"
        )


def _fill_sqlite(settings: Settings, count: int, marks: _Marks) -> None:
    path = settings.data_dir / "pagefault.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.create_function("md5", 1, _md5, deterministic=True)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -1000000")
        (last,) = connection.execute("SELECT max(page_number) FROM pages").fetchone()
        copies = _Copies(
            count,
            last + 1,
            "printf('%012x', {})",
            f"CAST(replace(CAST({{}} AS text), '{_TEMPLATE}', 'page-' || i) AS blob)",
        )
        connection.execute("BEGIN IMMEDIATE")
        for statement in copies.statements():
            connection.execute(statement)
        connection.execute("CREATE TEMP TABLE marks (session_id PRIMARY KEY, mark)")
        connection.executemany("INSERT INTO marks VALUES (?, ?)", marks.sessions.items())
        connection.execute(
            copies.series(
                "INSERT INTO page_search (rowid, project_id, scope, heading, body) "  # noqa: S608
                f"SELECT {copies.first_page} + i, '{PROJECT}', "
                f"'{marks.project} ' || mark || ' ' || {marks.modality}, "
                f"' what it is about ', ' ' || {copies.words()} || ' ' "
                f"FROM series JOIN marks ON session_id = {copies.session_of_page()}"
            )
        )
        # Nothing else may be indexed during the measurement.
        connection.execute("UPDATE search_entries SET indexed = revision")
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _fill_postgresql(url: str, count: int, marks: _Marks) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        # Generated rows need no syncs and no foreign keys.
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET maintenance_work_mem = '512MB'")
        copies = _Copies(
            count,
            int(_one(connection, "SELECT max(page_number) + 1 FROM pages")),
            "lpad(to_hex({}), 12, '0')",
            f"convert_to(replace(convert_from({{}}, 'UTF8'), '{_TEMPLATE}', 'page-' || i), 'UTF8')",
        )
        for statement in copies.statements():
            connection.execute(statement.encode())
        _one(connection, f"SELECT setval('{page_numbers.name}', {copies.first_page + count})")
        connection.execute("CREATE TEMP TABLE marks (session_id text PRIMARY KEY, mark text)")
        with connection.cursor().copy("COPY marks FROM STDIN") as rows:
            for row in marks.sessions.items():
                rows.write_row(row)
        _index_postgresql(connection, copies, marks)
        # As the server itself does it within a minute.
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


def _index_postgresql(connection: _Connection, copies: _Copies, marks: _Marks) -> None:
    """Make the words of pages, and their index when all are there."""
    index = _one(connection, "SELECT pg_get_indexdef('ix_page_search_words'::regclass)")
    connection.execute("DROP INDEX ix_page_search_words")
    number = f"{copies.first_page} + i"
    found_by = f"'{marks.project}', mark, {marks.modality}, '{MARK}' || (({number}) >> 12)"
    vector = f"to_tsvector('simple', 'what it is about ' || {copies.words()})"
    page = f"{number} AS page_number, '{PROJECT}' AS project_id"
    joined = f"FROM series JOIN marks ON session_id = {copies.session_of_page()}"
    for table, values in (
        ("page_search", f"false, array_to_tsvector(ARRAY[{found_by}]) || {vector}"),
        ("page_search_texts", f"' what it is about ', ' ' || {copies.words()} || ' '"),
    ):
        statement = f"INSERT INTO {table} SELECT {page}, {values} {joined}"
        connection.execute(copies.series(statement).encode())
    connection.execute(index.encode())


def _one(connection: _Connection, query: str) -> str:
    row = connection.execute(query.encode()).fetchone()
    return str(row[0] if row else "")
