"""Outlines of sessions: a summary of each entry, for viewers.

An outline is made of the turns of the entries, as a rendering is, so it knows calls and answers of
every dialect.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import anyio.to_thread

from app.models.identity import ListName, encode_cursor
from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.session import ANSWER, INTERACTION, MESSAGE, PAGE_FAULT, TOOL_RESULT, EntryKind
from app.models.stored_interaction import StoredAnswer, StoredInteraction
from app.services.memory_budget.responses import ResponseBudget
from app.services.renders.loaded_sessions import (
    LoadedSession,
    entry_size_bytes,
    find_referenced_ids,
)
from app.services.renders.queries import RenderQuery
from app.services.renders.turn_cache import TurnCache
from app.services.renders.working_sets import WorkingSets
from app.services.requests.validation import require_found
from app.services.sessions.list_positions import read_start
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.outlines import OutlinedCall, OutlineEntry, StepLevel
from app.wire.shape import list_page, moment
from app.words.entry_texts import first_line
from pagefault_dialects.json.values import json_text, parse_stored_json
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    MediumSource,
    NativeMessage,
    Omission,
    ProviderBlock,
    StoredBytes,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.pages.sizes import image_tokens, text_tokens

_CURSOR: ListName = "outline"
_MAX_READ_BYTES = 4 * 1024 * 1024
"""An outline ends with the entry that reaches this size."""
_FREE_BYTES = 64 * 1024
_COPIES = 4
"""The copies of entries in memory: rows, values and turns."""
_AUTHOR = b'"author"'
_HEX_DIGITS = 32
"""The length of a fingerprint."""
# The beginning of the message of a page fault; see `pagefault_dialects.turns.page_turns`.
_FAULT_TEXT = re.compile(r"Page (\S+) \((\w+), ")


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Makes outlines of sessions."""

    records: Records
    """Reads histories."""
    memory: ResponseBudget
    """Limits the memory of responses."""
    working_sets: WorkingSets
    """Returns the levels of entries in a rendering."""

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
        """Return the outline of up to `limit` entries as JSON, and the cursor of the next ones.

        Args:
            project_id: The project of the session.
            session_id: The session.
            cursor: The cursor of the list before.
            after_seq: The `seq` before the first entry, by default 0.
            limit: The maximum number of entries. If they are large, there are fewer.
            query: A rendering whose levels the entries have.

        Raises:
            InvalidCursorError: The cursor is invalid.
            InvalidPayloadError: `cursor` and `after_seq` are both set.
            NotFoundError: The project has no such session.
            OverloadedError: There is no memory for it; nothing was read.
        """
        start = read_start(_CURSOR, "An outline", cursor, after_seq)
        find = partial(_find, session_id=session_id, after_seq=start, limit=limit)
        count, size_bytes, next_cursor = await self.records.read(project_id, find)
        if not count:
            return list_page((), None), None
        levels: Mapping[int, StepLevel] = {}
        if query is not None:
            levels = await self.working_sets.step_levels(project_id, session_id, query)

        def read(unit: UnitOfWork) -> LoadedSession:
            # Entries never change, so these are the ones that were counted.
            turn_cache = TurnCache(max_bytes=0)
            entries = unit[SessionHistory].entries(session_id, after_seq=start, limit=count)
            resources = unit[ResourceRecords].find_in_session(
                find_referenced_ids(entries, turn_cache), session_id
            )
            return LoadedSession(session_id, entries, resources, {}, turn_cache)

        if size_bytes <= _FREE_BYTES:
            body = _write_outline(await self.records.read(project_id, read), next_cursor, levels)
        else:
            reserved = await self.memory.hold(_COPIES * size_bytes)
            try:
                loaded = await self.records.read(project_id, read)
                body = await anyio.to_thread.run_sync(_write_outline, loaded, next_cursor, levels)
            finally:
                reserved.release()
        return body, next_cursor


