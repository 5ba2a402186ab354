"""Read a file as a session, without storing it.

The file is a transcript, a request or a response of a provider's API, or a bundle.

The entries are those that an import of the file would store. They are made in memory. Media become
resources with the ids that an import would give them, and the response has their bytes.
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
from pagefault_bundles import archive, line_types
from pagefault_bundles.bundle_lines import read_interaction, read_message, read_tool_result
from pagefault_bundles.bundle_reader import BundleCheck, read_bundle
from pagefault_bundles.session_file_shapes import encode_session_file
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
"""The longest session that is read. `pagefault doctor` has the same limit, `MAX_MESSAGES`."""

_ZIP = b"PK"
_MAX_UNPACKED_RATIO = 2
"""The most bytes of a bundle's members, as a multiple of the limit on the file."""
_BUNDLE_COPIES = 3
"""Copies of a bundle in memory: its lines and blobs, the entries, the response."""
_BUNDLES_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation that was read from a file."""

    format: Literal["json", "lines"]
    sent: SentConversation
    """The conversation, as if a client sent it to be stored."""
    times: Mapping[str, datetime]
    """The `timestamp` of messages, by their index in the file."""
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
        """Keep the bytes of several media; see `BlobStore.put_all`. Calls `meanwhile` before."""
        del project_id, limit_bytes
        return await anyio.to_thread.run_sync(self._keep, sources, meanwhile)

    def _keep(
        self, sources: Sequence[MediaSource], meanwhile: Callable[[], None] | None
    ) -> list[StoredBlob]:
        if meanwhile is not None:
            meanwhile()
        stored: list[StoredBlob] = []
        for source in sources:
            data = source.head(source.size_bytes)
            stored.append(StoredBlob(hashlib.sha256(data).hexdigest(), len(data)))
            self.blobs[stored[-1].digest] = data
        return stored


@dataclass(frozen=True, slots=True, eq=False)
class SessionFiles:
    """Reads files as sessions."""

    bodies: RequestBodies
    """Reads a conversation within the memory budget."""
    memory: MemoryBudget
    """The budget from which the memory for a bundle is reserved."""
    limits: Limits
    # The check of a bundle uses a whole processor core.
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
        async with self.bodies.read(chunks, partial(_parse, limits=self.limits)) as conversation:
            # Without media, `move_all` does not suspend, so even 30,000 of these calls are fast.
            moved_values = [
                await mover.move_all(message.value, message.parsed.media_strings)
                for message in conversation.sent.messages
            ]
            return await self.bodies.work.run(
                conversation.size_bytes,
                _encode_conversation,
                conversation,
                moved_values,
                media.blobs,
                now,
            )

    async def _read_bundle(self, project_id: str, chunks: AsyncIterator[bytes]) -> bytes:
        async with spool(chunks) as file, self._limiter:
            read = partial(
                read_bundle,
                use="read without being stored",
                remedy="Import it with `POST /api/sessions/import`.",
            )
            max_bytes = self.limits.session_file_bytes * _MAX_UNPACKED_RATIO
            bundle = await anyio.to_thread.run_sync(read, file, max_bytes)
            size_bytes = sum(each.size for each in bundle.manifest.files)
            async with self.memory.reserving(_BUNDLE_COPIES * size_bytes):
                check = BundleCheck(bundle, project_id, self.limits)
                return await anyio.to_thread.run_sync(_encode_bundle, check)


async def _rejoin(head: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for chunk in chunks:
        yield chunk


def _parse(body: bytes, *, limits: Limits) -> _Conversation:
    """Read a conversation; see `SessionFiles.read`."""
    # Programs on Windows begin texts with a byte order mark.
    body = body.removeprefix(codecs.BOM_UTF8)
    text = body.lstrip()
    if not text.startswith((b"{", b"[")):
        raise UnsupportedMediaError(f"This file is not read as a session. {FORMATS}")
    first, _, rest = text.partition(b"\n")
    are_lines = bool(rest.strip()) and _is_json(first, limits)
    reader = BodyReader(limits)
    try:
        value = reader.read(_join_lines(body) if are_lines else body)
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
        # This property is computed and cached here, in a thread, before the event loop reads it.
        _ = message.parsed
    file_format: Literal["json", "lines"] = "lines" if are_lines else "json"
    return _Conversation(file_format, sent, _read_times(value), reader.warnings, len(body))


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
    """Raise InvalidJsonError for the first line that is not JSON.

    If a line was cut, parsing all lines as one array would report the line after it.
    """
    for number, line in enumerate(lines.split(b"\n"), 1):
        if line.strip() and not _is_json(line, limits):
            raise InvalidJsonError(
                f"Line {number} of the file is not JSON. `pagefault doctor FILE` examines and "
                "mends transcripts."
            )


def _join_lines(lines: bytes) -> bytes:
    """Return lines of JSON as one array. It has the same lines, for line numbers in errors."""
    has_values = False
    pieces: list[bytes] = []
    for line in lines.split(b"\n"):
        is_value = bool(line.strip())
        pieces.append(b"," + line if is_value and has_values else line)
        has_values = has_values or is_value
    return b"[" + b"\n".join(pieces) + b"]"


def _read_times(value: JsonValue) -> Mapping[str, datetime]:
    """Return the `timestamp` of the elements of a list that have one, by their index as a text."""
    times: dict[str, datetime] = {}
    for index, item in enumerate(value if isinstance(value, list) else ()):
        text = item.get("timestamp") if isinstance(item, dict) else None
        if not isinstance(text, str):
            continue
        with suppress(ValueError, OverflowError):
            timestamp = datetime.fromisoformat(text)
            if timestamp.tzinfo is not None:
                times[str(index)] = timestamp.astimezone(UTC)
    return times


def _encode_conversation(
    conversation: _Conversation,
    moved_values: Sequence[MovedValue],
    blobs: Mapping[str, bytes],
    default_time: datetime,
) -> bytes:
    """Return the `SessionFile` of a conversation as JSON. This may take long: call it in a thread.

    Args:
        conversation: The conversation.
        moved_values: The values of its messages, with references in place of media.
        blobs: The bytes of the media, by digest.
        default_time: The time of messages that precede the first `timestamp`.
    """
    created_at = default_time
    entries: list[StoredHistoryMessage] = []
    resources: dict[str, Resource] = {}
    for seq, (message, value) in enumerate(
        zip(conversation.sent.messages, moved_values, strict=True), 1
    ):
        parsed, text = message.parsed, json_text(value.value)
        # Only the original forms of strings refer to other resources, and only exports need those.
        resources |= {
            each.resource_id: each for each in value.resources if each.resource_id in text
        }
        _, index, *_ = [*message.pointer.split("/", 2), ""]
        # A message without a time has that of the message before it.
        created_at = conversation.times.get(index, created_at)
        entries.append(
            StoredHistoryMessage(
                seq=seq,
                message_id=str(seq),
                created_at=created_at,
                tool_call_id=parsed.tool_call_id,
                request_digest="",
                message=parsed.to_stored(text.encode()),
                inline_form=dump_forms(parsed.to_stored_forms(value.forms)),
                dialect=parsed.dialect,
                reading=READER_VERSION,
                role=parsed.role,
            )
        )
    digests = {each.digest for each in resources.values()}
    return encode_session_file(
        conversation.format,
        entries,
        resources,
        {digest: data for digest, data in blobs.items() if digest in digests},
        dialect=conversation.sent.dialect,
        pointers=[message.pointer for message in conversation.sent.messages],
        skipped_count=conversation.sent.skipped_count,
        warnings=conversation.warnings,
    )


def _encode_bundle(check: BundleCheck) -> bytes:
    """Return the `SessionFile` of a bundle as JSON, after a check of its lines.

    This may take long: call it in a thread.

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
    return encode_session_file(
        "bundle",
        [*_read_bundle_entries(check, session.session_id)],
        check.resources,
        blobs,
        session_id=session.session_id,
    )


def _read_bundle_entries(check: BundleCheck, session_id: str) -> Iterator[StoredEntry]:
    """Yield the entries of a checked bundle in the order of `seq`."""
    lines = check.batches(archive.INTERACTIONS, line_types.INTERACTION_DECODER)
    interactions = [read_interaction(line, session_id) for batch in lines for line in batch]
    by_seq = {stored.seq: stored for stored in interactions}
    answered = {stored.answer_seq: stored for stored in interactions}
    for batch in check.batches(archive.HISTORY, line_types.HISTORY_DECODER):
        for line in batch:
            match line:
                case line_types.PromptLine():
                    # The response has no prompts.
                    continue
                case line_types.InteractionEntryLine():
                    yield by_seq[line.seq]
                case line_types.AnswerEntryLine():
                    stored = answered[line.seq]
                    yield StoredAnswer(
                        line.seq,
                        stored.interaction_id,
                        stored.answered_at or stored.created_at,
                        stored.output or b"null",
                    )
                case line_types.ToolResultLine():
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
                case line_types.MessageLine() | line_types.PageFaultLine():
                    yield read_message(line)
