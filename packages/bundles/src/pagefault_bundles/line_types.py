"""The types of the lines of a bundle, and the only valid encoding of a line.

Stored JSON texts are embedded in lines byte for byte. A line is invalid unless it equals the output
of `encode` for its value.
"""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from app.models.call_ids import LONGEST_CALL_ID
from app.models.message import CommonRole
from app.models.session import MAX_NOTE_CHARS, MAX_TAGS, TAG_PATTERN
from pagefault_bundles.format_errors import require
from pagefault_dialects.model.client_ids import CLIENT_ID_PATTERN
from pagefault_dialects.model.timestamps import rfc3339
from pagefault_dialects.streams.json_digests import SCHEME

FORMAT: Literal["pagefault-session"] = "pagefault-session"
VERSION: Literal[4] = 4
"""The version that is written. In version 1 requests are identified by their bytes; in version 2
messages have no dialect; in version 3 frontiers have no moves."""

# JSON parsers agree on integers up to 2**53. A session can grow by 2**32 entries after its import.
LARGEST_NUMBER = 2**53 - 2**32
# Earlier years have fewer than four digits.
_FIRST_YEAR = 1_000

Id = Annotated[str, Meta(pattern=r"\A[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
ClientId = Annotated[str, Meta(pattern=CLIENT_ID_PATTERN.replace("$", r"\Z"))]
ResourceId = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
# Digests of the bytes of a request, and those of page faults, have no scheme.
RequestDigest = Annotated[str, Meta(pattern=rf"\A(?:{SCHEME})?[0-9a-f]{{64}}\Z")]
Tag = Annotated[str, Meta(pattern=TAG_PATTERN.replace("$", r"\Z"))]
Name = Annotated[str, Meta(min_length=1, max_length=512)]
CallId = Annotated[str, Meta(min_length=1, max_length=LONGEST_CALL_ID)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
# A frontier evicts entries up to and including this `seq`.
Through = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Pixels = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Timestamp = Annotated[str, Meta(max_length=32)]


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all lines."""


class _EntryLine(_Line, tag_field="kind", frozen=True):
    """An entry of the history: its number and the id of its record."""

    seq: Number
    id: Id


class ToolResultLine(_EntryLine, tag="tool_result", frozen=True, omit_defaults=True):
    """A tool result in the history.

    `answer_number` counts the results of calls with this `tool_call_id`. `is_apart` is false for a
    result that was stored in one request with others. Messages and page faults have both members
    too, with `is_apart` true if they were stored alone.
    """

    created_at: Timestamp
    tool_name: Name
    tool_call_id: CallId
    success: bool
    request_digest: RequestDigest
    sanitized: Raw
    answer_number: Number = 1
    is_apart: bool | None = None


class MessageLine(_EntryLine, tag="message", frozen=True, omit_defaults=True):
    """A message that a client appended.

    `dialect`, `reading` and `role` are as in `StoredHistoryMessage`.
    """

    created_at: Timestamp
    tool_call_id: CallId | None
    request_digest: RequestDigest
    inline_form: str | None
    message: Raw
    dialect: str | None = None
    reading: Number | None = None
    role: CommonRole | None = None
    answer_number: Number = 1
    is_apart: bool | None = None


class PageFaultLine(_EntryLine, tag="page_fault", frozen=True, omit_defaults=True):
    """A message that the service wrote for a page fault.

    `page_fault` is the JSON text of the requested page and level.
    """

    created_at: Timestamp
    tool_call_id: CallId | None
    request_digest: RequestDigest
    message: Raw
    page_fault: str | None = None
    answer_number: Number = 1
    is_apart: bool | None = None


class InteractionEntryLine(_EntryLine, tag="interaction", frozen=True):
    """An interaction in the history."""


class AnswerEntryLine(_EntryLine, tag="answer", frozen=True):
    """The answer of an interaction in the history."""


HistoryLine: TypeAlias = (
    ToolResultLine | MessageLine | PageFaultLine | InteractionEntryLine | AnswerEntryLine
)


class PromptLine(_Line, tag_field="kind", tag="prompt", frozen=True):
    """The system prompt of the newest list of messages of the session; always the first line.

    `dialect` and `prompt` are as in `SessionPrompt`.
    """

    dialect: str | None
    prompt: Raw


class InteractionLine(_Line, frozen=True, omit_defaults=True):
    """An interaction and its answer, which may be null.

    `bindings` maps attachments whose ids are no resources to their resources.
    """

    seq: Number
    id: Id
    created_at: Timestamp
    input_kind: Literal["multimodal", "text", "dict"]
    timestamp: str
    answer_seq: Number | None
    answered_at: Timestamp | None
    input: Raw
    output: Raw
    bindings: dict[str, ResourceId | None] = {}


class LevelLine(_Line, frozen=True):
    """A level of a page, except the full page."""

    level: Annotated[int, Meta(ge=1, le=3)]
    origin: Literal["supplied", "derived"]
    created_at: Timestamp
    body: Raw


class PageLine(_Line, frozen=True):
    """A page with its levels and its counters."""

    page_id: ClientId
    version: Number
    digest: Digest
    created_at: Timestamp
    last_accessed: Timestamp | None
    access_count: Count
    fetched_resource_id: ResourceId | None
    inline_form: str | None
    descriptor: Raw
    body: Raw
    content: Raw
    levels: tuple[LevelLine, ...]


class ResourceLine(_Line, frozen=True, omit_defaults=True):
    """A resource, and the project that its id was derived in.

    `aliases` has its aliases in the order of their bytes, each with the time of its creation.
    """

    id: ResourceId
    project: ClientId
    digest: Digest
    mime_type: Annotated[str, Meta(min_length=1, max_length=255)]
    filename: str | None
    size_bytes: Annotated[int, Meta(ge=0, le=2**62)]
    kind: Literal["image", "audio", "video", "binary", "text"]
    width: Pixels | None
    height: Pixels | None
    duration_seconds: Annotated[float, Meta(ge=0)] | None
    created_at: Timestamp
    aliases: dict[str, Timestamp] = {}


class FrontierMoveLine(_Line, frozen=True, omit_defaults=True):
    """A move of a frontier: the last entry at that time, and the levels after the move."""

    seq: Through
    tool_media: Through = 0
    said_media: Through = 0
    tool_texts: Through = 0
    tool_results: Through = 0
    recalled: Through = 0
    said_texts: Through = 0
    arguments: Through = 0
    folded: Through = 0
    said_folded: Through = 0
    floor: Through = 0


class FrontierLine(_Line, frozen=True, omit_defaults=True):
    """A frontier of the session.

    `through` has five of its levels, `sent` the digests of the messages of the last rendering, each
    of 16 hexadecimal digits. `moves` are in the order of their `seq`.
    """

    name: ClientId
    through: tuple[Through, Through, Through, Through, Through]
    orphans: Annotated[tuple[Through, ...], Meta(max_length=10_000)]
    sent: Annotated[str, Meta(pattern=r"\A(?:[0-9a-f]{16})*\Z")]
    recalled: Through = 0
    arguments: Through = 0
    folded: Through = 0
    said_folded: Through = 0
    floor: Through = 0
    moves: Annotated[tuple[FrontierMoveLine, ...], Meta(max_length=10_000)] = ()


class ForkOriginLine(_Line, frozen=True):
    """The session that a fork was copied from, and the last `seq` that was copied."""

    session_id: ClientId
    up_to: Count


class SessionLine(_Line, frozen=True, omit_defaults=True):
    """The session itself, without the counts of its entries, which an import computes.

    `frontiers` are in the order of their names.
    """

    id: ClientId
    created_at: Timestamp
    updated_at: Timestamp
    last_seq: Count
    frontiers: tuple[FrontierLine, ...] = ()
    forked_from: ForkOriginLine | None = None
    pinned: bool = False
    tags: Annotated[tuple[Tag, ...], Meta(max_length=MAX_TAGS)] = ()
    note: Annotated[str, Meta(min_length=1, max_length=MAX_NOTE_CHARS)] | None = None


class FileLine(_Line, frozen=True):
    """A file of the bundle."""

    name: str
    size: Annotated[int, Meta(ge=0, le=2**62)]
    sha256: Digest


class BundleManifest(_Line, frozen=True):
    """The manifest of a bundle: the session, and every other file in it, in order."""

    format: Literal["pagefault-session"]
    version: Literal[1, 2, 3, 4]
    session: SessionLine
    files: tuple[FileLine, ...]


class ManifestHead(Struct, frozen=True):
    """The members of a manifest that identify the format and its version."""

    format: str
    version: int


_Decoded = TypeVar("_Decoded")

HISTORY_DECODER: msgspec.json.Decoder[HistoryLine | PromptLine] = msgspec.json.Decoder(
    HistoryLine | PromptLine
)
INTERACTION_DECODER = msgspec.json.Decoder(InteractionLine)
PAGE_DECODER = msgspec.json.Decoder(PageLine)
RESOURCE_DECODER = msgspec.json.Decoder(ResourceLine)


def encode(line: Struct) -> bytes:
    """Return the bytes of a line, without its end."""
    return msgspec.json.encode(line)


def read_line(decoder: msgspec.json.Decoder[_Decoded], text: bytes) -> _Decoded:
    """Return the line in a text.

    Raises:
        MsgspecError, RecursionError: The text is no line of this type.
        BundleFormatError: The text differs from the output of `encode`.
    """
    decoded = decoder.decode(text)
    require(msgspec.json.encode(decoded) == text, "is not written as this service writes it")
    return decoded


def check_number(number: int) -> None:
    """Raise if a number is so large that the numbers after it would exceed JSON's integers.

    Raises:
        BundleFormatError: The number is above `LARGEST_NUMBER`.
    """
    require(
        number <= LARGEST_NUMBER,
        f"has a number above {LARGEST_NUMBER} (2^53 - 2^32), which leaves too few for what follows",
    )


def parse_timestamp(text: str) -> datetime:
    """Return the timestamp in a line.

    Raises:
        ValueError, OverflowError: The text is not a time.
        BundleFormatError: The text differs from the form that this service writes.
    """
    timestamp = datetime.fromisoformat(text)
    has_zone = timestamp.tzinfo is not None
    is_canonical = has_zone and timestamp.year >= _FIRST_YEAR and rfc3339(timestamp) == text
    require(is_canonical, "has a time that is none")
    return timestamp
