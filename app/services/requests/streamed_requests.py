"""Bodies whose media are moved out of values that a client gets back: pages, messages.

A long base64 string is in a draft while the rest of the body is parsed with a short placeholder for
it. Where the placeholder was read as one medium, the draft is that medium. A string that was read
as anything else, or whose text its bytes do not give back, is read again as the text it is.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from app.media.data_uris import DataUriText
from app.models.json_value import JsonValue
from app.services.concurrency.large_work import LargeWork
from app.services.requests.identity import RequestIdentity
from app.services.requests.long_strings import LongString, Marks, Placeholder
from app.services.requests.placeholders import identity_of_stream, read_with_placeholders
from app.services.requests.streamed_bodies import ReceivedBody, StreamedBodies

_T = TypeVar("_T")

StreamedMedia: TypeAlias = Mapping[bytes, LongString]
"""Media in drafts, by the bytes of what stands in for them."""


@dataclass(frozen=True, slots=True)
class StreamedRequest(Generic[_T]):
    """What was read from a body, the media of it that are in drafts, and what it is known by.

    `is_quick` says that what its text becomes is not worth a thread.
    """

    value: _T
    identity: RequestIdentity
    is_quick: bool
    media: StreamedMedia = field(default_factory=dict)


class StreamedRequests:
    """Reads bodies whose long media stay out of memory.

    Args:
        bodies: Takes them in.
        work: Keeps what is done at once in bounds.
    """

    def __init__(self, bodies: StreamedBodies, work: LargeWork) -> None:
        self._bodies = bodies
        self._work = work

    @asynccontextmanager
    async def read(
        self,
        project_id: str,
        chunks: AsyncIterator[bytes],
        parse: Callable[[bytes], JsonValue],
        read: Callable[[JsonValue], _T],
        *,
        media_of: Callable[[_T], Iterable[DataUriText]],
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
        async with self._bodies.received(project_id, chunks) as body:
            if body.is_quick:
                yield _read_streamed(body, parse, read, media_of, identity_prefix)
            else:
                size_bytes = body.bytes_in_memory
                yield await self._work.run(
                    size_bytes, _read_streamed, body, parse, read, media_of, identity_prefix
                )


def _read_streamed(
    body: ReceivedBody,
    parse: Callable[[bytes], JsonValue],
    read: Callable[[JsonValue], _T],
    media_of: Callable[[_T], Iterable[DataUriText]],
    identity_prefix: bytes,
) -> StreamedRequest[_T]:
    json = body.finish()
    strings = json.long_strings
    marks = Marks()
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

    def settle(
        made: tuple[JsonValue, _T], placeholders: dict[int, Placeholder]
    ) -> tuple[tuple[JsonValue, _T], set[int]]:
        found = {uri.data for uri in media_of(made[1])} if placeholders else set()
        return made, {number for number, each in placeholders.items() if each.data not in found}

    (value, made), left = read_with_placeholders(
        json, placeholders, marks, read=parsed_and_read, settle=settle, hold_text=body.hold_text
    )
    media = {each.data: strings[number] for number, each in left.items()}
    identity = identity_of_stream(json, value, left, prefix=identity_prefix)
    return StreamedRequest(made, identity, json.is_quick, media)
