"""The outline of a session: what each entry of its history is, for whoever draws it.

It is made from the entries when it is read, by what reads them for renderings, so calls and answers
are known in every dialect.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from app.models.identity import ListName, encode_cursor
from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.session import ANSWER, INTERACTION, MESSAGE, PAGE_FAULT, TOOL_RESULT, EntryKind
from app.models.stored_interaction import StoredAnswer, StoredInteraction
from app.services.memory_budget.responses import ResponseBudget
from app.services.renders.loaded_sessions import LoadedSession, entry_size_bytes, referred
from app.services.renders.queries import RenderQuery
from app.services.renders.turn_cache import TurnCache
from app.services.renders.working_sets import WorkingSets
from app.services.requests.validation import require_found
from app.services.sessions.list_positions import read_start
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.lists import list_page
from app.wire.outlines import OutlinedCall, OutlineEntry
from app.wire.shape import moment
from app.wire.working_sets import StepLevel
from app.words.entry_texts import first_line
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    MediumSource,
    Omission,
    ProviderBlock,
    StoredBytes,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.pages.sizes import image_tokens, text_tokens

_CURSOR: ListName = "outline"
_MOST_READ_BYTES = 4 * 1024 * 1024
"""A stretch ends with the entry that passes this."""
_FREE_BYTES = 64 * 1024
_COPIES = 4
"""How often entries are in memory: the rows, their values, the turns made of them."""
_HEX_DIGITS = 32
"""Of a fingerprint."""
# What the message of a page fault says first; see `pagefault_dialects.turns.page_turns`.
_FAULTED = re.compile(r"Page (\S+) \((\w+), ")


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Outlines the sessions of a project."""

    records: Records
    """Where histories are."""
    room: ResponseBudget
    """The memory of answers."""
    working_sets: WorkingSets
    """The levels at which a model has entries."""

    async def list(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
        query: RenderQuery | None = None,
    ) -> tuple[bytes, str | None]:
        """Return the outline of up to `limit` entries as JSON, and the cursor of what follows.

        Args:
            project_id: Whose session it is.
            session_id: The session.
            cursor: The cursor of the list before.
            after_seq: Behind which number it begins; without one, at the beginning.
            limit: How many entries at most. Fewer come where they are large.
            query: The rendering whose levels the entries have, if these are asked for.

        Raises:
            InvalidCursorError: The cursor is none of ours.
            InvalidPayloadError: A cursor and a number were given.
            NotFoundError: The project has no such session.
            OverloadedError: There is no memory for it; nothing was read.
        """
        start = read_start(_CURSOR, "An outline", cursor, after_seq)
        find = partial(_found, session_id=session_id, after_seq=start, limit=limit)
        found, size_bytes, next_cursor = await self.records.read(project_id, find)
        if not found:
            return list_page((), None), None
        levels: Mapping[int, StepLevel] = {}
        if query is not None:
            levels = await self.working_sets.step_levels(project_id, session_id, query)

        def read(unit: UnitOfWork) -> LoadedSession:
            # A history only grows, so it is the same as when it was looked at.
            known = TurnCache(most_bytes=0)
            entries = unit[SessionHistory].entries(session_id, after_seq=start, limit=found)
            resources = unit[ResourceRecords].find_in_session(referred(entries, known), session_id)
            return LoadedSession(session_id, entries, resources, {}, known)

        if size_bytes <= _FREE_BYTES:
            body = _outlined(await self.records.read(project_id, read), next_cursor, levels)
        else:
            held = await self.room.hold(_COPIES * size_bytes)
            try:
                loaded = await self.records.read(project_id, read)
                body = await anyio.to_thread.run_sync(_outlined, loaded, next_cursor, levels)
            finally:
                held.release()
        return body, next_cursor


def _found(
    unit: UnitOfWork, *, session_id: str, after_seq: int, limit: int
) -> tuple[int, int, str | None]:
    """Return how many entries are to be read, their bytes, and where the history goes on."""
    head = require_found(unit[SessionHistory].history_head(session_id), "session")
    found = unit[SessionHistory].stretch(
        session_id, after_seq=after_seq, limit=limit, most_bytes=_MOST_READ_BYTES
    )
    last_seq = found.rows[-1].seq if found.rows else head.last_seq
    more = last_seq < head.last_seq and unit[SessionHistory].has_entries(
        session_id, after_seq=last_seq
    )
    next_cursor = encode_cursor(_CURSOR, last_seq) if more else None
    return len(found.rows), found.size_bytes, next_cursor


