"""Reads the content blocks of all providers as parts.

An object is a block only if it has the members that its type requires. Any other object is data of
a tool, and is kept with all its members.
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
    find_declared_text_type,
    is_media_source,
    match_linked_media,
    match_plain_object,
    match_typed_block,
    match_untyped_block,
    may_hold_words,
    value_at,
)
from pagefault_dialects.media.block_table import (
    TEXT_TYPES,
    MemberPath,
    is_langchain_block,
    without_langchain_members,
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
    add_medium_part,
    is_http_url,
    make_link,
    parse_stored_reference,
    read_as_json,
    read_payload,
    read_string,
)
from pagefault_dialects.results.resource_blocks import (
    has_file_value,
    has_resource,
    read_file_value,
    read_resource,
    read_resource_link,
)
from pagefault_dialects.results.side_information import (
    JsonBlock,
    add_side_information,
    remove_members,
)
from pagefault_dialects.results.structures import is_recognised
from pagefault_dialects.text_windows import without_lone_surrogates

# Shorter texts are not taken for base64.
_MIN_BASE64_CHARS = 16
_DENIAL_KEYS = frozenset(("type", "reason", "providerOptions", "providerMetadata"))


@dataclass(frozen=True, slots=True)
class NestedContent:
    """The content of a block, which `result.py` reads next, and the parts after the content."""

    content: object
    context: ReadContext
    """The context of the content."""
    following: list[NormalizedPart]
    """The parts after those of the content."""
    provenance: Provenance = NO_PROVENANCE
    """The provenance of the first part of the content."""


BlockOutcome = list[NormalizedPart] | NestedContent
"""The parts of a block; or its content, if that has to be read like a whole result."""


def is_typed_block(value: object) -> bool:
    """Return whether a value is a block with a type, and has the members that the type requires."""
    return isinstance(value, dict) and _find_reader(value) is not None


def read_block(block: JsonBlock, context: ReadContext) -> BlockOutcome | None:
    """Return the parts of a block, or its nested content; `None` if the object is no block."""
    reader = _find_reader(block)
    if reader:
        return reader(
            without_langchain_members(block) if is_langchain_block(block) else block, context
        )
    return _read_untyped(block, context)


def _find_reader(block: JsonBlock) -> Callable[[JsonBlock, ReadContext], BlockOutcome] | None:
    """Return the reader for a block by its type; `None` if it lacks members of the type."""
    block_type = block.get("type")
    if not isinstance(block_type, str):
        return None
    for has_members, read in _READERS.get(block_type, ()):
        if has_members(block):
            return read
    match = match_typed_block(block)
    is_medium = match is not None and (block_type == "Buffer" or not _may_be_name(match))
    return _read_medium if is_medium else None


def _read_medium(block: JsonBlock, context: ReadContext) -> BlockOutcome:
    """Return the parts of a block with a type and a medium."""
    match = match_typed_block(block)
    return _read_match(block, match, context) if match else []


def _may_be_name(match: MediaMatch) -> bool:
    """Return whether a payload may be no medium, but a word or a few numbers: `{"image": "logo"}`.

    A payload with a type, a file name, or the signature of a file is a medium.
    """
    claim, payload = match.claim, match.payload
    if claim.mime_type or mime_type_for_filename(claim.filename or ""):
        return False
    if not isinstance(payload, str | bytes) or len(payload) >= CERTAIN_BASE64_CHARS:
        return False
    data = payload if isinstance(payload, bytes) else decode_base64(payload)
    return data is not None and not is_recognised(data, claim.kind)


def _read_untyped(block: JsonBlock, context: ReadContext) -> BlockOutcome | None:
    """Return the parts of a block without a type; `None` if the object is no block."""
    if len(block) == 1:
        if isinstance(block.get("text"), str):
            return read_string(str(block["text"]), context.descend("text"))
        if "json" in block:
            return read_as_json(block["json"], context.descend("json"))
    untyped = match_untyped_block(block)
    match = untyped if untyped and not _may_be_name(untyped) else _match_plain_object(block)
    if match:
        return _read_match(block, match, context)
    return _read_linked_record(block, context)


def _read_match(block: JsonBlock, match: MediaMatch, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of the medium that was found in a block, and of the other members."""
    parts = read_payload(match.payload, match.claim, context.descend(*match.path))
    return add_side_information(
        parts, block, match.consumed, context, filename=match.claim.filename
    )


def _match_plain_object(block: JsonBlock) -> MediaMatch | None:
    """Return the medium in an object without a type; `None` if the object may be something else."""
    match = match_plain_object(block)
    if match is None or is_media_source(match.payload):
        return match
    claim = match.claim
    has_type = claim.mime_type is not None and claim.mime_type.lower().startswith(claim.kind or "")
    if not isinstance(match.payload, str):
        is_known = isinstance(match.payload, bytes) and is_recognised(match.payload, claim.kind)
        return match if has_type or is_known else None
    if declares_media(match.payload) or parse_stored_reference(match.payload):
        return match
    is_text = claim.mime_type is not None and is_textual(claim.mime_type)
    if has_type and (is_text or not may_hold_words(match.path)):
        return match
    if is_http_url(match.payload):
        return match if has_type or claim.kind else None
    data = _decode_certain_base64(match.payload, claim, has_type=has_type)
    return replace(match, payload=data) if data else None


