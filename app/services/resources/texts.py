"""Reads parts of long texts: lines, matching lines, and values in JSON.

A text is read as a stream, in constant memory. Only JSON is read whole, up to a limit. Reads of
large texts wait until it is the turn of their project.
"""

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing, nullcontext
from dataclasses import astuple, dataclass, field
from functools import partial

import anyio.from_thread
from cachetools import LRUCache

from app.errors import NotFoundError, UnsupportedMediaError
from app.models.limits import Limits
from app.services.concurrency.large_work import LARGE_BYTES, LargeWork, ProjectTurns
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation
from app.services.memory_budget.request_bodies import UNRESERVED_BYTES, grow_within
from app.services.resources.resources import Resources
from app.stores.blobs.store import BlobStore, read_whole
from pagefault_dialects.errors import InvalidJsonError, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.pointer_scanner import ScanLimits, scan_pointer
from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.media.legacy_charsets import LegacyText, charset_name, decode_any_text
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.streams.text_weight import TextWeight
from pagefault_dialects.text_windows import UTF_8, LineRange, decode_text, text_decoder
from pagefault_dialects.texts.excerpts import (
    RESPONSE_BYTES,
    SHOWN_KEYS,
    JsonExcerpt,
    LineCollector,
    LineExcerpt,
    MatchCollector,
    Matches,
    excerpt_json,
)
from pagefault_dialects.texts.line_blocks import LineBlockSplitter, LineIndex, LineIndexer

_MAX_INDEXES = 256
# A parsed value takes up to 500 bytes of memory.
_MAX_VALUES = 500_000
# A part of the entity-tags. Increase it if the same query has another result than before.
_VERSION = "2"


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query on a text: lines, matching lines, or the value at a JSON pointer."""

    lines: LineRange = field(default_factory=LineRange)
    """The lines to return, or to search."""
    grep: str | None = None
    """The text to search for."""
    ignore_case: bool = False
    context: int = 0
    """The number of lines to return before and after each matching line."""
    pointer: str | None = None
    """The JSON pointer of the value to return."""


@dataclass(frozen=True, slots=True)
class QueriedText:
    """The result of a query."""

    resource: Resource
    total_lines: int | None
    """The number of lines of the text; `None` for a value in JSON."""
    found: LineExcerpt | Matches | JsonExcerpt
    charset: str = ""
    """The encoding of the text, if it is not Unicode."""


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query on an existing text, before it is run.

    The digests identify the query and the resource, for entity-tags. They have 64 hex digits.
    """

    read: Callable[[], Awaitable[QueriedText]]
    """Runs the query; see `ResourceTexts.find`."""
    json_digest: str
    """The digest for a response as JSON."""
    text_digest: str
    """The digest for a response that is only the text."""


