"""The lines of a bundle: what each holds, written and read in one form only.

Stored JSON texts stand in the lines as JSON values, byte for byte as they are stored, and are cut
out again as they stand. A line that is not written as `encode` writes it is none.
"""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from app.models.call_ids import LONGEST_CALL_ID
from app.models.message import SideRole
from pagefault_bundles.format_errors import require
from pagefault_dialects.model.client_ids import CLIENT_ID_PATTERN
from pagefault_dialects.model.moments import rfc3339
from pagefault_dialects.streams.json_digests import SCHEME

FORMAT: Literal["pagefault-session"] = "pagefault-session"
VERSION: Literal[3] = 3
"""The version that is written. In version 1 all requests are known by their bytes; in version 2
messages have no dialect."""

# Up to 2**53 a number means the same to every reader of JSON. What an import brings leaves room for
# 2**32 more below that.
LARGEST_NUMBER = 2**53 - 2**32
# Four digits, and no clock was ever set to less.
_FIRST_YEAR = 1_000

Id = Annotated[str, Meta(pattern=r"\A[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
ClientId = Annotated[str, Meta(pattern=CLIENT_ID_PATTERN.replace("$", r"\Z"))]
ResourceId = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
# Without its scheme it is one of bytes, and that of a page fault.
RequestDigest = Annotated[str, Meta(pattern=rf"\A(?:{SCHEME})?[0-9a-f]{{64}}\Z")]
Name = Annotated[str, Meta(min_length=1, max_length=512)]
CallId = Annotated[str, Meta(min_length=1, max_length=LONGEST_CALL_ID)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Through = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Pixels = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Moment = Annotated[str, Meta(max_length=32)]


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all lines."""


class _EntryLine(_Line, tag_field="kind", frozen=True):
    """Where something stands in the history, and its id."""

    seq: Number
    id: Id


class ToolResultLine(_EntryLine, tag="tool_result", frozen=True, omit_defaults=True):
    """A tool result in the history.

    `answer_number` is which answer to calls of its id it is, and `is_apart` whether it was stored
    by itself, as in messages and page faults.
    """

    created_at: Moment
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

    created_at: Moment
    tool_call_id: CallId | None
    request_digest: RequestDigest
    inline_form: str | None
    message: Raw
    dialect: str | None = None
    reading: Number | None = None
    role: SideRole | None = None
    answer_number: Number = 1
    is_apart: bool | None = None


class PageFaultLine(_EntryLine, tag="page_fault", frozen=True, omit_defaults=True):
    """A message that the service wrote for a page fault.

    `page_fault` is the JSON text of what was asked for.
    """

    created_at: Moment
    tool_call_id: CallId | None
    request_digest: RequestDigest
    message: Raw
    page_fault: str | None = None
    answer_number: Number = 1
    is_apart: bool | None = None


class InteractionEntryLine(_EntryLine, tag="interaction", frozen=True):
    """Where an interaction stands in the history."""


class AnswerEntryLine(_EntryLine, tag="answer", frozen=True):
    """Where the answer of an interaction stands in the history."""


HistoryLine: TypeAlias = (
    ToolResultLine | MessageLine | PageFaultLine | InteractionEntryLine | AnswerEntryLine
)


class PromptLine(_Line, tag_field="kind", tag="prompt", frozen=True):
    """What stood around the newest list of messages that was put to the session; the first line.

    `dialect` and `prompt` are as in `SessionPrompt`.
    """

    dialect: str | None
    prompt: Raw


class InteractionLine(_Line, frozen=True, omit_defaults=True):
    """An interaction, and its answer, null where it has none.

    `bindings` is what its attachments were bound to, where their ids do not say so.
    """

    seq: Number
    id: Id
    created_at: Moment
    input_kind: Literal["multimodal", "text", "dict"]
    timestamp: str
    answer_seq: Number | None
    answered_at: Moment | None
    input: Raw
    output: Raw
    bindings: dict[str, ResourceId | None] = {}


class LevelLine(_Line, frozen=True):
    """A level of a page above FULL."""

    level: Annotated[int, Meta(ge=1, le=3)]
    origin: Literal["supplied", "derived"]
    created_at: Moment
    body: Raw


class PageLine(_Line, frozen=True):
    """A page with its levels and its counters."""

    page_id: ClientId
    version: Number
    digest: Digest
    created_at: Moment
    last_accessed: Moment | None
    access_count: Count
    fetched_resource_id: ResourceId | None
    inline_form: str | None
    descriptor: Raw
    body: Raw
    content: Raw
    levels: tuple[LevelLine, ...]


class ResourceLine(_Line, frozen=True, omit_defaults=True):
    """A descriptor, and the project its id was derived in.

    `aliases` has its aliases in the order of their bytes, each with its moment.
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
    created_at: Moment
    aliases: dict[str, Moment] = {}


class FrontierLine(_Line, frozen=True, omit_defaults=True):
    """How far the renderings of the session are evicted under a name, and what was sent last."""

    name: ClientId
    through: tuple[Through, Through, Through, Through, Through]
    orphans: Annotated[tuple[Through, ...], Meta(max_length=10_000)]
    sent: Annotated[str, Meta(pattern=r"\A(?:[0-9a-f]{16})*\Z")]
    recalled: Through = 0
    arguments: Through = 0
    folded: Through = 0
    said_folded: Through = 0
    floor: Through = 0


class ForkOriginLine(_Line, frozen=True):
    """The session that a fork was copied from, and the last `seq` that was copied."""

    session_id: ClientId
    up_to: Count


class SessionLine(_Line, frozen=True, omit_defaults=True):
    """The session itself; how many entries it has of each kind follows from them.

    `frontiers` are in the order of their names.
    """

    id: ClientId
    created_at: Moment
    updated_at: Moment
    last_seq: Count
    frontiers: tuple[FrontierLine, ...] = ()
    forked_from: ForkOriginLine | None = None


class FileLine(_Line, frozen=True):
    """A file of the bundle."""

    name: str
    size: Annotated[int, Meta(ge=0, le=2**62)]
    sha256: Digest


class BundleManifest(_Line, frozen=True):
    """The manifest of a bundle: the session, and every other file in it, in order."""

    format: Literal["pagefault-session"]
    version: Literal[1, 2, 3]
    session: SessionLine
    files: tuple[FileLine, ...]


class ManifestHead(Struct, frozen=True):
    """The members of a manifest that tell a bundle of a known version from anything else."""

    format: str
    version: int


_Decoded = TypeVar("_Decoded")

HISTORY_LINES: msgspec.json.Decoder[HistoryLine | PromptLine] = msgspec.json.Decoder(
    HistoryLine | PromptLine
)
INTERACTION_LINES = msgspec.json.Decoder(InteractionLine)
PAGE_LINES = msgspec.json.Decoder(PageLine)
RESOURCE_LINES = msgspec.json.Decoder(ResourceLine)


def encode(line: Struct) -> bytes:
    """Return the bytes of a line, without its end."""
    return msgspec.json.encode(line)


def read_line(decoder: msgspec.json.Decoder[_Decoded], text: bytes) -> _Decoded:
    """Return the line in a text.

    Raises:
        MsgspecError, RecursionError: It is none.
        BundleFormatError: It is written otherwise than `encode` writes it.
    """
    decoded = decoder.decode(text)
    require(msgspec.json.encode(decoded) == text, "is not written as this service writes it")
    return decoded


def check_number(number: int) -> None:
    """Raise unless there is room above a number for whatever is counted on from there.

    Raises:
        BundleFormatError: There is none.
    """
    require(
        number <= LARGEST_NUMBER,
        f"has a number above {LARGEST_NUMBER} (2^53 - 2^32), which leaves too few for what follows",
    )


def parse_moment(text: str) -> datetime:
    """Return the moment in a line.

    Raises:
        ValueError, OverflowError: It is none.
        BundleFormatError: It is written otherwise than this service writes it.
    """
    read = datetime.fromisoformat(text)
    is_ours = read.tzinfo is not None and read.year >= _FIRST_YEAR and rfc3339(read) == text
    require(is_ours, "has a time that is none")
    return read
