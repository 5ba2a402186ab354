"""Read a file as a session: a transcript, a body of a provider, or a bundle. Nothing is stored.

The entries are those that an import of the file would store, made in memory. Media become resources
with the same ids, and the answer has their bytes.
"""

import codecs
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Literal

import anyio
import anyio.to_thread

from app.errors import UnsupportedMediaError
from app.models.identity import utc_now
from app.models.limits import MIB, Limits
from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.models.stored_interaction import StoredAnswer
from app.services.agents.conversation_units import SentConversation, read_sent
from app.services.inline_media.media_mover import MediaMover, MovedValue
from app.services.media.media_keeper import MediaKeeper
from app.services.memory_budget.budget import MemoryBudget
from app.services.requests.body_reader import BodyReader
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import StoredBlob
from pagefault_bundles import archive, rows
from pagefault_bundles.bundle_lines import read_interaction, read_message, read_tool_result
from pagefault_bundles.bundle_reader import BundleCheck, read_bundle
from pagefault_bundles.session_file_shapes import session_file
from pagefault_bundles.spooled_files import spool
from pagefault_dialects.errors import InvalidJsonError, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, json_text, parse_json
from pagefault_dialects.media.embedded_data_uris import dump_forms
from pagefault_dialects.messages.entry_reading import READER_VERSION
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.model.resource import Resource

FORMATS = (
    "The formats are: transcripts of Claude Code and Codex and other lists of messages (JSON or "
    "JSON lines), requests and responses of providers, and bundles of Pagefault (zip)."
)
MAX_ENTRIES = 30_000
"""The longest session that is read; the doctor has the same limit."""

