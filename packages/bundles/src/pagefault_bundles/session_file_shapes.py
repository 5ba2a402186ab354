"""The JSON of a file that was read as a session."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Raw
from pydantic import ConfigDict
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.message import StoredEntry
from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.outline_entries import summarize_entry
from app.services.renders.turn_cache import TurnCache
from app.wire.history import HistoryEntry, encode_history_entry
from app.wire.outlines import OutlineEntry
from app.wire.resources import ResourceRecord, encode_resource
from app.wire.shape import DocumentedAs, Shape
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.model.resource import Resource

FileFormat = Literal["json", "lines", "bundle"]
BlobsByDigest = TypeAliasType("BlobsByDigest", dict[str, str])

_CREATED_AT = "2026-11-29T05:30:00.000000Z"
_OUTLINE: JsonDict = {
    "seq": 1,
    "entry": "message",
    "createdAt": _CREATED_AT,
    "role": "user",
    "name": None,
    "title": "Open the page.",
    "calls": [],
    "answers": [],
    "failed": False,
    "images": 0,
    "audios": 0,
    "videos": 0,
    "files": 0,
    "bytes": 44,
    "tokensEst": 4,
    "fingerprint": "5c0e9f3a7b1d4e8890a2c6d3f7e1b045",
}
_ENTRY: JsonDict = {
    "seq": 1,
    "id": "1",
    "created_at": _CREATED_AT,
    "entry": "message",
    "role": "user",
    "content": "Open the page.",
}
_EXAMPLE: JsonDict = {
    "format": "lines",
    "dialect": "openai-chat",
    "outline": [_OUTLINE],
    "entries": [_ENTRY],
    "pointers": ["/0"],
    "resources": [],
    "blobs": {},
}


class SessionFile(Shape, kw_only=True):
    """A file that was read as a session. Nothing of it is stored."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    format: FileFormat
    """`json` and `lines` are stored by `PUT /api/sessions/{session_id}/history`, `bundle` by
    `POST /api/sessions/import`."""
    session_id: str | None = None
    """The id in a bundle, which its import keeps."""
    dialect: str | None = None
    """The dialect of most messages, if it can be detected; absent for a bundle."""
    outline: tuple[Annotated[Raw, DocumentedAs(OutlineEntry)], ...]
    """The outline of all entries, in the order of `seq`."""
    entries: tuple[Annotated[Raw, DocumentedAs(HistoryEntry)], ...]
    """All entries, in the order of `seq`."""
    pointers: tuple[str, ...] = ()
    """For each entry the JSON pointer to its message in the file, of which lines are a list; absent
    for a bundle. `/api/doctor` names the same places."""
    resources: tuple[Annotated[Raw, DocumentedAs(ResourceRecord)], ...]
    """The media of the entries."""
    blobs: Annotated[Mapping[str, bytes], DocumentedAs(BlobsByDigest)]
    """The bytes of the media in base64, by the `digest` of their resource."""
    passed_over: int = 0
    """The number of elements that are not messages: lines of a transcript, reports, states."""
    warnings: tuple[BodyWarning, ...] = ()
    """Parts of the file that were not taken as sent: keys that an object has more than once."""


def encode_session_file(  # noqa: PLR0913 - one for each part of the response
    file_format: FileFormat,
    entries: Sequence[StoredEntry],
    resources: Mapping[str, Resource],
    blobs: Mapping[str, bytes],
    *,
    session_id: str | None = None,
    dialect: str | None = None,
    pointers: Sequence[str] = (),
    skipped_count: int = 0,
    warnings: Sequence[BodyWarning] = (),
) -> bytes:
    """Return the JSON of a `SessionFile`; blocks.

    Args:
        file_format: The format of the file.
        entries: Its entries, in the order of `seq`.
        resources: Their resources, by id.
        blobs: The bytes of the resources, by their SHA-256 as hex digits.
        session_id: The id in a bundle.
        dialect: The dialect of a conversation.
        pointers: The JSON pointers to the messages of the entries in the file.
        skipped_count: The number of items that are not messages.
        warnings: Parts of the file that were changed or dropped.
    """
    loaded = LoadedSession(session_id or "", entries, resources, {}, TurnCache(max_bytes=0))
    outline = (
        summarize_entry(entry, loaded.read_entry_turns(entry, "assistant")) for entry in entries
    )
    return SessionFile(
        format=file_format,
        session_id=session_id,
        dialect=dialect,
        outline=tuple(Raw(line.encode()) for line in outline),
        entries=tuple(Raw(encode_history_entry(entry)) for entry in entries),
        pointers=tuple(pointers),
        resources=tuple(Raw(encode_resource(each)) for each in resources.values()),
        blobs={f"sha-256:{digest}": data for digest, data in blobs.items()},
        passed_over=skipped_count,
        warnings=tuple(warnings),
    ).encode()