def _decode_certain_base64(text: str, claim: MediaClaim, *, has_type: bool) -> bytes | None:
    """Return the bytes of a text that is base64; `None` if it may be a text by chance."""
    # A member such as `image` may also be a word, a path or the name of a container image.
    data = decode_base64(text) if len(text) >= _MIN_BASE64_CHARS else None
    if data is None:
        return None
    # Two of three are required: a long text, a declared type, and the signature of a file format.
    is_long = len(text) >= CERTAIN_BASE64_CHARS
    return data if has_type + is_long + is_recognised(data, claim.kind) >= 2 else None


def _read_linked_record(block: JsonBlock, context: ReadContext) -> list[NormalizedPart] | None:
    """Return an object with the URL of a medium as JSON, and the medium as a link after it."""
    match = match_linked_media(block)
    if match is None or not isinstance(match.payload, str) or not is_http_url(match.payload):
        return None
    if block.keys() <= {path[0] for path in match.consumed}:
        url = context.collector.repair_text(match.payload, context.pointer)
        return [make_link(url, match.claim)]
    # The warning about lone surrogates in the URL comes from reading the record.
    record = read_as_json(block, context)
    return [*record, make_link(without_lone_surrogates(match.payload), match.claim)]


def _has_text(block: JsonBlock) -> bool:
    """Return whether a block has a text, or a value that can be written as a text."""
    value = block.get("text")
    is_scalar = value is None or isinstance(value, str | int | float | Decimal)
    return "text" in block and (is_scalar or is_media_source(value))


def _read_text(block: JsonBlock, context: ReadContext) -> BlockOutcome:
    """Return the parts of a block with a `text`. Its MIME type may be in another member."""
    value, member_context = block["text"], context.descend("text")
    consumed = _list_consumed_paths("text")
    if isinstance(value, str):
        declared = find_declared_text_type(block)
        consumed += [declared[0]] if declared else []
        parts = read_string(value, member_context, declared=declared[1] if declared else None)
    elif is_media_source(value):
        parts = [add_medium_part(value, MediaClaim(), member_context)]
    else:
        parts = [NormalizedText(("" if value is None else json_text(value),))]
    return add_side_information(parts, block, consumed, context)


def _read_value(block: JsonBlock, context: ReadContext) -> BlockOutcome:
    """Return the parts of a block with a `value`: an output of the Vercel AI SDK."""
    value, member_context = block["value"], context.descend("value")
    if str(block["type"]).startswith("error"):
        context.collector.report_error(True)
    parts = (
        read_string(value, member_context)
        if isinstance(value, str)
        else read_as_json(value, member_context)
    )
    return add_side_information(parts, block, _list_consumed_paths("value"), context)


def _is_denial(block: JsonBlock) -> bool:
    """Return whether an object has only members of a denial of the Vercel AI SDK."""
    reason = block.get("reason")
    return block.keys() <= _DENIAL_KEYS and (reason is None or isinstance(reason, str))


def _read_denial(block: JsonBlock, context: ReadContext) -> BlockOutcome:
    """Return the reason of a denial as text, and record that the call failed."""
    context.collector.report_error(True)
    parts = read_string(str(block.get("reason") or DENIED), context.descend("reason"))
    return add_side_information(parts, block, _list_consumed_paths("reason"), context)


def _read_tool_result(block: JsonBlock, context: ReadContext) -> BlockOutcome:
    """Return the content of a nested tool result, and record whether the tool failed."""
    consumed: list[MemberPath] = []
    for key in ("is_error", "isError"):
        if isinstance(block.get(key), bool):
            context.collector.report_error(block[key] is True)
            consumed.append((key,))
    return _read_nested(block, context, path=("content",), consumed=consumed)


def _read_nested(
    block: JsonBlock, context: ReadContext, *, path: MemberPath, consumed: Iterable[MemberPath] = ()
) -> NestedContent:
    """Return the content at a path of a block, with parts for the other members after it."""
    rest = remove_members(block, [*_list_consumed_paths(*path), *consumed])
    following = read_as_json(rest, context) if rest else []
    return NestedContent(value_at(block, path), context.descend(*path), following)


def _list_consumed_paths(*path: str) -> list[MemberPath]:
    """Return the path of a payload, and the paths of members that need not be kept beside it."""
    return [path, ("type",), ("cache_control",)]


_Reader: TypeAlias = tuple[
    Callable[[JsonBlock], bool], Callable[[JsonBlock, ReadContext], BlockOutcome]
]
"""A check whether a block has the required members, and the function that reads the block."""


def _has_member(key: str, *types: type) -> Callable[[JsonBlock], bool]:
    """Return a check that a block has a member, of one of these types if there are any."""
    return lambda block: key in block and isinstance(block[key], types or object)


_TEXT: _Reader = (_has_text, _read_text)
_VALUE: _Reader = (_has_member("value"), _read_value)
# The readers of blocks by their type. The first one whose check succeeds is used.
_READERS: dict[str, tuple[_Reader, ...]] = {
    **dict.fromkeys((*TEXT_TYPES, "text-plain"), (_TEXT,)),
    "text": (_TEXT, _VALUE),
    **dict.fromkeys(("json", "error-text", "error-json"), (_VALUE,)),
    "execution-denied": ((_is_denial, _read_denial),),
    "content": ((_has_member("value", list), partial(_read_nested, path=("value",))),),
    "tool_result": ((_has_member("content", str, list, dict, type(None)), _read_tool_result),),
    "document": (
        (
            lambda block: isinstance(value_at(block, ("source", "content")), str | list),
            partial(_read_nested, path=("source", "content"), consumed=(("source", "type"),)),
        ),
    ),
    "resource": ((has_resource, read_resource),),
    "resource_link": ((_has_member("uri", str), read_resource_link),),
    "file": ((has_file_value, read_file_value),),
}
