"""Bodies sent through the stages, cut wherever one likes, streamed or as a whole."""

import tempfile
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from app.models.limits import Limits
from app.services.concurrency.large_work import LargeWork
from app.services.media.media_keeper import MediaKeeper
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.packaging import build_sanitized_tool_result, encode_sanitized
from app.services.persistence import persist_tool_media
from app.services.requests.streamed_bodies import ReceivedBody, StreamedBodies
from app.services.tool_results.tool_result_requests import (
    ParsedToolResult,
    normalize_streamed,
    read_tool_result_request,
)
from app.stores.blobs.filesystem import FilesystemBlobStore
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.resource import Resource

PROJECT = "default"
NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
LIMITS = Limits()


@dataclass(frozen=True)
class Outcome:
    """The result of a body: the record's bytes, the resources, the identity, the files."""

    sanitized: bytes
    resources: tuple[Resource, ...]
    digest: str
    files: frozenset[str]


def outcome_of(
    pieces: Iterable[bytes], *, long_chars: int, piece_bytes: int, limits: Limits = LIMITS
) -> Outcome | str:
    """Return the result of a body that arrives in these pieces, or the name of its error."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return anyio.run(_outcome, list(pieces), Path(folder), long_chars, piece_bytes, limits)
        except PagefaultError as exc:
            assert files_in(Path(folder)) == frozenset()
            return type(exc).__name__


async def _outcome(
    pieces: list[bytes], folder: Path, long_chars: int, piece_bytes: int, limits: Limits
) -> Outcome:
    blobs = FilesystemBlobStore(folder)
    bodies = StreamedBodies(
        blobs,
        LargeWork(limits),
        BodyBudget(MemoryBudget(limits.memory_bytes), text_limit_bytes=limits.text_bytes),
        limit_bytes=limits.medium_bytes,
        piece_bytes=piece_bytes,
        long_chars=long_chars,
    )

    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async with bodies.receive(PROJECT, chunks()) as received:
        sanitized, resources, digest = await _kept(received, blobs, limits)
    return Outcome(sanitized, resources, digest, files_in(folder))


async def _kept(
    received: ReceivedBody, blobs: FilesystemBlobStore, limits: Limits
) -> tuple[bytes, tuple[Resource, ...], str]:
    def read(body: bytes) -> ParsedToolResult:
        return read_tool_result_request(
            body, max_depth=limits.json_depth, max_nodes=limits.json_nodes
        )

    json = await anyio.to_thread.run_sync(received.finish)
    found = await anyio.to_thread.run_sync(normalize_streamed, json, read, received.reserve_text)
    request = found.request
    keeper = MediaKeeper(blobs, PROJECT, limit_bytes=limits.medium_bytes, now=NOW)
    persisted = await persist_tool_media(
        found.normalized, keeper, session_resources={}, limits=limits
    )
    sanitized = build_sanitized_tool_result(
        persisted,
        tool_name=request.tool_name,
        tool_call_id=request.tool_call_id,
        success=request.success,
    )
    return encode_sanitized(sanitized), tuple(persisted.resources), found.identity.digest


def files_in(folder: Path) -> frozenset[str]:
    """Every file below a folder, by its path."""
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
