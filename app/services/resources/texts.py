"""Long text read back in pieces: lines, lines that hold something, values in JSON.

A text is read as a stream and takes the same memory whatever its size; only JSON is read whole,
up to a limit. What reads through a large text waits for its project's turn. Nothing is written.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import aclosing, nullcontext
from dataclasses import astuple, dataclass, field
from functools import partial

import anyio.from_thread

from app.errors import NotFoundError, UnsupportedMediaError
from app.models.limits import Limits
from app.services.concurrency.large_work import LARGE_BYTES, LargeWork, ProjectTurns
from app.services.memory_budget.budget import HeldMemory, MemoryBudget
from app.services.memory_budget.request_bodies import FREE_BYTES, grow_within
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
    ANSWER_BYTES,
    SHOWN_KEYS,
    JsonExcerpt,
    LineCollector,
    LineExcerpt,
    MatchCollector,
    Matches,
    json_excerpt,
)
from pagefault_dialects.texts.line_blocks import LineBlocks, LineIndex, LineIndexer

_INDEXES_KEPT = 256
# Parsed, a value takes up to 500 bytes.
_MOST_VALUES = 500_000
# Of the answers: what is changed about them has to change their entity-tags.
_VERSION = "2"


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What is wanted of a text: lines, the matches among them, or the value at a JSON pointer."""

    lines: LineRange = field(default_factory=LineRange)
    grep: str | None = None
    ignore_case: bool = False
    context: int = 0
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """What was found in the text of a resource; no `total_lines` for a value in JSON.

    `charset` is that which the text was decoded from, if it is none of Unicode's.
    """

    resource: Resource
    total_lines: int | None
    found: LineExcerpt | Matches | JsonExcerpt
    charset: str = ""


@dataclass(frozen=True, slots=True)
class AskedText:
    """A question about a text that is there, not yet answered.

    `read` answers it; see `ResourceTexts.find`. `digest` and `digest_alone`, 64 hex digits, are the
    same for the same question about the same resource; the latter is of the text alone.
    """

    read: Callable[[], Awaitable[TextAnswer]]
    digest: str
    digest_alone: str


@dataclass(frozen=True, slots=True, eq=False)
class ResourceTexts:
    """Reads the texts among the resources of a project."""

    resources: Resources
    """Where they are described."""
    blobs: BlobStore
    """Where they are."""
    work: LargeWork
    """Does what takes long."""
    memory: MemoryBudget
    """What JSON that is read whole takes its bytes from."""
    limits: Limits
    """How much JSON is read whole."""
    _turns: ProjectTurns = field(init=False, default_factory=ProjectTurns)
    _indexes: OrderedDict[tuple[str, str], LineIndex] = field(
        init=False, default_factory=OrderedDict
    )

    async def find(self, project_id: str, uri: str, query: TextQuery) -> AskedText:
        """Find a text, and how to read what is asked of it: what fits 64 KiB, and where to go on.

        Raises:
            NotFoundError: The project has no such resource or, on reading, the JSON no such value.
            UnsupportedMediaError: The resource is no text.
            InvalidPayloadError: On reading: a value is asked for, and the text is not JSON.
            PayloadTooLargeError: On reading: the JSON is too large to be read whole.
            OverloadedError: On reading: too many wait to read large texts of this project,
                or the memory to parse the JSON is not free.
            StoreUnavailableError: A store did not answer.
        """
        resource = await self.resources.get(project_id, uri)
        if not is_textual(resource.mime_type):
            raise UnsupportedMediaError(
                f"The resource is {resource.mime_type} and no text. Read its bytes from "
                "`/api/resources/{uri}/content`.",
                code="not-text",
            )
        asked = repr((_VERSION, resource.resource_id, resource.digest, *astuple(query)))
        digests = (hashlib.sha256(f"{form} {asked}".encode()) for form in ("json", "text"))
        read = partial(self._read, project_id, resource, query)
        return AskedText(read, *(each.hexdigest() for each in digests))

    async def _read(self, project_id: str, resource: Resource, query: TextQuery) -> TextAnswer:
        index = self._indexes.get((project_id, resource.digest))
        is_search = query.grep is not None or query.pointer is not None
        # Where it is known where the answer is, little has to be read.
        is_near = index is not None and index.is_dense and not is_search
        is_short = is_near or resource.size_bytes <= LARGE_BYTES
        async with nullcontext() if is_short else self._turns.turn(project_id):
            if query.pointer is not None:
                value, charset = await self._value(project_id, resource, query.pointer)
                return TextAnswer(resource, None, value, charset)
            index = await self._index(project_id, resource)
            first, last = query.lines.within(index.total_lines)
            collector = _collector(query, first, last)
            if first <= last:
                await self._collect(project_id, resource, index, collector, first=first)
            charset = charset_name(index.encoding)
            return TextAnswer(resource, index.total_lines, _found(collector), charset)

    async def _index(self, project_id: str, resource: Resource) -> LineIndex:
        # By project: how long an answer takes must not tell what others have stored.
        key = (project_id, resource.digest)
        if key in self._indexes:
            self._indexes.move_to_end(key)
            return self._indexes[key]
        indexer = LineIndexer(resource.mime_type)
        opened = await self.blobs.open(project_id, resource.digest)
        async with aclosing(opened) as reader:
            async for chunk in reader:
                await self.work.run(len(chunk), indexer.feed, chunk)
        index = self._indexes[key] = indexer.finish()
        if len(self._indexes) > _INDEXES_KEPT:
            self._indexes.popitem(last=False)
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
        start, line = index.place_before(first)
        scan = _Scan(index.encoding, start, line, collector)
        opened = await self.blobs.open(project_id, resource.digest, start=start)
        async with aclosing(opened) as reader:
            async for chunk in reader:
                await self.work.run(len(chunk), scan.feed, chunk)
                if collector.is_done:
                    return
        await self.work.run(min(resource.size_bytes, LARGE_BYTES), scan.finish)

    async def _value(
        self, project_id: str, resource: Resource, pointer: str
    ) -> tuple[JsonExcerpt, str]:
        limit = self.limits.page_text_bytes
        if resource.size_bytes > limit:
            raise PayloadTooLargeError(
                f"JSON of more than {limit} bytes is not taken apart. Read it with `lines` or "
                "`grep`.",
                code="json-too-large",
            )
        async with self.memory.holding(resource.size_bytes) as held:
            data = await read_whole(self.blobs, project_id, resource.digest)
            work = partial(self._value_in, held, data, resource.mime_type)
            return await self.work.run(len(data), work, pointer)

    def _value_in(
        self, held: HeldMemory, data: bytes, mime_type: str, pointer: str
    ) -> tuple[JsonExcerpt, str]:
        if len(data) > FREE_BYTES:
            weight = TextWeight()
            weight.add(data)
            needed = weight.work_bytes(len(data))
            anyio.from_thread.run_sync(grow_within, held, self.memory, needed)
        decoded = decode_any_text(data, mime_type) or LegacyText(decode_text(data), "")
        return _value_in(decoded.text, pointer, self.limits.json_depth), decoded.charset


