"""Bodies of pages and messages, whose values clients read back as they were sent.

Long base64 strings are written into drafts, and the rest of the body is parsed with placeholders.
If a placeholder is read as a medium, its draft becomes the medium. Otherwise, and if the text of
the string cannot be restored from its bytes, the body is read again with the string as text.
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
from pagefault_dialects.streams.placeholder_reading import read_with_placeholders, stream_digest
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StreamedRequest(Generic[_T]):
    """A parsed request, with its media in drafts and its identity.

    `is_quick` is true if its text can be processed in the event loop.
    """

    value: _T
    identity: RequestIdentity
    is_quick: bool
    media: StreamedMedia = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamedRequests:
    """Reads bodies whose long media stay out of memory."""

    bodies: StreamedBodies
    """Receives them."""

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
        """Receive and parse a body, and yield the request; its media are discarded after the block.

        A short body is parsed in the event loop, a long one in a worker thread.

        Args:
            project_id: The caller's project.
            chunks: The body, within the caller's limit.
            parse: Returns the JSON value of a body.
            read: Checks the value, and returns the request. Strings in it may be placeholders, so
                it must not change them.
            media_of: Returns the media to be moved to the store that are whole strings.
            identity_prefix: Distinguishes the request from one with the same body for another path.

        Raises:
            OverloadedError: The memory for it is not free now.
            PayloadTooLargeError: There is too much text, or a medium is too large.
            StoreUnavailableError: A draft cannot be written.
        """
        async with self.bodies.receive(project_id, chunks) as body:
            work = partial(_read_streamed, body, parse, read, media_of, identity_prefix)
            if body.is_quick:
                yield work()
            else:
                yield await self.bodies.work.run(body.bytes_in_memory, work)


def _read_streamed(
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
        and (placeholder := string.make_placeholder(marks.mark(number)))
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
    # Strings that did not become media are long texts.
    is_short = is_quick(*json.texts) and len(drafts) == len(strings)
    return StreamedRequest(request, identity, is_short, media)


def identity_of_stream(
    json: JsonStream[BlobDraft],
    value: JsonValue,
    placeholders: Mapping[int, Placeholder],
    *,
    prefix: bytes = b"",
) -> RequestIdentity:
    """Return the identity of the request in a body; blocks. See `stream_digest`.

    Raises:
        StoreUnavailableError: A draft cannot be read.
    """
    return RequestIdentity(
        stream_digest(json, value, placeholders, prefix=prefix),
        partial(json.digest_of_bytes, prefix) if json.is_whole else json.digest_of_bytes(prefix),
    )
