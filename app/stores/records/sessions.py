"""Sessions, and what they use of the resource store."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, bindparam, case, func
from sqlalchemy.sql.dml import ReturningUpdate

from app.models.identity import new_id
from app.models.message import (
    ANSWER,
    INTERACTION,
    MESSAGE,
    PAGE_FAULT,
    TOOL_RESULT,
    EntryCounts,
    EntryKind,
    ReleasedResource,
    ResourceUser,
    Session,
    SessionUse,
)
from app.models.resource import Resource, ResourceKind
from app.stores.records.columns import newest_first
from app.stores.records.derived_images import DerivedImageRecords
from app.stores.records.history import FIND_SESSION, NewRow, SessionHistory
from app.stores.records.prepared_statements import Offered, touch
from app.stores.records.resources import stored_resource
from app.stores.records.scope import (
    AnyTable,
    ProjectScope,
    read_row,
    scoped_update,
    values_of,
    with_inserts,
)
from app.stores.records.tables import (
    ended_sessions,
    history_entries,
    interactions,
    messages,
    pages,
    resource_links,
    resources,
    sessions,
    tool_results,
)

_NUMBER = (
    scoped_update(sessions)
    .where(sessions.c.session_id == bindparam("in_session"))
    .values(last_seq=sessions.c.last_seq + bindparam("count"))
    .returning(sessions.c.last_seq)
)
_KINDS: Sequence[EntryKind] = (TOOL_RESULT, PAGE_FAULT, MESSAGE, INTERACTION, ANSWER)
# The columns that hold the fields of `EntryCounts`, in their order.
_COUNTS = [f"{kind}_count" for kind in _KINDS]
_APPEND = {
    kind: _NUMBER.values({count: sessions.c[count] + bindparam("count")})
    for kind, count in zip(_KINDS, _COUNTS, strict=True)
}


@cache
def _appending(kind: EntryKind, *rows: tuple[AnyTable, tuple[str, ...]]) -> Select[Any]:
    """Take the next number of a session, and insert rows that have it. PostgreSQL only."""
    numbered = _APPEND[kind].cte("numbered")
    inserts = []
    for table, names in rows:
        values = {name: bindparam(_of(table, name), type_=table.c[name].type) for name in names}
        inserts.append((table, {**values, "seq": numbered.c.last_seq}))
    return with_inserts(numbered, inserts)


def _of(table: AnyTable, name: str) -> str:
    return f"{table.name}_{name}"


class SessionRecords(SessionHistory):
    """The sessions of one project, and what happened in them."""

    def enter(self, session_id: str, now: datetime) -> Session:
        """Create the session or find it, and hold its row until the transaction ends.

        Writers of one session pass here one after the other, so what a writer reads next about
        the session cannot change under it.
        """
        row = self._scope.insert_or_merge(
            sessions,
            touch("updated_at"),
            session_id=session_id,
            created_at=now,
            updated_at=now,
            last_seq=0,
            incarnation=new_id(),
        )
        return _session(row)

    def add(self, session: Session) -> bool:
        """Store a session as it is, unless there is one; says whether it was stored."""
        values = values_of(session, incarnation=new_id())
        del values["counts"]
        counts = zip(_COUNTS, values_of(session.counts).values(), strict=True)
        return self._scope.insert_if_absent(sessions, **values, **dict(counts))

    def append(
        self,
        session_id: str,
        kind: EntryKind,
        entry_id: str,
        *,
        size_bytes: int = 0,
        row: NewRow | None = None,
    ) -> int:
        """Add an entry to the history; returns the `seq` it took: 1, 2, 3 …, without gaps.

        Writes that the history does not show take numbers among these (see `number`).
        `size_bytes` is that of what the entry shows, and `row` is that, if it is to be stored with
        the entry and to have its `seq`.

        The number is taken inside the transaction, from a row this transaction holds: a rollback
        gives it back, and nobody sees a later one before it.
        """
        entry = {"session_id": session_id, "kind": kind, "entry_id": entry_id}
        rows = [NewRow(history_entries, {**entry, "size_bytes": size_bytes})]
        rows += [row] if row else []
        if self._scope.is_postgresql:
            # In one statement, since each waits for its answer.
            statement = _appending(kind, *((each.table, tuple(each.values)) for each in rows))
            values = {
                _of(each.table, name): value for each in rows for name, value in each.values.items()
            }
            return self._take(statement, session_id, 1, **values)
        seq = self._take(_APPEND[kind], session_id, 1)
        for each in rows:
            self._scope.insert(each.table, **{**each.values, "seq": seq})
        return seq

    def number(self, session_id: str, *, count: int = 1) -> int:
        """Take the next numbers of a session for writes that its history does not show.

        Returns:
            The first of them; the others follow. They are taken as `append` takes them.
        """
        return self._take(_NUMBER, session_id, count) - count + 1

    def _take(
        self,
        statement: ReturningUpdate[Any] | Select[Any],
        session_id: str,
        count: int,
        **values: object,
    ) -> int:
        """Take the next numbers of a session that was entered; returns the last of them."""
        row = self._scope.change(statement, in_session=session_id, count=count, **values)
        if row is None:
            raise RuntimeError("a session is entered before anything is appended to it")
        return int(row.last_seq)

    def find(self, session_id: str) -> Session | None:
        """Return the session, if anything was ever written to it."""
        rows = self._scope.look_up(FIND_SESSION, session_id=session_id)
        return _session(rows[0]) if rows else None

    def hold(self, session_id: str) -> Session | None:
        """Return the session, its row held until the transaction ends, so nobody writes to it."""
        row = self._scope.first(
            self._scope.select(sessions, sessions.c.session_id == session_id).with_for_update()
        )
        return _session(row) if row else None

    def page(
        self, *, wanted: str | None, before: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Session]:
        """Return up to `limit` sessions, last written first, behind an (updated_at, id) position.

        Only those whose id has `wanted` in it, in either case, if it is given.
        """
        statement = self._scope.select(sessions)
        if wanted is not None:
            if "\0" in wanted or not wanted.isascii():
                # No id has it. PostgreSQL would refuse the one and find letters by the other (the
                # Kelvin sign is a K to it), SQLite would find everything by the one.
                return []
            statement = statement.where(sessions.c.session_id.icontains(wanted, autoescape=True))
        moment, identity = sessions.c.updated_at, sessions.c.session_id
        listed = newest_first(statement, moment, identity, before=before, limit=limit)
        return [_session(row) for row in self._scope.all(listed)]

    def last_ended(self, session_id: str) -> int:
        """Return the highest `seq` a deleted session of this name took, 0 if there was none."""
        row = self._scope.first(
            self._scope.select(ended_sessions, ended_sessions.c.session_id == session_id)
        )
        return row.last_seq if row else 0

    def remove(self, session_id: str) -> None:
        """Remove a session the caller holds, with its history and everything the history shows.

        Its pages and its links to resources are for the caller to remove before. The numbers it
        has taken are remembered, with that of its deletion: see `last_ended`.
        """
        session = self.find(session_id)
        if session is not None:
            self._scope.insert_or_merge(
                ended_sessions, _highest, session_id=session_id, last_seq=session.last_seq + 1
            )
        for table in (history_entries, tool_results, messages, interactions, sessions):
            self._scope.remove(table, table.c.session_id == session_id)


def _highest(offered: Offered) -> dict[str, ColumnElement[Any]]:
    known = ended_sessions.c.last_seq
    return {"last_seq": case((known > offered.last_seq, known), else_=offered.last_seq)}


def _session(row: Row[Any]) -> Session:
    return read_row(Session, row, counts=EntryCounts(*(getattr(row, name) for name in _COUNTS)))


_IDS_AT_ONCE = 1_000


class SessionResourceRecords:
    """The resources of one project's sessions."""

    def __init__(self, scope: ProjectScope, derived_images: DerivedImageRecords) -> None:
        self._scope = scope
        self._derived_images = derived_images

    def use_of(self, session_ids: Collection[str]) -> dict[str, SessionUse]:
        """Return what each of these sessions, at most 1,000, takes of the store."""
        paged = self._scope.all(
            self._scope.select(pages)
            .with_only_columns(pages.c.session_id, func.count().label("pages"))
            .where(pages.c.session_id.in_(session_ids))
            .group_by(pages.c.session_id)
        )
        counts = {row.session_id: int(row.pages) for row in paged}
        used = {
            row.session_id: (int(row.resources), int(row.referenced), int(row.inline))
            for row in self._scope.all(self._used(session_ids))
        }
        return {each: SessionUse(counts.get(each, 0), *used.get(each, ())) for each in session_ids}

    def all_of(self, session_id: str) -> Sequence[Resource]:
        """Return every resource that something of a session refers to, in order of their id."""
        statement = (
            self._linked([session_id])
            .with_only_columns(*resources.c)
            .distinct()
            .order_by(resources.c.resource_id)
        )
        return [stored_resource(row) for row in self._scope.all(statement)]

    def newest(
        self, session_id: str, *, kind: ResourceKind | None, limit: int
    ) -> Sequence[Resource]:
        """Return up to `limit` resources that something of a session refers to, newest first."""
        statement = self._linked([session_id]).with_only_columns(*resources.c).distinct()
        if kind is not None:
            statement = statement.where(resources.c.kind == kind)
        newest = statement.order_by(resources.c.created_at.desc(), resources.c.resource_id.desc())
        return [stored_resource(row) for row in self._scope.all(newest.limit(limit))]

    def release(self, session_id: str) -> list[ReleasedResource]:
        """Drop a session's links, and the resources that nothing else uses, in order of their id.

        What was derived from these goes with them. Their rows are held until the transaction ends.
        The blobs stay, as garbage.
        """
        used = self.all_of(session_id)
        held = self._derived_images.hold_sources(used)
        released = []
        for start in range(0, len(used), _IDS_AT_ONCE):
            batch = used[start : start + _IDS_AT_ONCE]
            released += self._release(session_id, batch, held)
        self._derived_images.remove_sourceless({each.digest for each in used})
        return released

    def _release(
        self, session_id: str, batch: Sequence[Resource], held: Collection[str]
    ) -> list[ReleasedResource]:
        ids = [resource.resource_id for resource in batch]
        self._scope.remove(
            resource_links,
            resource_links.c.session_id == session_id,
            resource_links.c.resource_id.in_(ids),
        )
        users = self._users(ids)
        # Of one that was removed and stored anew meanwhile, somebody else holds the row.
        unused = [each for each in ids if each in held and each not in users]
        self._scope.remove(resources, resources.c.resource_id.in_(unused))
        return [
            ReleasedResource(
                each.resource_id, each.size_bytes, tuple(users.get(each.resource_id, ()))
            )
            for each in batch
        ]

    def _users(self, ids: Collection[str]) -> dict[str, list[ResourceUser]]:
        links = resource_links.c
        rows = self._scope.all(
            self._scope.select(resource_links)
            .with_only_columns(
                links.resource_id,
                links.owner_kind,
                func.count().label("owners"),
                func.min(links.owner_id).label("example_id"),
            )
            .where(links.resource_id.in_(ids))
            .group_by(links.resource_id, links.owner_kind)
            .order_by(links.resource_id, links.owner_kind)
        )
        users: dict[str, list[ResourceUser]] = {}
        for row in rows:
            user = ResourceUser(row.owner_kind, row.owners, row.example_id)
            users.setdefault(row.resource_id, []).append(user)
        return users

    def _linked(self, session_ids: Collection[str]) -> Select[Any]:
        """Select links of sessions, with the resources they lead to."""
        return (
            self._scope.select(resource_links)
            .join_from(resource_links, resources)
            .where(resource_links.c.session_id.in_(session_ids))
        )

    def _used(self, session_ids: Collection[str]) -> Select[Any]:
        """Select sums over links of sessions, which are walked along once: there may be many."""
        links = resource_links.c
        # Base64 makes four characters of three bytes, and every record would have a copy.
        inline = func.sum((resources.c.size_bytes + 2) // 3 * 4).label("inline")
        blobs = (
            self._linked(session_ids)
            .with_only_columns(
                links.session_id,
                resources.c.digest,
                func.max(resources.c.size_bytes).label("size_bytes"),
                func.count(links.resource_id.distinct()).label("resources"),
                inline,
            )
            .group_by(links.session_id, resources.c.digest)
            .subquery()
        )
        return self._scope.select_from(
            blobs,
            blobs.c.session_id,
            func.sum(blobs.c.resources).label("resources"),
            func.sum(blobs.c.size_bytes).label("referenced"),
            func.sum(blobs.c.inline).label("inline"),
        ).group_by(blobs.c.session_id)