_ZIP = b"PK"
_UNPACKED = 2
"""The factor by which the members of a bundle may be longer than a file."""
_COPIES = 3
"""Copies of a bundle in memory: its lines and blobs, the entries, the answer."""
_BUNDLES_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation in a file. `times` are the moments that elements of a list name."""

    format: Literal["json", "lines"]
    sent: SentConversation
    times: Mapping[str, datetime]
    warnings: Sequence[BodyWarning]
    size_bytes: int


@dataclass(slots=True)
class _MediaInMemory:
    """The bytes of media by digest, in place of a blob store."""

    blobs: dict[str, bytes] = field(default_factory=dict)

    async def put_all(
        self,
        project_id: str,
        sources: Sequence[MediaSource],
        *,
        limit_bytes: int,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[StoredBlob]:
        """Keep the bytes of several media; see `BlobStore.put_all`."""
        del project_id, limit_bytes
        return await anyio.to_thread.run_sync(self._keep, sources, meanwhile)

    def _keep(
        self, sources: Sequence[MediaSource], meanwhile: Callable[[], None] | None
    ) -> list[StoredBlob]:
        if meanwhile is not None:
            meanwhile()
        kept: list[StoredBlob] = []
        for source in sources:
            data = source.head(source.size_bytes)
            kept.append(StoredBlob(hashlib.sha256(data).hexdigest(), len(data)))
            self.blobs[kept[-1].digest] = data
        return kept


@dataclass(frozen=True, slots=True, eq=False)
class SessionFiles:
    """Reads files as sessions."""

    bodies: RequestBodies
    """Reads a conversation within the memory budget."""
    memory: MemoryBudget
    """The memory of bundles."""
    limits: Limits
    # A check takes a processor.
    _limiter: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(_BUNDLES_AT_ONCE)
    )

    def check_length(self, size_bytes: int) -> None:
        """Raise PayloadTooLargeError if a file has too many bytes."""
        if size_bytes > self.limits.session_file_bytes:
            raise PayloadTooLargeError(
                f"A file may have {self.limits.session_file_bytes // MIB} MiB to be read without "
                "being stored. Store a longer one: a transcript with `pagefault ingest FILE "
                "--session NAME`, another conversation with "
                "`PUT /api/sessions/{session_id}/history`, a bundle with "
                "`POST /api/sessions/import`."
            )

    async def read(self, project_id: str, chunks: AsyncIterator[bytes]) -> bytes:
        """Return the `SessionFile` of a file as JSON. Its first bytes decide how it is read.

        Args:
            project_id: The caller's project, which ids of resources depend on.
            chunks: The bytes of the file.

        Raises:
            UnsupportedMediaError: The file is neither JSON nor a zip.
            InvalidJsonError, InvalidPayloadError: It has no conversation, or invalid JSON.
            InvalidBundleError: It is a zip, but not an intact bundle.
            PayloadTooLargeError: It has too many bytes, values or messages.
            OverloadedError: There is no memory for it now.
        """
        chunks = self._within_limit(chunks)
        head = b""
        while len(head) < len(_ZIP) and (chunk := await anext(chunks, b"")):
            head += chunk
        file = _rejoin(head, chunks)
        if head.startswith(_ZIP):
            return await self._read_bundle(project_id, file)
        return await self._read_conversation(project_id, file)

    async def _within_limit(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size_bytes = 0
        async for chunk in chunks:
            size_bytes += len(chunk)
            self.check_length(size_bytes)
            yield chunk

    async def _read_conversation(self, project_id: str, chunks: AsyncIterator[bytes]) -> bytes:
        now, media = utc_now(), _MediaInMemory()
        keeper = MediaKeeper(media, project_id, limit_bytes=self.limits.medium_bytes, now=now)
        mover = MediaMover(keeper, max_media=self.limits.media_per_result)
        async with self.bodies.read(chunks, partial(_parse, limits=self.limits)) as read:
            # Of a message without media nothing is moved, and nothing waits.
            moved = [
                await mover.move_all(message.value, message.parsed.media_strings)
                for message in read.sent.messages
            ]
            return await self.bodies.work.run(
                read.size_bytes, _conversation_file, read, moved, media.blobs, now
            )

    async def _read_bundle(self, project_id: str, chunks: AsyncIterator[bytes]) -> bytes:
        async with spool(chunks) as file, self._limiter:
            read = partial(
                read_bundle,
                use="read without being stored",
                remedy="Import it with `POST /api/sessions/import`.",
            )
            max_bytes = self.limits.session_file_bytes * _UNPACKED
            bundle = await anyio.to_thread.run_sync(read, file, max_bytes)
            size_bytes = sum(each.size for each in bundle.manifest.files)
            async with self.memory.reserving(_COPIES * size_bytes):
                check = BundleCheck(bundle, project_id, self.limits)
                return await anyio.to_thread.run_sync(_bundle_file, check)


async def _rejoin(head: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for chunk in chunks:
        yield chunk


def _parse(body: bytes, *, limits: Limits) -> _Conversation:
    """Read a conversation; see `SessionFiles.read`."""
    # Programs of Windows begin texts with a byte order mark.
    body = body.removeprefix(codecs.BOM_UTF8)
    text = body.lstrip()
    if not text.startswith((b"{", b"[")):
        raise UnsupportedMediaError(f"This file is not read as a session. {FORMATS}")
    first, _, rest = text.partition(b"\n")
    are_lines = bool(rest.strip()) and _is_json(first, limits)
    reader = BodyReader(limits)
    try:
        value = reader.read(_as_array(body) if are_lines else body)
    except InvalidJsonError:
        if are_lines:
            _check_lines(body, limits)
        raise
    try:
        sent = read_sent(value)
    except InvalidPayloadError as exc:
        raise InvalidPayloadError(f"{exc.detail} {FORMATS}", faults=exc.faults) from exc
    _check_count(len(sent.messages))
    for message in sent.messages:
        # Computed here, since the event loop reads it.
        _ = message.parsed
    form: Literal["json", "lines"] = "lines" if are_lines else "json"
    return _Conversation(form, sent, _times(value), reader.warnings, len(body))


def _check_count(entries: int) -> None:
    if entries > MAX_ENTRIES:
        raise PayloadTooLargeError(
            f"The file has {entries:,} entries; at most {MAX_ENTRIES:,} are read without being "
            "stored. Store it instead."
        )


def _is_json(line: bytes, limits: Limits) -> bool:
    try:
        parse_json(line, max_depth=limits.json_depth, max_nodes=limits.json_nodes)
    except InvalidJsonError:
        return False
    return True


def _check_lines(lines: bytes, limits: Limits) -> None:
    """Raise InvalidJsonError at the first line that is not JSON.

    The parser of all lines finds one that was cut a line later.
    """
    for number, line in enumerate(lines.split(b"\n"), 1):
        if line.strip() and not _is_json(line, limits):
            raise InvalidJsonError(
                f"Line {number} of the file is not JSON. `pagefault doctor FILE` examines and "
                "mends transcripts."
            )


def _as_array(lines: bytes) -> bytes:
    """Return lines of JSON as one array, in the same lines, so that errors name them."""
    has_values = False
    pieces: list[bytes] = []
    for line in lines.split(b"\n"):
        is_value = bool(line.strip())
        pieces.append(b"," + line if is_value and has_values else line)
        has_values = has_values or is_value
    return b"[" + b"\n".join(pieces) + b"]"


def _times(value: JsonValue) -> Mapping[str, datetime]:
    """Return the moments at which elements of a list were written, by the index in pointers."""
    times: dict[str, datetime] = {}
    for index, item in enumerate(value if isinstance(value, list) else ()):
        text = item.get("timestamp") if isinstance(item, dict) else None
        if not isinstance(text, str):
            continue
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                times[str(index)] = moment.astimezone(UTC)
    return times


def _conversation_file(
    read: _Conversation, moved: Sequence[MovedValue], blobs: Mapping[str, bytes], now: datetime
) -> bytes:
    """Return the answer for a conversation; blocks."""
    entries: list[StoredHistoryMessage] = []
    resources: dict[str, Resource] = {}
    for seq, (message, value) in enumerate(zip(read.sent.messages, moved, strict=True), 1):
        described, text = message.parsed, json_text(value.value)
        # The text around lifted media is kept for exports only.
        resources |= {
            each.resource_id: each for each in value.resources if each.resource_id in text
        }
        _, index, *_ = [*message.pointer.split("/", 2), ""]
        now = read.times.get(index, now)
        entries.append(
            StoredHistoryMessage(
                seq=seq,
                message_id=str(seq),
                created_at=now,
                tool_call_id=described.tool_call_id,
                request_digest="",
                message=described.to_stored(text.encode()),
                inline_form=dump_forms(described.to_stored_forms(value.forms)),
                dialect=described.dialect,
                reading=READER_VERSION,
                role=described.role,
            )
        )
    digests = {each.digest for each in resources.values()}
    return session_file(
        read.format,
        entries,
        resources,
        {digest: data for digest, data in blobs.items() if digest in digests},
        dialect=read.sent.dialect,
        pointers=[message.pointer for message in read.sent.messages],
        passed_over=read.sent.passed_over,
        warnings=read.warnings,
    )


def _bundle_file(check: BundleCheck) -> bytes:
    """Return the answer for a bundle, after a check of its lines; blocks.

    Raises:
        InvalidBundleError: A line is invalid.
        PayloadTooLargeError: The session is too long.
    """
    session = check.run()
    counts = session.counts
    _check_count(
        counts.tool_results
        + counts.page_faults
        + counts.messages
        + counts.interactions
        + counts.answers
    )
    names = {digest: archive.BLOBS + digest for digest in check.file.blobs}
    blobs = {digest: b"".join(check.file.chunks(name)) for digest, name in names.items()}
    return session_file(
        "bundle",
        [*_bundle_entries(check, session.session_id)],
        check.resources,
        blobs,
        session_id=session.session_id,
    )


def _bundle_entries(check: BundleCheck, session_id: str) -> Iterator[StoredEntry]:
    """Yield the entries of a checked bundle in the order of `seq`."""
    lines = check.batches(archive.INTERACTIONS, rows.INTERACTION_LINES)
    interactions = [read_interaction(line, session_id) for batch in lines for line in batch]
    by_seq = {stored.seq: stored for stored in interactions}
    answered = {stored.answer_seq: stored for stored in interactions}
    for batch in check.batches(archive.HISTORY, rows.HISTORY_LINES):
        for line in batch:
            match line:
                case rows.PromptLine():
                    continue
                case rows.InteractionEntryLine():
                    yield by_seq[line.seq]
                case rows.AnswerEntryLine():
                    stored = answered[line.seq]
                    yield StoredAnswer(
                        line.seq,
                        stored.interaction_id,
                        stored.answered_at or stored.created_at,
                        stored.output or b"null",
                    )
                case rows.ToolResultLine():
                    result = read_tool_result(line, session_id).result
                    yield StoredMessage(
                        seq=line.seq,
                        message_id=line.id,
                        created_at=result.created_at,
                        tool_call_id=result.tool_call_id,
                        tool_name=result.tool_name,
                        sanitized=result.sanitized,
                        answer_number=result.answer_number,
                        is_apart=result.is_apart,
                    )
                case rows.MessageLine() | rows.PageFaultLine():
                    yield read_message(line)
