"""Extracts the indexed texts of tool results, messages, interactions and files. Pure.

A wrapped message is indexed by the texts that a model reads. Other records are indexed by all of
their strings, except members for ids, types, addresses and data. The first 8,000 characters of each
entry are indexed.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app.models.message import sent_message
from app.models.search_entry import MAX_INDEXED_CHARS, EntrySource
from app.words.search_terms import SearchableText
from pagefault_dialects.errors import InvalidJsonError, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, parse_stored_json
from pagefault_dialects.messages.entry_reading import (
    has_only_results,
    read_entry_turns,
    read_stored,
)
from pagefault_dialects.model.conversation import ComposedTurn, DataItem, Item, Medium, TextItem
from pagefault_dialects.pages.page_text import iterate_texts

# Members with ids, types and addresses, which are not indexed.
_UNINDEXED = frozenset(
    {
        *("type", "role", "id", "kind", "object", "status", "index", "format", "detail", "digest"),
        *("mimeType", "mime_type", "media_type", "mediaType", "mediaKind", "uri", "_meta"),
        *("tool_call_id", "toolCallId", "call_id", "tool_use_id", "toolUseId", "timestamp"),
        *("signature", "thought_signature", "thoughtSignature", "encrypted_content"),
        *("cache_control", "cachePoint", "annotations", "stop_reason", "finish_reason"),
    }
)
# Members whose strings are addresses or data, and whose objects may be anything.
_DATA = frozenset({"data", "url", "image", "source", "image_url", "bytes", "blob", "file_data"})
_OPAQUE_CHARS = 200
MAX_LINE_CHARS = 120
"""The limit of a title, with the ellipsis if it is cut."""
_FIRST_LINE_SEARCH_CHARS = 2_000
# The last string may be incomplete if the text was cut.
_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"(\s*:)?|\\?\Z)')


@dataclass(frozen=True, slots=True)
class EntryTexts:
    """The texts that an entry is found by, and its title in a list."""

    searchable: SearchableText
    title: str | None

    @property
    def fields(self) -> list[str]:
        """All texts, in the order in which passages are preferred."""
        return [*self.searchable.text, *self.searchable.heading]


def entry_texts(source: EntrySource) -> EntryTexts:
    """Return the texts of an entry."""
    if source.kind == "file":
        return EntryTexts(SearchableText((source.name or "",), ()), source.name)
    if source.role is not None:
        call_id = (source.call_id,) if source.call_id else ()
        return EntryTexts(SearchableText(call_id, (_join(_message_texts(source)),)), source.role)
    values = [_parse(content, is_cut=source.is_cut) for content in source.contents]
    names = [item for item in (source.name, source.call_id) if item]
    title = source.name
    texts: Iterator[str]
    if source.kind == "tool_result" and isinstance(values[0], dict):
        record: dict[str, Any] = values[0]
        names += [file["filename"] for file in record.get("resources", ()) if "filename" in file]
        meta = record.get("meta", {})
        texts = _strings([record.get("parts"), meta.get("structuredContent")])
    else:
        texts = _strings(list(values))
        role = values[0].get("role") if values and isinstance(values[0], dict) else None
        title = role if isinstance(role, str) else title
        if title == "user" and has_only_results(values[0]):
            # Results of tools have the role of the user in the messages of Anthropic.
            title = "tool"
    return EntryTexts(SearchableText(tuple(names), (_join(texts),)), title)


def _message_texts(source: EntrySource) -> Iterator[str]:
    """Yield the texts of a wrapped message; if it is cut, the strings in its beginning."""
    [stored] = source.contents
    sent = sent_message(stored, dialect=source.dialect, role=source.role)
    turns = message_turns_of(source)
    if turns is None:
        yield from _strings([_parse(sent, is_cut=True)])
        return
    # Texts of its own role come first, since the first text is the title.
    for turn in sorted(turns, key=lambda turn: turn.role != source.role):
        yield turn.tool_name
        for item in turn.items:
            yield from _item_texts(item)
        for call in turn.calls:
            yield call.name
            yield from _strings([call.arguments])


def message_turns_of(source: EntrySource) -> Sequence[ComposedTurn] | None:
    """Return the turns of a message; `None` if it is cut, or of an earlier version."""
    if source.is_cut or source.dialect is None or source.reading is None:
        return None
    [stored] = source.contents
    sent = sent_message(stored, dialect=source.dialect, role=source.role)
    # Stored messages can be read. If one could not, it must not stop the indexing of others.
    with suppress(ValueError, RecursionError, InvalidPayloadError):
        reading = read_stored(parse_stored_json(sent), source.dialect, source.reading)
        seq = source.seq or 0
        return read_entry_turns(
            reading, seq, "", {}, audience="everyone", moved_media_ids=frozenset()
        )
    return None


def _item_texts(item: Item) -> Iterator[str]:
    match item:
        case TextItem():
            yield from _strings([item.text])
        case DataItem():
            yield from _strings([item.value])
        case Medium():
            yield from filter(None, (item.filename, item.words and item.words.text))


def first_line(text: str) -> str | None:
    """Return the first line of a text that is not blank, cut to 120 characters."""
    for line in text[:_FIRST_LINE_SEARCH_CHARS].splitlines():
        if words := " ".join(line.split()):
            is_cut = len(words) > MAX_LINE_CHARS
            return words[: MAX_LINE_CHARS - 1] + "…" if is_cut else words
    return None


def _parse(content: bytes, *, is_cut: bool) -> JsonValue:
    """Return the value of a stored record; if it is cut, the strings in its beginning."""
    if not is_cut:
        # Stored messages can be read. If one could not, it must not stop the indexing of others.
        with suppress(ValueError, RecursionError):
            return parse_stored_json(content)
    found: list[JsonValue] = []
    size = 0
    for match in _JSON_STRING.finditer(content.decode("utf-8", "replace")):
        if match.group(2) is None and not _is_opaque(match.group(1)):
            found.append(_unescape(match.group(1)))
            size += len(match.group(1))
        if size > 2 * MAX_INDEXED_CHARS:
            break
    return found


def _unescape(escaped: str) -> str:
    try:
        return str(json.loads(f'"{escaped}"'))
    except ValueError:
        return escaped


def _strings(values: list[JsonValue]) -> Iterator[str]:
    """Yield the strings of values that are indexed, in order and at any depth."""
    parts: list[Iterator[tuple[str, JsonValue]]] = [iter([("", value) for value in values])]
    while parts:
        for name, part in parts[-1]:
            if isinstance(part, str):
                if name not in _DATA and not _is_opaque(part):
                    yield from _readable(part)
            elif isinstance(part, dict):
                parts.append(iter([item for item in part.items() if item[0] not in _UNINDEXED]))
                break
            elif isinstance(part, list):
                parts.append(iter([(name, item) for item in part]))
                break
            elif isinstance(part, int) and not isinstance(part, bool):
                yield str(part)
        else:
            parts.pop()


def _readable(text: str) -> Iterator[str]:
    """Yield the texts in a text that is JSON, or the text itself."""
    if text.lstrip()[:1] in {"{", "["} and len(text) <= 4 * MAX_INDEXED_CHARS:
        try:
            yield from iterate_texts(text)
        except InvalidJsonError:
            yield text
    else:
        yield text


def _join(texts: Iterator[str]) -> str:
    """Join distinct texts until the maximum length is reached."""
    kept: dict[str, None] = {}
    size = 0
    for text in texts:
        if text not in kept and text.strip():
            kept[text[: MAX_INDEXED_CHARS - size]] = None
            size += len(text) + 1
        if size >= MAX_INDEXED_CHARS:
            break
    return "\n".join(kept)


def _is_opaque(text: str) -> bool:
    """Return whether a text is base64, a reference or a data URI."""
    head = text[:_OPAQUE_CHARS]
    is_run = len(text) > _OPAQUE_CHARS and head.isascii() and not any(map(str.isspace, head))
    return is_run or text.startswith(("@blob:", "blob:", "data:"))
