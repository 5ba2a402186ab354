"""Bodies whose media are moved out of values that a client gets back: pages, messages.

A long base64 string is in a draft while the rest of the body is parsed with a short placeholder for
it. Where the placeholder was read as one medium, the draft is that medium. A string that was read
as anything else, or whose text its bytes do not give back, is read again as the text it is.
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
    """A request read from a body, with its media in drafts and its identity.

    `is_quick` is true if work on its text is too short for a thread.
    """

    value: _T
    identity: RequestIdentity
    is_quick: bool
    media: StreamedMedia = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamedRequests:
    """Reads bodies whose long media stay out of memory."""

    bodies: StreamedBodies
    """Takes them in."""

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
        """Return what `read` makes of a body; its media last as long as the block.

        A body that is quickly worked on is read in the event loop, another one in a worker thread.

        Args:
            project_id: Whose it is.
            chunks: The body, within the caller's limit.
            parse: Returns the JSON value of a body.
            read: Checks it, and leaves it as it is; the strings in it may be placeholders.
            media_of: The media that are moved to the store, of those that a whole string is.
            identity_prefix: What tells the request from the same body elsewhere.

        Raises:
            OverloadedError: The memory that it takes is not free now.
            PayloadTooLargeError: There is too much text, or a medium is too large.
            StoreUnavailableError: A medium cannot be kept.
        """
        async with self.bodies.received(project_id, chunks) as body:
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
        if not string.must_be_text
        and string.plain_spelling is not None
        and (placeholder := string.placeholder(marks.mark(number)))
    }

    def parsed_and_read(text: bytes) -> tuple[JsonValue, _T]:
        value = parse(text)
        return value, read(value)

    def find_media(
        made: tuple[JsonValue, _T], placeholders: dict[int, Placeholder]
    ) -> tuple[tuple[JsonValue, _T], set[int]]:
        found = {uri.data for uri in media_of(made[1])} if placeholders else set()
        return made, {number for number, item in placeholders.items() if item.data not in found}

    (value, made), drafts = read_with_placeholders(
        json,
        placeholders,
        marks,
        read=parsed_and_read,
        find_media=find_media,
        hold_text=body.hold_text,
    )
    media = {draft.data: strings[number] for number, draft in drafts.items()}
    identity = identity_of_stream(json, value, drafts, prefix=identity_prefix)
    # A string that is no medium is text as well, and long.
    is_short = is_quick(*json.texts) and len(drafts) == len(strings)
    return StreamedRequest(made, identity, is_short, media)


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
