"""Reads the bodies of pages and messages without loading long media into memory.

While a body arrives, the bytes of long base64 strings are written into temporary files, *drafts*.
The rest of the body is parsed, with a short placeholder for each of these strings. Then the request
says which strings are media. The draft of such a string becomes the medium. All other strings are
texts, so the body is parsed again with these strings in it.

Clients read pages and messages back as they sent them. So a string also stays a text if the base64
that is made from its bytes would not equal the string.
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
    """The parsed body of a request."""

    value: _T
    """The value that the parameter `read` of `StreamedRequests.read` has returned."""
    identity: RequestIdentity
    """The digest of the body, by which a repeated request is recognised."""
    is_quick: bool
    """True if the body without media is short enough to be processed in the event loop."""
    media: StreamedMedia = field(default_factory=dict)
    """The media in drafts, by the placeholders that are in `value`."""


@dataclass(frozen=True, slots=True)
class StreamedRequests:
    """Reads bodies without loading their long media into memory."""

    bodies: StreamedBodies
    """Receives bodies, and writes drafts."""

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

        Drafts that are not stored in the block are discarded after it. A short body is parsed in
        the event loop, a long one in a thread.

        Args:
            project_id: The caller's project.
            chunks: The body. The caller limits its size.
            parse: Returns the JSON value of a body.
            read: Checks the JSON value, and returns the value of the request. Strings in it may be
                placeholders, which `read` must not change.
            media_of: Returns the media in the value of a request that are moved to the blob store.
                Each of them is a whole string.
            identity_prefix: Text that is part of the digest, such as the path, to distinguish the
                request from others with the same body.

        Raises:
            OverloadedError: There is not enough free memory.
            PayloadTooLargeError: The body without media is too large, or a medium is too large.
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
    """Parse a received body; see `StreamedRequests.read` for the arguments."""
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
        media = {uri.data for uri in media_of(parsed[1])} if placeholders else set()
        texts = {number for number, item in placeholders.items() if item.data not in media}
        return parsed, texts

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
    """Compute the digest of a body, in a thread if the body is long.

    Args:
        json: The body, with its long strings in drafts.
        value: The parsed body.
        placeholders: The placeholders in `value`, by the number of the long string.
        prefix: Text that is part of the digest.

    Raises:
        StoreUnavailableError: A draft cannot be read.
    """
    return RequestIdentity(
        compute_stream_digest(json, value, placeholders, prefix=prefix),
        partial(json.compute_byte_digest, prefix)
        if json.is_whole
        else json.compute_byte_digest(prefix),
    )
