"""One body read in both ways: in pieces, with drafts for its long strings, and as a whole."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.services.media.media_keeper import MediaKeeper
from app.services.packaging import build_sanitized_tool_result, encode_sanitized
from app.services.persistence import persist_tool_media
from app.services.tool_results.tool_result_requests import (
    ParsedToolResult,
    normalize_streamed,
    read_tool_result_request,
)
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import BlobDraft
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.streams.json_stream import JsonStream
from tests.unit.services.requests.received import LIMITS, NOW, PROJECT


@dataclass(frozen=True)
class Piecing:
    """From where on strings are long, and how large the pieces of a body are."""

    long_chars: int
    piece_bytes: int


@dataclass(frozen=True)
class Scan:
    """A body after the scanner, before anything was parsed.

    Attributes:
        restored: The body, put together again.
        digest: What it is known by.
        drafts: How many strings were taken for base64 at first.
        long_strings: How many of those were base64 to their end.
    """

    restored: bytes
    digest: str
    drafts: int
    long_strings: int


@dataclass(frozen=True)
class Refusal:
    """The error a body was refused with: its class, its code, its sentence and its faults."""

    name: str
    code: str
    detail: str
    faults: tuple[object, ...]


@dataclass(frozen=True)
class Accepted:
    """The record a body became, the other members of the call, and the resources."""

    record: bytes
    call: tuple[object, ...]
    resources: tuple[Resource, ...]
    identity: str


@dataclass(frozen=True)
class Reading:
    """The answer to a body, and the cost of reading it.

    Attributes:
        scan: The body after the scanner.
        outcome: What the caller would be told.
        streamed_media: How many media never were in memory.
        rereadings: How often it was parsed again, because a string was no medium.
    """

    scan: Scan
    outcome: Accepted | Refusal
    streamed_media: int
    rereadings: int


@dataclass
class Reader:
    """Reads bodies into a store of its own."""

    folder: Path
    blobs: FilesystemBlobStore = field(init=False)

    def __post_init__(self) -> None:
        self.blobs = FilesystemBlobStore(self.folder)

    async def scan(self, body: bytes, piecing: Piecing) -> Scan:
        """Scan a body in pieces."""
        async with self._scanned(body, piecing) as (_, scan):
            return scan

    async def read(self, body: bytes, piecing: Piecing | None) -> Reading:
        """Read a body through all stages, in pieces, or as a whole if no piecing is given."""
        parsed: list[int] = []

        def read(text: bytes) -> ParsedToolResult:
            parsed.append(len(text))
            return read_tool_result_request(
                text, max_depth=LIMITS.json_depth, max_nodes=LIMITS.json_nodes
            )

        async with self._scanned(body, piecing) as (stream, scan):
            try:
                found = normalize_streamed(stream, read, lambda _: None)
            except PagefaultError as exc:
                refusal = Refusal(type(exc).__name__, exc.problem_code, exc.detail, exc.faults)
                return Reading(scan, refusal, 0, len(parsed) - 1)
            keeper = MediaKeeper(self.blobs, PROJECT, limit_bytes=LIMITS.medium_bytes, now=NOW)
            request, normalized = found.request, found.normalized
            persisted = await persist_tool_media(
                normalized, keeper, session_resources={}, limits=LIMITS
            )
        sanitized = build_sanitized_tool_result(
            persisted,
            tool_name=request.tool_name,
            tool_call_id=request.tool_call_id,
            success=request.success,
        )
        call = (request.tool_name, request.tool_call_id, request.session_id, request.success)
        accepted = Accepted(
            encode_sanitized(sanitized), call, tuple(persisted.resources), found.identity.digest
        )
        streamed = sum(isinstance(medium.source, DraftMedia) for medium in normalized.media)
        return Reading(scan, accepted, streamed, len(parsed) - 1)

    def files(self) -> set[str]:
        """Return the paths of all files in the store."""
        return {
            str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()
        }

    @asynccontextmanager
    async def _scanned(
        self, body: bytes, piecing: Piecing | None
    ) -> AsyncIterator[tuple[JsonStream[BlobDraft], Scan]]:
        drafts: list[BlobDraft] = []

        def new_draft() -> BlobDraft:
            drafts.append(self.blobs.draft(PROJECT, limit_bytes=LIMITS.medium_bytes))
            return drafts[-1]

        # Where no string is long, all of the body is read as text.
        long_chars = piecing.long_chars if piecing else 2 * len(body) + 2
        stream = JsonStream(new_draft, lambda _: None, long_chars=long_chars)
        try:
            _feed(stream, body, piecing)
            strings = stream.long_strings
            restored = stream.join_body(string.read_raw() for string in strings)
            yield stream, Scan(restored, stream.compute_byte_digest(), len(drafts), len(strings))
        finally:
            for draft in drafts:
                await draft.discard()


def _feed(stream: JsonStream[BlobDraft], body: bytes, piecing: Piecing | None) -> None:
    if piecing is None or len(body) <= piecing.piece_bytes:
        stream.feed_whole(body)
    else:
        for start in range(0, len(body), piecing.piece_bytes):
            stream.feed(body[start : start + piecing.piece_bytes])
    stream.finish()
