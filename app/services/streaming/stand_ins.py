"""A streamed body normalized: stand-ins are read, and what they stood for takes their places.

Normalization knows nothing of this: it reads a body in which every long string is a short text.
Where that came out as a medium, and as nothing else, the medium is the draft. Where it came out as
anything else, the string is needed as the text it is, and all is read again with it. A refusal says
what it would say of the body that came.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from json import JSONDecodeError
from typing import TypeVar

from app.errors import InvalidJsonError, InvalidPayloadError
from app.models.json_value import JsonValue
from app.models.media import InMemoryMedia, MediaSource
from app.models.normalized import NormalizedToolResult
from app.services.normalization import normalize_tool_result
from app.services.request_identity import RequestIdentity, json_digest
from app.services.streaming.json_stream import JsonStream
from app.services.streaming.long_strings import LongString, Marks, StandIn
from app.services.tool_result_requests import ReadToolResult, ToolResultRequest
from app.stores.blobs import DraftMedia

_Read = TypeVar("_Read")
_Settled = TypeVar("_Settled")
_PLACE = re.compile(r"\b((?:column|byte) )(\d+)")


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
        read: Parses and checks it. The strings of the request it gives may be stand-ins.
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
    stand_ins: dict[int, StandIn] = {}
    for number, string in enumerate(strings):
        if string.must_be_text:
            continue
        first = firsts.setdefault(string.draft.digest(), number)
        if stand_in := string.stand_in(marks.mark(number, first=first)):
            stand_ins[number] = stand_in

    def settle(
        read: ReadToolResult, stand_ins: dict[int, StandIn]
    ) -> tuple[tuple[ReadToolResult, NormalizedToolResult], set[int]]:
        normalized = normalize_tool_result(read.request.result)
        settled, found = _settled(normalized, strings, stand_ins)
        missing = {number for number, each in stand_ins.items() if each.data not in found}
        return (read, settled), missing | (_numbers_in(settled, marks) & stand_ins.keys())

    (settled, normalized), left = read_with_stand_ins(
        json, stand_ins, marks, read=read, settle=settle, hold_text=hold_text
    )
    return NormalizedRequest(
        settled.request, normalized, identity_of_stream(json, settled.value, left)
    )


def whole_request(
    json: JsonStream, request: ToolResultRequest, read: Callable[[bytes], ReadToolResult]
) -> ToolResultRequest:
    """The request in a body that was normalized, without stand-ins; blocks if it has long strings.

    Args:
        json: The body.
        request: What `normalize_streamed` gave, perhaps with stand-ins.
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


def read_with_stand_ins(
    json: JsonStream,
    stand_ins: dict[int, StandIn],
    marks: Marks,
    *,
    read: Callable[[bytes], _Read],
    settle: Callable[[_Read, dict[int, StandIn]], tuple[_Settled, set[int]]],
    hold_text: Callable[[int], None],
) -> tuple[_Settled, dict[int, StandIn]]:
    """Read a body with short texts for its long strings, until each of these is a medium.

    Args:
        json: The body.
        stand_ins: What stands in for which of its long strings; the others are read as they are.
        marks: What the stand-ins have in them.
        read: Parses and checks a body.
        settle: Returns what came of a body, and the numbers of the stand-ins that are no media
            there; those strings are read as they are the next time.
        hold_text: Is told how long the strings are that are read as they are, before they are in
            memory.

    Returns:
        What came of the body in the end, and the stand-ins that are still in it.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: As `read` and `hold_text`.
        StoreUnavailableError: What a draft holds cannot be read.
    """
    strings = json.long_strings
    as_text = set(range(len(strings))) - stand_ins.keys()
    while True:
        hold_text(sum(strings[number].raw_bytes for number in as_text))
        try:
            value = read(json.body(_raw_strings(strings, stand_ins)))
        except InvalidJsonError as exc:
            raise _as_of_whole_body(exc, strings, stand_ins) from exc
        except InvalidPayloadError as exc:
            # A fault points at its key, which may be a long string as well.
            as_text = _numbers_in(exc.faults, marks) & stand_ins.keys()
            if not as_text:
                raise
        else:
            settled, as_text = settle(value, stand_ins)
            if not as_text:
                return settled, stand_ins
        stand_ins = {number: each for number, each in stand_ins.items() if number not in as_text}


def identity_of_stream(
    json: JsonStream,
    value: JsonValue,
    stand_ins: Mapping[int, StandIn],
    *,
    prefix: bytes = b"",
) -> RequestIdentity:
    """Return what the request in a body is known by; blocks.

    Args:
        json: The body.
        value: What it was parsed to.
        stand_ins: What stands in that value for which of the long strings.
        prefix: What tells it from the same body elsewhere.

    Raises:
        StoreUnavailableError: What a draft holds cannot be read.
    """
    strings = json.long_strings
    named: dict[str, dict[str, None]] = {}
    for number, each in stand_ins.items():
        # Those that share a mark may differ in a character that is not in the short text.
        named.setdefault(each.text, {})[strings[number].name()] = None
    names = {text: "".join(each) for text, each in named.items()}
    return RequestIdentity(
        json_digest(
            value, prefix=prefix, body_bytes=None if strings else json.kept_bytes, names=names
        ),
        partial(json.digest_of_bytes, prefix) if json.is_whole else json.digest_of_bytes(prefix),
    )


def _raw_strings(strings: list[LongString], stand_ins: dict[int, StandIn]) -> Iterator[bytes]:
    """Return the raw JSON of the strings in their order: stand-ins, where there are any."""
    for number, string in enumerate(strings):
        yield stand_ins[number].raw if number in stand_ins else string.raw()


def _as_of_whole_body(
    error: InvalidJsonError, strings: list[LongString], stand_ins: dict[int, StandIn]
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
    for number, stand_in in stand_ins.items():
        # Equal strings have one stand-in, and the next of them is looked for behind the last.
        at = body.find(stand_in.raw, ends.get(stand_in.raw, 0))
        if at >= 0:
            ends[stand_in.raw] = at + len(stand_in.raw)
        if at >= start:
            missing += strings[number].raw_bytes - len(stand_in.raw)
    return InvalidJsonError(
        _PLACE.sub(lambda found: f"{found[1]}{int(found[2]) + missing}", error.detail)
    )


def _settled(
    normalized: NormalizedToolResult, strings: list[LongString], stand_ins: dict[int, StandIn]
) -> tuple[NormalizedToolResult, set[bytes]]:
    """The result with drafts in the places of the media that were stand-ins, and their bytes."""
    numbers = {stand_in.data: number for number, stand_in in stand_ins.items()}
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


def _numbers_in(value: object, marks: Marks) -> set[int]:
    """The stand-ins that show in any text of a value, or in any medium in memory."""
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
        elif is_dataclass(node):
            stack += (getattr(node, field.name) for field in fields(node))
    return numbers
