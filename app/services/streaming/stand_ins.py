"""A streamed body normalized: stand-ins are read, and what they stood for takes their places.

Normalization knows nothing of this: it reads a body in which every long string is a short text.
Where that came out as a medium, and as nothing else, the medium is the draft. Where it came out as
anything else, the string is needed as the text it is, and all is read again with it.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace

from app.models.media import InMemoryMedia, MediaSource
from app.models.normalized import NormalizedToolResult
from app.services.normalization import normalize_tool_result
from app.services.streaming.json_stream import JsonStream
from app.services.streaming.long_strings import LongString, Marks, StandIn
from app.services.tool_result_requests import ToolResultRequest
from app.stores.blobs import DraftMedia


def normalize_streamed(
    json: JsonStream,
    read: Callable[[bytes], ToolResultRequest],
    hold_text: Callable[[int], None],
) -> tuple[ToolResultRequest, NormalizedToolResult]:
    """The request in a body, and its result normalized; blocks.

    Args:
        json: The body.
        read: Parses and checks it. The strings of the request it gives may be stand-ins.
        hold_text: Is told of every string that is needed as text, before it is in memory.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: As `read` and `hold_text`.
        StoreUnavailableError: What a draft holds cannot be read.
    """
    marks = Marks()
    strings = json.long_strings
    stand_ins = {
        number: stand_in
        for number, string in enumerate(strings)
        if not string.must_be_text and (stand_in := string.stand_in(marks.mark(number)))
    }
    read_as_text = set(range(len(strings))) - stand_ins.keys()
    while True:
        hold_text(sum(strings[number].text_bytes for number in read_as_text))
        request = read(json.body(texts_of(strings, stand_ins)))
        normalized = normalize_tool_result(request.result)
        settled, numbers = _settled(normalized, strings, stand_ins)
        misread = (stand_ins.keys() - numbers) | _numbers_in(settled, marks)
        if not misread:
            return request, settled
        stand_ins = {number: each for number, each in stand_ins.items() if number not in misread}
        read_as_text = misread


def texts_of(strings: list[LongString], stand_ins: dict[int, StandIn]) -> Iterator[bytes]:
    """The stand-ins, and the texts of the strings that have none, in the order of the strings."""
    for number, string in enumerate(strings):
        yield stand_ins[number].text if number in stand_ins else string.text()


def _settled(
    normalized: NormalizedToolResult, strings: list[LongString], stand_ins: dict[int, StandIn]
) -> tuple[NormalizedToolResult, set[int]]:
    """The result with drafts in the places of the media that were stand-ins, and which they are."""
    numbers = {stand_in.data: number for number, stand_in in stand_ins.items()}
    media = []
    found = set()
    for medium in normalized.media:
        number = numbers.get(_bytes_of(medium.source)) if numbers else None
        if number is None:
            media.append(medium)
            continue
        found.add(number)
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
