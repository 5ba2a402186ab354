"""A streamed tool result normalized: drafts take the places of their placeholders.

Where a placeholder came out as a medium, and as nothing else, the medium is the
draft. Where it came out as anything else, all is read again with the string itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.models.media import InMemoryMedia, MediaSource
from app.models.normalized import NormalizedToolResult
from app.services.normalization import normalize_tool_result
from app.services.requests.identity import RequestIdentity
from app.services.requests.json_stream import JsonStream
from app.services.requests.long_strings import LongString, Marks, Placeholder
from app.services.requests.streamed_requests import (
    identity_of_stream,
    numbers_in,
    read_with_placeholders,
)
from app.services.tool_results.requests import ReadToolResult, ToolResultRequest
from app.stores.blobs import DraftMedia


@dataclass(frozen=True, slots=True)
class NormalizedRequest:
    """A request, its result normalized, and what it is known by."""

    request: ToolResultRequest
    normalized: NormalizedToolResult
    identity: RequestIdentity


def normalize_streamed(
    json: JsonStream,
    read: Callable[[bytes], ReadToolResult],
    hold_text: Callable[[int], None],
) -> NormalizedRequest:
    """The request in a body, with its result normalized; blocks.

    Args:
        json: The body.
        read: Parses and checks it. The strings of the request it gives may be placeholders.
        hold_text: Is told of every string that is needed as text, before it is in memory.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: As `read` and `hold_text`.
        StoreUnavailableError: What a draft holds cannot be read.
    """
    strings = json.long_strings
    if not strings:
        return _normalized(json, read(json.body(())))
    marks = Marks()
    firsts: dict[str, int] = {}
    placeholders: dict[int, Placeholder] = {}
    for number, string in enumerate(strings):
        if string.must_be_text:
            continue
        first = firsts.setdefault(string.draft.digest(), number)
        if placeholder := string.placeholder(marks.mark(number, first=first)):
            placeholders[number] = placeholder

    def settle(
        read: ReadToolResult, placeholders: dict[int, Placeholder]
    ) -> tuple[tuple[ReadToolResult, NormalizedToolResult], set[int]]:
        normalized = normalize_tool_result(read.request.result)
        settled, found = _settled(normalized, strings, placeholders)
        missing = {number for number, each in placeholders.items() if each.data not in found}
        return (read, settled), missing | (numbers_in(settled, marks) & placeholders.keys())

    (settled, normalized), left = read_with_placeholders(
        json, placeholders, marks, read=read, settle=settle, hold_text=hold_text
    )
    return NormalizedRequest(
        settled.request, normalized, identity_of_stream(json, settled.value, left)
    )


def whole_request(
    json: JsonStream, request: ToolResultRequest, read: Callable[[bytes], ReadToolResult]
) -> ToolResultRequest:
    """Return the request in a body that was normalized, without placeholders; may block.

    Args:
        json: The body.
        request: What `normalize_streamed` gave, perhaps with placeholders.
        read: Parses and checks it.
    """
    strings = json.long_strings
    if not strings:
        return request
    return read(json.body(string.raw() for string in strings)).request


def _normalized(json: JsonStream, read: ReadToolResult) -> NormalizedRequest:
    """A request in whose body there are no long strings."""
    normalized = normalize_tool_result(read.request.result)
    return NormalizedRequest(read.request, normalized, identity_of_stream(json, read.value, {}))


def _settled(
    normalized: NormalizedToolResult,
    strings: list[LongString],
    placeholders: dict[int, Placeholder],
) -> tuple[NormalizedToolResult, set[bytes]]:
    """The result with drafts in the places of the media that were placeholders, and their bytes."""
    numbers = {placeholder.data: number for number, placeholder in placeholders.items()}
    media = []
    found = set()
    for medium in normalized.media:
        data = _bytes_of(medium.source) if numbers else b""
        number = numbers.get(data)
        if number is None:
            media.append(medium)
            continue
        found.add(data)
        draft = DraftMedia(strings[number].draft, medium.source.declared_mime_type)
        media.append(replace(medium, source=draft))
    return replace(normalized, media=tuple(media)), found


def _bytes_of(source: MediaSource) -> bytes:
    return source.head(source.size_bytes) if isinstance(source, InMemoryMedia) else b""
