"""Summarizes the entries of a session for an outline (`outlines.py`)."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.session import ANSWER, INTERACTION, MESSAGE, PAGE_FAULT, TOOL_RESULT, EntryKind
from app.models.stored_interaction import StoredAnswer, StoredInteraction
from app.services.renders.loaded_sessions import entry_size_bytes
from app.wire.outlines import OutlinedCall, OutlineEntry, StepLevel
from app.wire.shape import make_timestamp
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
from pagefault_dialects.pages.sizes import estimate_image_tokens, estimate_text_tokens

_AUTHOR_MEMBER = b'"author"'
_AG_UI = "ag-ui"
_SUBAGENT_RUN_ID_NAMES = ("subagentRunId", "subagent_run_id")
_FINGERPRINT_DIGITS = 32
# The beginning of the text of a page fault; see `pagefault_dialects.turns.page_turns`.
_FAULT_TEXT = re.compile(r"Page (\S+) \((\w+), ")


def summarize_entry(
    entry: StoredEntry, turns: Sequence[ComposedTurn], *, step_level: StepLevel | None = None
) -> OutlineEntry:
    """Return the summary of an entry.

    Args:
        entry: The entry.
        turns: The turns of the entry, as `LoadedSession.read_entry_turns` returns them.
        step_level: The level to which a rendering has evicted the entry; `None` if the entry was
            not evicted, or if there is no rendering.
    """
    kind = _find_kind(entry)
    items = [item for turn in turns for item in turn.items]
    media = Counter[str](item.kind for item in items if isinstance(item, Medium))
    native_messages = [native for turn in turns for native in turn.native_messages]
    name = entry.tool_name if isinstance(entry, StoredMessage) else None
    if kind == PAGE_FAULT and (fault_text := _FAULT_TEXT.match(_find_title(items) or "")):
        name, modality = fault_text.groups()
        # A page fault with audio or video only describes it in a text, so it is counted here.
        if modality in ("audio", "video") and not media[modality]:
            media[modality] = 1
    return OutlineEntry(
        seq=entry.seq,
        entry=kind,
        created_at=make_timestamp(entry.created_at),
        role=turns[-1].role if turns else "user",
        name=name,
        title=_find_title(items),
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
        tokens_est=sum(map(_estimate_tokens, items))
        + sum(
            estimate_text_tokens(json_text(call.arguments)) for turn in turns for call in turn.calls
        ),
        fingerprint=compute_fingerprint(turns),
        model=next((native.model for native in native_messages if native.model), None),
        parent_call=_find_member(native_messages, "parent_tool_use_id"),
        subagent_run_id=_find_subagent_run_id(entry),
        author=_find_author(entry),
        step_level=step_level,
    )


def _find_author(entry: StoredEntry) -> str | None:
    """Return the author of a message that was sent inside of an event of an agent framework."""
    if not isinstance(entry, StoredHistoryMessage) or not entry.is_wrapped:
        return None
    if _AUTHOR_MEMBER not in entry.message:
        return None
    author = cast(Mapping[str, object], parse_stored_json(entry.sent)).get("author")
    return author if isinstance(author, str) else None


def _find_subagent_run_id(entry: StoredEntry) -> str | None:
    """Return the id of the run of a sub-agent in a message of AG-UI."""
    if not isinstance(entry, StoredHistoryMessage) or entry.dialect != _AG_UI:
        return None
    if b'"subagent' not in entry.message:
        return None
    message = cast(Mapping[str, object], parse_stored_json(entry.sent))
    values = (message.get(name) for name in _SUBAGENT_RUN_ID_NAMES)
    return next((value for value in values if isinstance(value, str) and value), None)


def _find_member(native_messages: Sequence[NativeMessage], name: str) -> str | None:
    """Return the first non-empty text in a member of messages, as they were sent."""
    values = (native.message.get(name) for native in native_messages)
    return next((value for value in values if isinstance(value, str) and value), None)


def _find_kind(entry: StoredEntry) -> EntryKind:
    match entry:
        case StoredMessage():
            return TOOL_RESULT
        case StoredHistoryMessage():
            return PAGE_FAULT if entry.is_page_fault else MESSAGE
        case StoredInteraction():
            return INTERACTION
        case StoredAnswer():
            return ANSWER


def _find_title(items: Sequence[Item]) -> str | None:
    """Return the first line of the texts of an entry that is not blank."""
    return next((line for item in items if (line := first_line(_get_text(item)))), None)


def _get_text(item: Item) -> str:
    if isinstance(item, TextItem):
        return item.text
    return (item.before or "") if isinstance(item, Medium) else ""


def _estimate_tokens(item: Item) -> int:
    tokens = estimate_text_tokens(_get_text(item))
    match item:
        case DataItem():
            return estimate_text_tokens(json_text(item.value))
        case Medium() if item.kind == "image":
            return tokens + estimate_image_tokens(item.hints.width, item.hints.height)
        case _:
            return tokens


def compute_fingerprint(turns: Sequence[ComposedTurn]) -> str:
    """Return a hash of the content of turns, so that entries with equal content can be found.

    Times, ids of calls and the dialect are not part of the hash.
    """
    digest = hashlib.sha256()
    for turn in turns:
        digest.update(
            _encode_parts("turn", turn.role, turn.tool_name, "failed" if turn.is_error else "")
        )
        for item in turn.items:
            digest.update(_encode_parts(*_list_content(item)))
        for call in turn.calls:
            digest.update(_encode_parts("call", call.name, json_text(call.arguments)))
        if turn.structured is not None:
            digest.update(_encode_parts("structured", json_text(turn.structured[0])))
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]


def _encode_parts(*parts: str) -> bytes:
    """Return the bytes of texts for a hash: the lengths of the texts, followed by the texts.

    Without the lengths, `("a", "bc")` and `("ab", "c")` would have the same bytes.
    """
    # A text of a model may have lone surrogates.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = " ".join(str(len(part)) for part in encoded)
    return b"".join([f"{lengths}\n".encode(), *encoded])


def _list_content(item: Item) -> tuple[str, ...]:
    """Return the content of an item as texts, without its JSON pointer."""
    match item:
        case TextItem():
            return ("text", item.text)
        case DataItem():
            return ("data", json_text(item.value))
        case Medium():
            source = _identify_source(item.source)
            return (item.kind, item.mime_type, item.filename or "", item.before or "", source)
        case Omission():
            return ("left out", item.what, item.code)
        case SyntheticNote():
            return ("invented", item.what)
        case ProviderBlock():
            return ("block", item.what, json_text(dict(item.forms)))


def _identify_source(source: MediumSource) -> str:
    match source:
        case StoredBytes():
            return source.digest
        case InlineBytes():
            return hashlib.sha256(source.data).hexdigest()
        case Address():
            return source.url
