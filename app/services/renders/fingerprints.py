"""The fingerprint of an entry: equal where two entries say the same, whoever wrote them and when.

It is taken from turns, so ids of calls, times and the dialect are no part of it.
"""

import hashlib
from collections.abc import Sequence
from typing import Protocol

from app.models.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Invented,
    Item,
    LeftOut,
    Medium,
    MediumSource,
    StoredBytes,
    TextItem,
)
from app.models.json_value import json_text

_HEX_DIGITS = 32


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def fingerprint_of(turns: Sequence[ComposedTurn]) -> str:
    """Return the fingerprint of what the turns of an entry say."""
    digest = hashlib.sha256()
    for turn in turns:
        _add(digest, "turn", turn.role, turn.tool_name, "failed" if turn.is_error else "")
        for item in turn.items:
            _add(digest, *_said(item))
        for call in turn.calls:
            _add(digest, "call", call.name, json_text(call.arguments))
        if turn.structured is not None:
            _add(digest, "structured", json_text(turn.structured[0]))
    return digest.hexdigest()[:_HEX_DIGITS]


def _add(digest: _Hash, *parts: str) -> None:
    """Add parts so that no other parts add the same bytes."""
    # A text of a model may have half of a surrogate pair.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = " ".join(str(len(part)) for part in encoded)
    digest.update(f"{lengths}\n".encode())
    for part in encoded:
        digest.update(part)


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
        case LeftOut():
            return ("left out", item.what, item.code)
        case Invented():
            return ("invented", item.what)


def _source(source: MediumSource) -> str:
    match source:
        case StoredBytes():
            return source.digest
        case InlineBytes():
            return hashlib.sha256(source.data).hexdigest()
        case Address():
            return source.url