def _find(
    unit: UnitOfWork, *, session_id: str, after_seq: int, limit: int
) -> tuple[int, int, str | None]:
    """Return the number of entries to read, their size, and the cursor of the next ones."""
    head = require_found(unit[SessionHistory].history_head(session_id), "session")
    stretch = unit[SessionHistory].stretch(
        session_id, after_seq=after_seq, limit=limit, max_bytes=_MAX_READ_BYTES
    )
    last_seq = stretch.rows[-1].seq if stretch.rows else head.last_seq
    has_more = last_seq < head.last_seq and unit[SessionHistory].has_entries(
        session_id, after_seq=last_seq
    )
    next_cursor = encode_cursor(_CURSOR, last_seq) if has_more else None
    return len(stretch.rows), stretch.size_bytes, next_cursor


def _write_outline(
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
    """Return the summary of an entry, from its turns."""
    kind = _kind(entry)
    items = [item for turn in turns for item in turn.items]
    media = Counter[str](item.kind for item in items if isinstance(item, Medium))
    natives = [native for turn in turns for native in turn.natives]
    name = entry.tool_name if isinstance(entry, StoredMessage) else None
    if kind == PAGE_FAULT and (faulted := _FAULT_TEXT.match(_title(items) or "")):
        name, modality = faulted.groups()
        # A recording is only described by the text, because models take none in messages.
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
        model=next((native.model for native in natives if native.model), None),
        parent_call=_find_member(natives, "parent_tool_use_id"),
        author=_author(entry),
        step_level=step_level,
    )


def _author(entry: StoredEntry) -> str | None:
    """Return the author, if the entry is an event of a framework with a message and an author."""
    if not isinstance(entry, StoredHistoryMessage) or not entry.is_wrapped:
        return None
    if _AUTHOR not in entry.message:
        return None
    author = cast(Mapping[str, object], parse_stored_json(entry.sent)).get("author")
    return author if isinstance(author, str) else None


def _find_member(natives: Sequence[NativeMessage], name: str) -> str | None:
    """Return the first text that a member has in messages as they were sent."""
    values = (native.message.get(name) for native in natives)
    return next((value for value in values if isinstance(value, str) and value), None)


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
    """Return the first line that is not blank."""
    return next((line for item in items if (line := first_line(_text(item)))), None)


def _text(item: Item) -> str:
    if isinstance(item, TextItem):
        return item.text
    return (item.before or "") if isinstance(item, Medium) else ""


def _tokens(item: Item) -> int:
    tokens = text_tokens(_text(item))
    match item:
        case DataItem():
            return text_tokens(json_text(item.value))
        case Medium() if item.kind == "image":
            return tokens + image_tokens(item.hints.width, item.hints.height)
        case _:
            return tokens


def fingerprint_of(turns: Sequence[ComposedTurn]) -> str:
    """Return the fingerprint of an entry, which entries with equal content share.

    It covers the content of the turns, but neither times, ids of calls nor the dialect.
    """
    digest = hashlib.sha256()
    for turn in turns:
        digest.update(
            _encode_parts("turn", turn.role, turn.tool_name, "failed" if turn.is_error else "")
        )
        for item in turn.items:
            digest.update(_encode_parts(*_content(item)))
        for call in turn.calls:
            digest.update(_encode_parts("call", call.name, json_text(call.arguments)))
        if turn.structured is not None:
            digest.update(_encode_parts("structured", json_text(turn.structured[0])))
    return digest.hexdigest()[:_HEX_DIGITS]


def _encode_parts(*parts: str) -> bytes:
    """Return the lengths of parts, and the parts, as bytes; no other parts have the same bytes."""
    # A text of a model may have lone surrogates.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = " ".join(str(len(part)) for part in encoded)
    return b"".join([f"{lengths}\n".encode(), *encoded])


def _content(item: Item) -> tuple[str, ...]:
    """Return the content of an item, without its pointer."""
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