@dataclass(frozen=True, slots=True, eq=False)
class ResourceTexts:
    """Reads resources that are texts."""

    resources: Resources
    blobs: BlobStore
    work: LargeWork
    memory: MemoryBudget
    limits: Limits
    """Limits the size and depth of JSON that is read whole."""
    _turns: ProjectTurns = field(init=False, default_factory=ProjectTurns)
    _indexes: LRUCache[tuple[str, str], LineIndex] = field(
        init=False, default_factory=lambda: LRUCache(_MAX_INDEXES)
    )

    async def find(self, project_id: str, uri: str, query: TextQuery) -> PreparedQuery:
        """Find a text, and return a query that reads up to 64 KiB of it.

        The result of the query has the position from which to continue.

        Raises:
            NotFoundError: The resource does not exist.
            UnsupportedMediaError: The resource is not a text.
            StoreUnavailableError: A store did not respond.

        The query itself raises:
            NotFoundError: The JSON has no value at the pointer.
            InvalidPayloadError: The query has a pointer, and the text is not JSON.
            PayloadTooLargeError: The JSON is too large to be read whole.
            OverloadedError: Too many reads of large texts of this project are waiting, or there is
                not enough memory to parse the JSON.
            StoreUnavailableError: A store did not respond.
        """
        resource = await self.resources.get(project_id, uri)
        if not is_textual(resource.mime_type):
            raise UnsupportedMediaError(
                f"The resource is {resource.mime_type} and no text. Read its bytes from "
                "`/api/resources/{uri}/content`.",
                code="not-text",
            )
        query_key = repr((_VERSION, resource.resource_id, resource.digest, *astuple(query)))
        digests = (hashlib.sha256(f"{form} {query_key}".encode()) for form in ("json", "text"))
        read = partial(self._read, project_id, resource, query)
        return PreparedQuery(read, *(digest.hexdigest() for digest in digests))

    async def _read(self, project_id: str, resource: Resource, query: TextQuery) -> QueriedText:
        index = self._indexes.get((project_id, resource.digest))
        is_search = query.grep is not None or query.pointer is not None
        # A dense index has an offset near each line, so only a little text is read.
        is_indexed = index is not None and index.is_dense and not is_search
        is_short = is_indexed or resource.size_bytes <= LARGE_BYTES
        async with nullcontext() if is_short else self._turns.turn(project_id):
            if query.pointer is not None:
                value, charset = await self._read_value(project_id, resource, query.pointer)
                return QueriedText(resource, None, value, charset)
            index = await self._load_index(project_id, resource)
            first, last = query.lines.within(index.total_lines)
            collector = _make_collector(query, first, last)
            if first <= last:
                await self._collect(project_id, resource, index, collector, first=first)
            charset = charset_name(index.encoding)
            return QueriedText(resource, index.total_lines, _get_result(collector), charset)

    async def _load_index(self, project_id: str, resource: Resource) -> LineIndex:
        """Return the index of the lines of a text, from the cache if possible."""
        # The key has the project, so that response times do not reveal the files of other projects.
        key = (project_id, resource.digest)
        if (known := self._indexes.get(key)) is not None:
            return known
        indexer = LineIndexer(resource.mime_type)
        opened = await self.blobs.open(project_id, resource.digest)
        async with aclosing(opened) as reader:
            async for chunk in reader:
                await self.work.run(len(chunk), indexer.feed, chunk)
        index = self._indexes[key] = indexer.finish()
        return index

    async def _collect(
        self,
        project_id: str,
        resource: Resource,
        index: LineIndex,
        collector: LineCollector | MatchCollector,
        *,
        first: int,
    ) -> None:
        """Read a text from the line `first` until the collector is full."""
        start, line = index.find_checkpoint(first)
        scan = _Scan(index.encoding, start, line, collector)
        opened = await self.blobs.open(project_id, resource.digest, start=start)
        async with aclosing(opened) as reader:
            async for chunk in reader:
                await self.work.run(len(chunk), scan.feed, chunk)
                if collector.is_done:
                    return
        await self.work.run(min(resource.size_bytes, LARGE_BYTES), scan.finish)

    async def _read_value(
        self, project_id: str, resource: Resource, pointer: str
    ) -> tuple[JsonExcerpt, str]:
        limit = self.limits.page_text_bytes
        if resource.size_bytes > limit:
            raise PayloadTooLargeError(
                f"JSON of more than {limit} bytes is not taken apart. Read it with `lines` or "
                "`grep`.",
                code="json-too-large",
            )
        async with self.memory.reserving(resource.size_bytes) as memory:
            data = await read_whole(self.blobs, project_id, resource.digest)
            parse = partial(self._parse_value, memory, data, resource.mime_type)
            return await self.work.run(len(data), parse, pointer)

    def _parse_value(
        self, memory: MemoryReservation, data: bytes, mime_type: str, pointer: str
    ) -> tuple[JsonExcerpt, str]:
        if len(data) > UNRESERVED_BYTES:
            weight = TextWeight()
            weight.add(data)
            needed_bytes = weight.estimate_bytes(len(data))
            anyio.from_thread.run_sync(grow_within, memory, self.memory, needed_bytes)
        decoded = decode_any_text(data, mime_type) or LegacyText(decode_text(data), "")
        return _find_value(decoded.text, pointer, self.limits.json_depth), decoded.charset


