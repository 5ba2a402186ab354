"""Bodies whose media are moved out of values that a client gets back: pages, messages.

A long base64 string is in a draft while the rest of the body is parsed with a short placeholder for
it. Where the placeholder was read as one medium, the draft is that medium. A string that was read
as anything else, or whose text its bytes do not give back, is read again as the text it is.
"""

import re
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from json import JSONDecodeError
from typing import Any, Generic, TypeAlias, TypeVar, cast

from app.services.requests.json_stream import JsonStream
from app.services.requests.long_strings import LongString, Placeholder, PlaceholderMarks
from app.services.requests.request_identity import RequestIdentity, json_digest
from app.services.requests.streamed_bodies import ReceivedBody, StreamedBodies
from pagefault_dialects.errors import InvalidJsonError, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.data_uris import DataUriText
from pagefault_dialects.model.media import InMemoryMedia

_T = TypeVar("_T")
_Read = TypeVar("_Read")
_Settled = TypeVar("_Settled")
_PLACE = re.compile(r"\b((?:column|byte) )(\d+)")

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
    media_of: Callable[[_T], Iterable[DataUriText]],
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
    # A string that is no medium is text as well, and long.
    is_quick = json.is_quick and len(left) == len(strings)
    return StreamedRequest(made, identity, is_quick, media)


def read_with_placeholders(
    json: JsonStream,
    placeholders: dict[int, Placeholder],
    marks: PlaceholderMarks,
    *,
    read: Callable[[bytes], _Read],
    settle: Callable[[_Read, dict[int, Placeholder]], tuple[_Settled, set[int]]],
    hold_text: Callable[[int], None],
) -> tuple[_Settled, dict[int, Placeholder]]:
    """Read a body with short texts for its long strings, until each of these is a medium.

    Whoever reads knows nothing of this: in what is read every long string is a short text. Where
    that came out as a medium, and as nothing else, the medium is the draft. Where it came out as
    anything else, the string is needed as the text it is, and all is read again with it. A refusal
    says what it would say of the body that came.

    Args:
        json: The body.
        placeholders: What stands in for which of its long strings; the others are read as they are.
        marks: What the placeholders have in them.
        read: Parses and checks a body.
        settle: Returns what came of a body, and the numbers of the placeholders that are no media
            there; those strings are read as they are the next time.
        hold_text: Is told how long the strings are that are read as they are, before they are in
            memory.

    Returns:
        What came of the body in the end, and the placeholders that are still in it.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: As `read` and `hold_text`.
        StoreUnavailableError: What a draft holds cannot be read.
    """
    strings = json.long_strings
    as_text = set(range(len(strings))) - placeholders.keys()
    while True:
        hold_text(sum(strings[number].raw_bytes for number in as_text))
        try:
            raw_strings = (
                placeholders[number].raw if number in placeholders else string.raw()
                for number, string in enumerate(strings)
            )
            value = read(json.body(raw_strings))
        except InvalidJsonError as exc:
            raise _as_of_whole_body(exc, strings, placeholders) from exc
        except InvalidPayloadError as exc:
            # A fault points at its key, which may be a long string as well.
            as_text = numbers_in(exc.faults, marks) & placeholders.keys()
            if not as_text:
                raise
        else:
            settled, as_text = settle(value, placeholders)
            if not as_text:
                return settled, placeholders
        placeholders = {
            number: each for number, each in placeholders.items() if number not in as_text
        }


def identity_of_stream(
    json: JsonStream,
    value: JsonValue,
    placeholders: Mapping[int, Placeholder],
    *,
    prefix: bytes = b"",
) -> RequestIdentity:
    """Return what the request in a body is known by; blocks.

    Args:
        json: The body.
        value: What it was parsed to.
        placeholders: What stands in that value for which of the long strings.
        prefix: What tells it from the same body elsewhere.

    Raises:
        StoreUnavailableError: What a draft holds cannot be read.
    """
    strings = json.long_strings
    named: dict[str, dict[str, None]] = {}
    for number, each in placeholders.items():
        # Those that share a mark may differ in a character that is not in the short text.
        named.setdefault(each.text, {})[strings[number].name()] = None
    names = {text: "".join(each) for text, each in named.items()}
    return RequestIdentity(
        json_digest(
            value, prefix=prefix, body_bytes=None if strings else json.kept_bytes, names=names
        ),
        partial(json.digest_of_bytes, prefix) if json.is_whole else json.digest_of_bytes(prefix),
    )


def _as_of_whole_body(
    error: InvalidJsonError, strings: list[LongString], placeholders: dict[int, Placeholder]
) -> InvalidJsonError:
    """Return the error with the place it names as it is in the body that came."""
    cause = error.__cause__
    if isinstance(cause, JSONDecodeError):
        body = cause.doc[: cause.pos].encode()
    elif isinstance(cause, UnicodeDecodeError):
        body = cause.object[: cause.start]
    else:
        return error
    # No long string has a line break, so that what is missing is missing in its line.
    start = body.rfind(b"\n") + 1 if isinstance(cause, JSONDecodeError) else 0
    missing = 0
    ends: dict[bytes, int] = {}
    for number, placeholder in placeholders.items():
        # Equal strings have one placeholder, and the next of them is looked for behind the last.
        at = body.find(placeholder.raw, ends.get(placeholder.raw, 0))
        if at >= 0:
            ends[placeholder.raw] = at + len(placeholder.raw)
        if at >= start:
            missing += strings[number].raw_bytes - len(placeholder.raw)
    return InvalidJsonError(
        _PLACE.sub(lambda found: f"{found[1]}{int(found[2]) + missing}", error.detail)
    )


def numbers_in(value: object, marks: PlaceholderMarks) -> set[int]:
    """Return the placeholders that show in any text of a value, or in any medium in memory."""
    numbers: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            numbers |= marks.numbers_in(node)
        elif isinstance(node, dict):
            stack += (*node.keys(), *node.values())
        elif isinstance(node, list | tuple):
            stack += node
        elif isinstance(node, InMemoryMedia):
            stack += (node.head(node.size_bytes).decode("latin-1"), node.declared_mime_type)
        else:
            stack += (getattr(node, name) for name in _field_names(cast(Hashable, type(node))))
    return numbers


@cache
def _field_names(kind: Hashable) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass, of anything else none."""
    return tuple(each.name for each in fields(cast(Any, kind))) if is_dataclass(kind) else ()
