"""Reads bodies with pages and messages, whose values clients read back as they were sent.

Long base64 strings are written into drafts, and the rest of the body is parsed with placeholders.
If a placeholder is read as a medium, its draft becomes the medium. Otherwise the body is parsed
again with the string as text. This is also done if the string could not be restored from its bytes.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from app.services.concurrency.large_work import is_quick
from app.services.requests.request_identity import RequestIdentity
from app.services.requests.streamed_bodies import ReceivedBody, StreamedBodies
from app.stores.blobs.draft_media import StreamedMedia
from app.stores.blobs.store import BlobDraft
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.data_uris import SplitDataUri
from pagefault_dialects.streams.json_stream import JsonStream
from pagefault_dialects.streams.placeholder_reading import (
    compute_stream_digest,
    read_with_placeholders,
)
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StreamedRequest(Generic[_T]):
    """A parsed request."""

    value: _T
    """The result of `read`."""
    identity: RequestIdentity
    is_quick: bool
    """True if the text is so short that it can be processed in the event loop."""
    media: StreamedMedia = field(default_factory=dict)
    """The media in drafts, by their placeholders."""


@dataclass(frozen=True, slots=True)
class StreamedRequests:
    """Reads bodies without loading their long media into memory."""

    bodies: StreamedBodies
    """Receives bodies."""

    @asynccontextmanager
    async def read(
        self,
        project_id: str,
        chunks: AsyncIterator[bytes],
        parse: Callable[[bytes], JsonValue],
        read: Callable[[JsonValue], _T],
        *,
        media_of: Callable[[_T], Iterable[SplitDataUri]],
        identity_prefix: bytes = b"",
    ) -> AsyncIterator[StreamedRequest[_T]]:
        """Receive and parse a body, and yield the request.

        Media that are not stored in the block are discarded after it. A short body is parsed in the
        event loop, a long one in a thread.

        Args:
            project_id: The caller's project.
            chunks: The body, within the caller's limit.
            parse: Returns the JSON value of a body.
            read: Checks the value, and returns the request. Strings in the value may be
                placeholders, which `read` must not change.
            media_of: Returns those media of a request that are whole strings, and that are moved to
                the blob store.
            identity_prefix: Distinguishes the request from a request to another path with the same
                body.

        Raises:
            OverloadedError: There is not enough free memory.
            PayloadTooLargeError: There is too much text, or a medium is too large.
            StoreUnavailableError: A draft cannot be written.
        """
        async with self.bodies.receive(project_id, chunks) as body:
            read_body = partial(_read_body, body, parse, read, media_of, identity_prefix)
            if body.is_quick:
                yield read_body()
            else:
                yield await self.bodies.work.run(body.bytes_in_memory, read_body)


def _read_body(
    body: ReceivedBody,
    parse: Callable[[bytes], JsonValue],
    read: Callable[[JsonValue], _T],
    media_of: Callable[[_T], Iterable[SplitDataUri]],
    identity_prefix: bytes,
) -> StreamedRequest[_T]:
    json = body.finish()
    strings = json.long_strings
    marks = PlaceholderMarks()
    placeholders: dict[int, Placeholder] = {
        number: placeholder
        for number, string in enumerate(strings)
        if not string.needs_whole_text
        and string.plain_spelling is not None
        and (placeholder := string.make_placeholder(marks.make_mark(number)))
    }

    def parse_and_read(text: bytes) -> tuple[JsonValue, _T]:
        value = parse(text)
        return value, read(value)

    def find_media(
        parsed: tuple[JsonValue, _T], placeholders: dict[int, Placeholder]
    ) -> tuple[tuple[JsonValue, _T], set[int]]:
        found = {uri.data for uri in media_of(parsed[1])} if placeholders else set()
        return parsed, {number for number, item in placeholders.items() if item.data not in found}

    (value, request), drafts = read_with_placeholders(
        json,
        placeholders,
        marks,
        read=parse_and_read,
        find_media=find_media,
        reserve_text=body.reserve_text,
    )
    media = {draft.data: strings[number] for number, draft in drafts.items()}
    identity = identity_of_stream(json, value, drafts, prefix=identity_prefix)
    # A long string that did not become a medium is a long text.
    is_short = is_quick(*json.texts) and len(drafts) == len(strings)
    return StreamedRequest(request, identity, is_short, media)


def identity_of_stream(
    json: JsonStream[BlobDraft],
    value: JsonValue,
    placeholders: Mapping[int, Placeholder],
    *,
    prefix: bytes = b"",
) -> RequestIdentity:
    """Return the identity of the request in a body; see `compute_stream_digest`. Blocks.

    Raises:
        StoreUnavailableError: A draft cannot be read.
    """
    return RequestIdentity(
        compute_stream_digest(json, value, placeholders, prefix=prefix),
        partial(json.compute_byte_digest, prefix)
        if json.is_whole
        else json.compute_byte_digest(prefix),
    )