def find_in_text(
    text: str, query: TextQuery, *, max_depth: int
) -> tuple[int | None, LineExcerpt | Matches | JsonExcerpt]:
    """Run a query on a text; return the number of lines of the text, and the result."""
    if query.pointer is not None:
        if len(text) > LARGE_BYTES:
            # Parsing larger JSON would need a reservation of memory.
            raise PayloadTooLargeError(
                f"JSON of more than {LARGE_BYTES} characters is not taken apart here.",
                code="json-too-large",
            )
        # Lone surrogates, which are not valid in JSON, become question marks.
        return None, _find_value(text.encode("utf-8", "replace").decode(), query.pointer, max_depth)
    total = text.count("\n") + (not text.endswith("\n")) if text else 0
    first, last = query.lines.within(total)
    collector = _make_collector(query, first, last)
    blocks = LineBlockSplitter()
    for block in [*blocks.feed(text), *blocks.finish()] if first <= last else ():
        collector.feed(block)
    return total, _get_result(collector)


def _make_collector(query: TextQuery, first: int, last: int) -> LineCollector | MatchCollector:
    if query.grep is None:
        return LineCollector(first, last)
    return MatchCollector(
        query.grep,
        ignore_case=query.ignore_case,
        context=query.context,
        first=first,
        last=last,
    )


def _get_result(collector: LineCollector | MatchCollector) -> LineExcerpt | Matches:
    return collector.finish()


class _Scan:
    """Decodes the bytes of a text, and passes its lines to a collector."""

    def __init__(
        self, encoding: str, start: int, line: int, collector: LineCollector | MatchCollector
    ) -> None:
        # Only the beginning of a text can have a byte order mark.
        self._decoder = text_decoder("utf-8" if encoding == UTF_8 and start else encoding)
        self._blocks = LineBlockSplitter(line)
        self._collector = collector

    def feed(self, chunk: bytes) -> None:
        for block in self._blocks.feed(self._decoder.decode(chunk)):
            self._collector.feed(block)

    def finish(self) -> None:
        rest = self._decoder.decode(b"", final=True)
        for block in [*self._blocks.feed(rest), *self._blocks.finish()]:
            self._collector.feed(block)


def _find_value(text: str, pointer: str, max_depth: int) -> JsonExcerpt:
    """Return the value at a JSON pointer in a text.

    Raises:
        InvalidPayloadError: The text is not JSON.
        PayloadTooLargeError: The JSON has too many values, or is nested too deep.
        NotFoundError: The JSON has no value at the pointer.
    """
    names = parse_json_pointer(pointer) or ()
    limits = ScanLimits(max_depth, _MAX_VALUES, RESPONSE_BYTES, SHOWN_KEYS)
    try:
        scanned = scan_pointer(text, names, limits)
    except InvalidJsonError as exc:
        raise InvalidPayloadError(
            "The text of this resource is not JSON. Read it with `lines` or `grep`.",
            code="not-json",
        ) from exc
    except PayloadTooLargeError as exc:
        raise PayloadTooLargeError(
            f"JSON of more than {_MAX_VALUES} values, or nested deeper than {max_depth} levels, "
            "is not taken apart. Read it with `lines` or `grep`.",
            code=exc.problem_code,
        ) from exc
    if scanned.steps < len(names):
        raise NotFoundError(
            "value",
            detail=f"The JSON has nothing there: of the {len(names)} names in the pointer, only "
            f"the first {scanned.steps} lead somewhere. Ask for a shorter pointer to see what "
            "is there.",
            code="no-such-value",
        )
    return excerpt_json(scanned.value, pointer)
