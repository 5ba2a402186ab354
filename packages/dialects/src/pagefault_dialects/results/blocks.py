"""Content blocks of all providers as parts.

An object is a block only if it has the members that its type requires. Others are records and keep
all their fields.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TypeAlias

from pagefault_dialects.dialects.vercel import DENIED
from pagefault_dialects.json.values import json_text
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.block_shapes import (
    MediaClaim,
    MediaMatch,
    declared_text_type,
    is_handle,
    is_loosely_named,
    match_linked_media,
    match_plain_object,
    match_typed_block,
    match_untyped_block,
    value_at,
)
from pagefault_dialects.media.block_table import (
    TEXT_TYPES,
    MemberPath,
    is_of_langchain,
    without_frame,
)
from pagefault_dialects.media.data_uris import declares_media
from pagefault_dialects.media.types import is_textual, mime_type_for_filename
from pagefault_dialects.model.normalized import (
    NO_PROVENANCE,
    NormalizedPart,
    NormalizedText,
    Provenance,
)
from pagefault_dialects.results.parts import (
    ReadContext,
    declared_parts,
    is_remote,
    json_parts,
    link,
    medium_part,
    own_reference,
    text_parts,
)
from pagefault_dialects.results.resource_blocks import (
    carries_file_value,
    carries_resource,
    read_file_value,
    read_resource,
    read_resource_link,
)
from pagefault_dialects.results.side_information import JsonBlock, with_side_information, without
from pagefault_dialects.results.structures import is_recognised
from pagefault_dialects.text_windows import without_lone_surrogates

_SHORTEST_BASE64 = 16
_DENIAL_KEYS = frozenset(("type", "reason", "providerOptions", "providerMetadata"))


@dataclass(frozen=True, slots=True)
class NestedContent:
    """A block with content of its own, which is read before `following`.

    `carried` goes with the first part of it.
    """

    content: object
    place: ReadContext
    following: list[NormalizedPart]
    carried: Provenance = NO_PROVENANCE


BlockOutcome = list[NormalizedPart] | NestedContent


def is_typed_block(value: object) -> bool:
    """Return whether a value is a block with a type, and has the members that the type requires."""
    return isinstance(value, dict) and _typed_reader(value) is not None


def read_block(block: JsonBlock, place: ReadContext) -> BlockOutcome | None:
    """Return the content of a block, or `None` if the object is a record."""
    reader = _typed_reader(block)
    if reader:
        return reader(without_frame(block) if is_of_langchain(block) else block, place)
    return _read_untyped(block, place)


def _typed_reader(block: JsonBlock) -> Callable[[JsonBlock, ReadContext], BlockOutcome] | None:
    block_type = block.get("type")
    if not isinstance(block_type, str):
        return None
    for carries, read in _READERS.get(block_type, ()):
        if carries(block):
            return read
    match = match_typed_block(block)
    is_medium = match is not None and (block_type == "Buffer" or not _is_a_name(match))
    return _read_medium if is_medium else None


def _read_medium(block: JsonBlock, place: ReadContext) -> BlockOutcome:
    match = match_typed_block(block)
    return _matched_parts(block, match, place) if match else []


def _is_a_name(match: MediaMatch) -> bool:
    """Return whether an undeclared payload is a word or some numbers: {"image": "logo"}."""
    claim, payload = match.claim, match.payload
    if claim.mime_type or mime_type_for_filename(claim.filename or ""):
        return False
    if not isinstance(payload, str | bytes) or len(payload) >= CERTAIN_BASE64_CHARS:
        return False
    data = payload if isinstance(payload, bytes) else decode_base64(payload)
    return data is not None and not is_recognised(data, claim.kind)


def _read_untyped(block: JsonBlock, place: ReadContext) -> BlockOutcome | None:
    if len(block) == 1:
        if isinstance(block.get("text"), str):
            return text_parts(str(block["text"]), place.inside("text"))
        if "json" in block:
            return json_parts(block["json"], place.inside("json"))
    untyped = match_untyped_block(block)
    match = untyped if untyped and not _is_a_name(untyped) else _declared_plain_object(block)
    if match:
        return _matched_parts(block, match, place)
    return _read_linked_record(block, place)


def _matched_parts(block: JsonBlock, match: MediaMatch, place: ReadContext) -> list[NormalizedPart]:
    parts = declared_parts(match.payload, match.claim, place.inside(*match.path))
    return with_side_information(parts, block, match.consumed, place, filename=match.claim.filename)


def _declared_plain_object(block: JsonBlock) -> MediaMatch | None:
    match = match_plain_object(block)
    if match is None or is_handle(match.payload):
        return match
    claim = match.claim
    claimed = claim.mime_type is not None and claim.mime_type.lower().startswith(claim.kind or "")
    if not isinstance(match.payload, str):
        known = isinstance(match.payload, bytes) and is_recognised(match.payload, claim.kind)
        return match if claimed or known else None
    if declares_media(match.payload) or own_reference(match.payload):
        return match
    is_text = claim.mime_type is not None and is_textual(claim.mime_type)
    if claimed and (is_text or not is_loosely_named(match.path)):
        return match
    if is_remote(match.payload):
        return match if claimed or claim.kind else None
    data = _certain_base64(match.payload, claim, claimed=claimed)
    return replace(match, payload=data) if data else None


def _certain_base64(text: str, claim: MediaClaim, *, claimed: bool) -> bytes | None:
    # Such a key may also hold a word, a path or the name of a container image.
    data = decode_base64(text) if len(text) >= _SHORTEST_BASE64 else None
    if data is None:
        return None
    # Two of three are required: its length, the declared type, the bytes themselves.
    long = len(text) >= CERTAIN_BASE64_CHARS
    return data if claimed + long + is_recognised(data, claim.kind) >= 2 else None


def _read_linked_record(block: JsonBlock, place: ReadContext) -> list[NormalizedPart] | None:
    match = match_linked_media(block)
    if match is None or not isinstance(match.payload, str) or not is_remote(match.payload):
        return None
    if block.keys() <= {path[0] for path in match.consumed}:
        return [link(place.collector.readable(match.payload, place.pointer), match.claim)]
    # Repairs are noted once, with the record.
    record = json_parts(block, place)
    return [*record, link(without_lone_surrogates(match.payload), match.claim)]


def _carries_text(block: JsonBlock) -> bool:
    value = block.get("text")
    scalar = value is None or isinstance(value, str | int | float | Decimal)
    return "text" in block and (scalar or is_handle(value))


def _read_text(block: JsonBlock, place: ReadContext) -> BlockOutcome:
    value, here = block["text"], place.inside("text")
    consumed = _framed("text")
    if isinstance(value, str):
        declared = declared_text_type(block)
        consumed += [declared[0]] if declared else []
        parts = text_parts(value, here, declared=declared[1] if declared else None)
    elif is_handle(value):
        parts = [medium_part(value, MediaClaim(), here)]
    else:
        parts = [NormalizedText(("" if value is None else json_text(value),))]
    return with_side_information(parts, block, consumed, place)


def _read_value(block: JsonBlock, place: ReadContext) -> BlockOutcome:
    value, here = block["value"], place.inside("value")
    if str(block["type"]).startswith("error"):
        place.collector.report_error(True)
    parts = text_parts(value, here) if isinstance(value, str) else json_parts(value, here)
    return with_side_information(parts, block, _framed("value"), place)


def _is_denial(block: JsonBlock) -> bool:
    reason = block.get("reason")
    return block.keys() <= _DENIAL_KEYS and (reason is None or isinstance(reason, str))


def _read_denial(block: JsonBlock, place: ReadContext) -> BlockOutcome:
    place.collector.report_error(True)
    parts = text_parts(str(block.get("reason") or DENIED), place.inside("reason"))
    return with_side_information(parts, block, _framed("reason"), place)


def _read_tool_result(block: JsonBlock, place: ReadContext) -> BlockOutcome:
    consumed: list[MemberPath] = []
    for key in ("is_error", "isError"):
        if isinstance(block.get(key), bool):
            place.collector.report_error(block[key] is True)
            consumed.append((key,))
    return _nested_content(block, place, path=("content",), consumed=consumed)


def _nested_content(
    block: JsonBlock, place: ReadContext, *, path: MemberPath, consumed: Iterable[MemberPath] = ()
) -> NestedContent:
    """Return the content at a place of a block, and the rest of the block as parts after it."""
    rest = without(block, [*_framed(*path), *consumed])
    following = json_parts(rest, place) if rest else []
    return NestedContent(value_at(block, path), place.inside(*path), following)


def _framed(*path: str) -> list[MemberPath]:
    return [path, ("type",), ("cache_control",)]


_Reader: TypeAlias = tuple[
    Callable[[JsonBlock], bool], Callable[[JsonBlock, ReadContext], BlockOutcome]
]
"""For each type of block: a check of its required members, and its reader."""


def _holds(key: str, *types: type) -> Callable[[JsonBlock], bool]:
    return lambda block: key in block and isinstance(block[key], types or object)


_TEXT: _Reader = (_carries_text, _read_text)
_VALUE: _Reader = (_holds("value"), _read_value)
_READERS: dict[str, tuple[_Reader, ...]] = {
    **dict.fromkeys((*TEXT_TYPES, "text-plain"), (_TEXT,)),
    "text": (_TEXT, _VALUE),
    **dict.fromkeys(("json", "error-text", "error-json"), (_VALUE,)),
    "execution-denied": ((_is_denial, _read_denial),),
    "content": ((_holds("value", list), partial(_nested_content, path=("value",))),),
    "tool_result": ((_holds("content", str, list, dict, type(None)), _read_tool_result),),
    "document": (
        (
            lambda block: isinstance(value_at(block, ("source", "content")), str | list),
            partial(_nested_content, path=("source", "content"), consumed=(("source", "type"),)),
        ),
    ),
    "resource": ((carries_resource, read_resource),),
    "resource_link": ((_holds("uri", str), read_resource_link),),
    "file": ((carries_file_value, read_file_value),),
}