def find_in_text(
    text: str, query: TextQuery, *, max_depth: int
) -> tuple[int | None, LineExcerpt | Matches | JsonExcerpt]:
    """Return how many lines a text has, and what is asked of it; see `ResourceTexts.find`."""
    if query.pointer is not None:
        if len(text) > LARGE_BYTES:
            # For more, memory would have to be reserved.
            raise PayloadTooLargeError(
                f"JSON of more than {LARGE_BYTES} characters is not taken apart here.",
                code="json-too-large",
            )
        return None, _value_in(text.encode("utf-8", "replace").decode(), query.pointer, max_depth)
    total = text.count("\n") + (not text.endswith("\n")) if text else 0
    first, last = query.lines.within(total)
    collector = _collector(query, first, last)
    blocks = LineBlocks()
    for block in [*blocks.feed(text), *blocks.finish()] if first <= last else ():
        collector.feed(block)
    return total, _found(collector)


def _collector(query: TextQuery, first: int, last: int) -> LineCollector | MatchCollector:
    if query.grep is None:
        return LineCollector(first, last)
    return MatchCollector(
        query.grep,
        ignore_case=query.ignore_case,
        context=query.context,
        first=first,
        last=last,
    )


def _found(collector: LineCollector | MatchCollector) -> LineExcerpt | Matches:
    return collector.excerpt() if isinstance(collector, LineCollector) else collector.matches()


class _Scan:
    """Bytes of a text on their way to a collector."""

    def __init__(
        self, encoding: str, start: int, line: int, collector: LineCollector | MatchCollector
    ) -> None:
        # Behind its beginning a text has no mark; one there is a character.
        self._decoder = text_decoder("utf-8" if encoding == UTF_8 and start else encoding)
        self._blocks = LineBlocks(line)
        self._collector = collector

    def feed(self, chunk: bytes) -> None:
        for block in self._blocks.feed(self._decoder.decode(chunk)):
            self._collector.feed(block)

    def finish(self) -> None:
        rest = self._decoder.decode(b"", final=True)
        for block in [*self._blocks.feed(rest), *self._blocks.finish()]:
            self._collector.feed(block)


def _value_in(text: str, pointer: str, max_depth: int) -> JsonExcerpt:
    names = parse_json_pointer(pointer) or ()
    limits = ScanLimits(max_depth, _MOST_VALUES, ANSWER_BYTES, SHOWN_KEYS)
    try:
        followed = scan_pointer(text, names, limits)
    except InvalidJsonError as exc:
        raise InvalidPayloadError(
            "The text of this resource is not JSON. Read it with `lines` or `grep`.",
            code="not-json",
        ) from exc
    except PayloadTooLargeError as exc:
        raise PayloadTooLargeError(
            f"JSON of more than {_MOST_VALUES} values, or nested deeper than {max_depth} levels, "
            "is not taken apart. Read it with `lines` or `grep`.",
            code=exc.problem_code,
        ) from exc
    if followed.steps < len(names):
        raise NotFoundError(
            "value",
            detail=f"The JSON has nothing there: of the {len(names)} names in the pointer, only "
            f"the first {followed.steps} lead somewhere. Ask for a shorter pointer to see what "
            "is there.",
            code="no-such-value",
        )
    return json_excerpt(followed.value, pointer)
