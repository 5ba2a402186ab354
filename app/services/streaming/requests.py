"""Bodies whose media are moved out of values that a client gets back: pages, messages.

A long base64 string is in a draft while the rest of the body is parsed with a short stand-in for
it. Where the stand-in was read as one medium, the draft is that medium. A string that was read as
anything else, or whose text its bytes do not give back, is read again as the text it is.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from app.services.inline_media.data_uris import DataUriText
from app.services.large_work import LargeWork
from app.services.streaming.bodies import ReceivedBody, StreamedBodies
from app.services.streaming.long_strings import LongString, Marks, StandIn
from app.services.streaming.stand_ins import read_with_stand_ins

_T = TypeVar("_T")

StreamedMedia: TypeAlias = Mapping[bytes, LongString]
"""Media in drafts, by the bytes of what stands in for them."""


@dataclass(frozen=True, slots=True)
class StreamedRequest(Generic[_T]):
    """What was read from a body, the media of it that are in drafts, and the body's digest."""

    value: _T
    digest: str
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
        read: Callable[[bytes], _T],
        *,
        media_of: Callable[[_T], Iterable[DataUriText]],
        digest_prefix: bytes = b"",
    ) -> AsyncIterator[StreamedRequest[_T]]:
        """What `read` makes of a body, in a worker thread; its media last as long as the block.

        Args:
            project_id: Whose it is.
            chunks: The body, within the caller's limit.
            read: Parses and checks it; the strings in it may be stand-ins.
            media_of: The media that are moved to the store, of those that a whole string is.
            digest_prefix: What the digest covers before the body.

        Raises:
            OverloadedError: The memory that it takes is not free now.
            PayloadTooLargeError: There is too much text, or a medium is too large.
            StoreUnavailableError: A medium cannot be kept.
        """
        async with self._bodies.received(project_id, chunks) as body:
            yield await self._work.run(
                body.bytes_in_memory, _read_streamed, body, read, media_of, digest_prefix
            )


def _read_streamed(
    body: ReceivedBody,
    read: Callable[[bytes], _T],
    media_of: Callable[[_T], Iterable[DataUriText]],
    digest_prefix: bytes,
) -> StreamedRequest[_T]:
    json = body.finish()
    digest = json.digest(digest_prefix)
    strings = json.long_strings
    marks = Marks()
    stand_ins: dict[int, StandIn] = {
        number: stand_in
        for number, string in enumerate(strings)
        if not string.must_be_text
        and string.plain_spelling is not None
        and (stand_in := string.stand_in(marks.mark(number)))
    }

    def settle(value: _T, stand_ins: dict[int, StandIn]) -> tuple[StreamedRequest[_T], set[int]]:
        found = {uri.data for uri in media_of(value)} if stand_ins else set()
        media = {each.data: strings[number] for number, each in stand_ins.items()}
        as_text = {number for number, each in stand_ins.items() if each.data not in found}
        return StreamedRequest(value, digest, media), as_text

    return read_with_stand_ins(
        json, stand_ins, marks, read=read, settle=settle, hold_text=body.hold_text
    )