def _outlined(
    loaded: LoadedSession, next_cursor: str | None, levels: Mapping[int, StepLevel]
) -> bytes:
    lines = (
        outline_entry(
            entry, loaded.turns_of(entry, "assistant"), step_level=levels.get(entry.seq)
        ).encode()
        for entry in loaded.entries
    )
    return list_page(lines, next_cursor)


def outline_entry(
    entry: StoredEntry, turns: Sequence[ComposedTurn], *, step_level: StepLevel | None = None
) -> OutlineEntry:
    """Return what an entry is, from the turns that it says."""
    kind = _kind(entry)
    items = [item for turn in turns for item in turn.items]
    media = Counter[str](item.kind for item in items if isinstance(item, Medium))
    name = entry.tool_name if isinstance(entry, StoredMessage) else None
    if kind == PAGE_FAULT and (faulted := _FAULTED.match(_title(items) or "")):
        name, modality = faulted.groups()
        # The text names a recording, since models take none in messages.
        media[modality] += modality in ("audio", "video") and not media[modality]
    return OutlineEntry(
        seq=entry.seq,
        entry=kind,
        created_at=moment(entry.created_at),
        role=turns[-1].role if turns else "user",
        name=name,
        title=_title(items),
        calls=tuple(
            OutlinedCall(id=call.call_id, name=call.name) for turn in turns for call in turn.calls
        ),
        answers=tuple(turn.call_id for turn in turns if turn.role == "tool" and turn.call_id),
        failed=any(turn.is_error for turn in turns),
        images=media["image"],
        audios=media["audio"],
        videos=media["video"],
        files=media["binary"] + media["text"],
        bytes=entry_size_bytes(entry),
        tokens_est=sum(map(_tokens, items))
        + sum(text_tokens(json_text(call.arguments)) for turn in turns for call in turn.calls),
        fingerprint=fingerprint_of(turns),
        step_level=step_level,
    )


def _kind(entry: StoredEntry) -> EntryKind:
    match entry:
        case StoredMessage():
            return TOOL_RESULT
        case StoredHistoryMessage():
            return PAGE_FAULT if entry.is_page_fault else MESSAGE
        case StoredInteraction():
            return INTERACTION
        case StoredAnswer():
            return ANSWER


def _title(items: Sequence[Item]) -> str | None:
    """Return the first line that says something."""
    return next((line for item in items if (line := first_line(_words(item)))), None)


def _words(item: Item) -> str:
    """Return what an item says in words."""
    if isinstance(item, TextItem):
        return item.text
    return (item.before or "") if isinstance(item, Medium) else ""


def _tokens(item: Item) -> int:
    words = text_tokens(_words(item))
    match item:
        case DataItem():
            return text_tokens(json_text(item.value))
        case Medium() if item.kind == "image":
            return words + image_tokens(item.hints.width, item.hints.height)
        case _:
            return words


def fingerprint_of(turns: Sequence[ComposedTurn]) -> str:
    """Return the fingerprint of an entry: equal where two entries say the same.

    It is taken from turns, so who wrote them and when, ids of calls and the dialect are no part of
    it.
    """
    digest = hashlib.sha256()
    for turn in turns:
        digest.update(_framed("turn", turn.role, turn.tool_name, "failed" if turn.is_error else ""))
        for item in turn.items:
            digest.update(_framed(*_said(item)))
        for call in turn.calls:
            digest.update(_framed("call", call.name, json_text(call.arguments)))
        if turn.structured is not None:
            digest.update(_framed("structured", json_text(turn.structured[0])))
    return digest.hexdigest()[:_HEX_DIGITS]


def _framed(*parts: str) -> bytes:
    """Return parts as bytes that no other parts give."""
    # A text of a model may have half of a surrogate pair.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = " ".join(str(len(part)) for part in encoded)
    return b"".join([f"{lengths}\n".encode(), *encoded])


def _said(item: Item) -> tuple[str, ...]:
    """Return what an item says, without where it stands."""
    match item:
        case TextItem():
            return ("text", item.text)
        case DataItem():
            return ("data", json_text(item.value))
        case Medium():
            source = _source(item.source)
            return (item.kind, item.mime_type, item.filename or "", item.before or "", source)
        case Omission():
            return ("left out", item.what, item.code)
        case SyntheticNote():
            return ("invented", item.what)
        case ProviderBlock():
            return ("block", item.what, json_text(dict(item.forms)))


def _source(source: MediumSource) -> str:
    match source:
        case StoredBytes():
            return source.digest
        case InlineBytes():
            return hashlib.sha256(source.data).hexdigest()
        case Address():
            return source.url
