"""Find the media in content blocks and objects of any provider, with their declared properties.

`block_table` lists the shapes of blocks. Readers of tool results call the functions `match_…` on
blocks, and `find_embedded_claims` on other JSON objects.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple, TypeGuard

from pagefault_dialects.media import block_table
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS
from pagefault_dialects.media.block_table import (
    PLAIN_MEMBERS,
    TITLE_NAMES,
    BlockShape,
    MemberPath,
    PlainMember,
    is_url_path,
)
from pagefault_dialects.media.data_uris import is_data_uri
from pagefault_dialects.media.line_lists import join_base64_lines
from pagefault_dialects.media.raw_audio import read_sample_parameters, type_of_format
from pagefault_dialects.media.types import canonical_mime_type, is_textual, mime_type_for_filename
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.normalized import DeclaredKind

Payload = str | bytes | MediaSource
"""A medium in JSON: base64, a data URI or a URL, or its bytes."""


@dataclass(frozen=True, slots=True)
class MediaClaim:
    """The properties that a block declares of its payload, which may be wrong."""

    kind: DeclaredKind | None = None
    mime_type: str | None = None
    filename: str | None = None
    min_chars: int | None = None
    """The length from which a string is taken for base64 without the signature of a file format.

    `None` if the signature is required. The limit is lower if a MIME type is declared than if only
    a kind is: in `{"type": "image", "image": "logo"}`, `logo` is a name.
    """
    is_encoded: bool = False
    """True if the payload can only be base64."""


@dataclass(frozen=True, slots=True)
class MediaMatch:
    """A medium that was found in a block."""

    path: MemberPath
    """The path to `payload` in the block."""
    payload: Payload
    claim: MediaClaim
    consumed: tuple[MemberPath, ...]
    """The members whose content is in `payload` and `claim`, and members with an encoding.

    The caller has to keep the other members of the block.
    """


class _FoundPayload(NamedTuple):
    """A payload in a block, with the shape by which it was found."""

    path: MemberPath
    payload: Payload
    shape: BlockShape


class TextMember(NamedTuple):
    """A member whose value is a text, such as a MIME type or a file name."""

    path: MemberPath
    text: str


_KINDS: dict[str, DeclaredKind] = {"image": "image", "audio": "audio", "video": "video"}
_SCHEME = re.compile(r"\s*@?[A-Za-z][A-Za-z0-9+.-]*:")
# Shorter base64 is not taken for a medium, even if the block declares a MIME type.
_MIN_TYPED_CHARS = 16
_JSON_TYPES = frozenset((str, int, float, bool, type(None), list, dict))


def is_media_source(value: object) -> TypeGuard[MediaSource]:
    """Return whether a value is a medium that the streaming parser has put in place of a string."""
    # Nearly all values are exactly of these types, and this check is faster than `isinstance`.
    return type(value) not in _JSON_TYPES and not isinstance(
        value, str | bytes | int | float | Decimal | list | dict | tuple
    )


def value_at(value: object, path: MemberPath) -> object:
    """Return the value at a path into nested objects; `None` if the path leads nowhere."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def parse_byte_sequence(value: object) -> bytes | None:
    """Return the bytes of `[137,80,…]`, `{"0":137,"1":80,…}` and a Node Buffer, else `None`."""
    if isinstance(value, dict):
        if value.get("type") == "Buffer":
            value = value.get("data")
        elif next(iter(value), None) == "0":
            in_order = all(key == str(index) for index, key in enumerate(value))
            value = list(value.values()) if in_order else None
    if not isinstance(value, list) or set(map(type, value)) != {int}:
        return None
    try:
        return bytes(value)
    except (ValueError, OverflowError):
        return None


def parse_payload(value: object, *, is_declared: bool = True) -> Payload | None:
    """Return a value as a payload; `None` if it cannot be a medium.

    Strings and media sources are returned as they are; arrays of bytes and of base64 lines are
    joined.

    Args:
        value: Any JSON value.
        is_declared: Whether the member can only be a medium. Then the lines of base64 need not
            begin with the signature of a file format.
    """
    if isinstance(value, str) or is_media_source(value):
        return value
    return parse_byte_sequence(value) or join_base64_lines(value, is_declared=is_declared)


def match_typed_block(block: dict[str, object]) -> MediaMatch | None:
    """Return the medium of a block with a `type`, such as those of MCP, OpenAI and Vercel.

    Return `None` for unknown types, and if the block has no payload.
    """
    shapes = _shapes_of_type(block)
    found = next(_find_payloads(block, shapes), None) if shapes else None
    return _build_shape_match(block, found) if found else None


def _is_listing_entry(
    block: dict[str, object], path: MemberPath, payload: Payload, kind: DeclaredKind | None
) -> bool:
    """Return whether a block only lists a file: {"type": "file", "url": "/a", "size": 9}."""
    if not is_url_path(path) or not isinstance(payload, str):
        return False
    is_path = len(payload) < CERTAIN_BASE64_CHARS and not _SCHEME.match(payload)
    return is_path or (
        kind is None
        and path == ("url",)
        and not block.keys() <= block_table.BLOCK_TABLE.link_block_members
    )


def find_declared_text_type(block: dict[str, object]) -> TextMember | None:
    """Return the member of a text block that declares a textual MIME type, if it has one."""
    declared = _find_mime_type(block, ())
    return declared if declared and is_textual(declared.text) else None


def match_untyped_block(block: dict[str, object]) -> MediaMatch | None:
    """Return the medium of a block without `type`, such as those of Gemini and Bedrock.

    Return `None` if the block has several members, or none that the table knows.
    """
    found = next(_find_untyped_payloads(block), None) if len(block) == 1 else None
    return _build_shape_match(block, found) if found else None


def match_plain_object(members: dict[str, object]) -> MediaMatch | None:
    """Return the medium of an object that has only a payload, its type and its name.

    Return `None` for objects with other members, or without a payload.
    """
    if PLAIN_MEMBERS.keys().isdisjoint(members):
        return None
    declared_type = _find_mime_type(members, ())
    names = (*block_table.BLOCK_TABLE.file_names, *TITLE_NAMES)
    allowed = {key for key in names if isinstance(members.get(key), str)}
    if is_binary_content(members):
        allowed |= {"kind", "identifier", "vendor_metadata"}
    if declared_type:
        allowed.add(declared_type.path[0])
    keys = [key for key in members if key not in allowed and members[key] is not None]
    if len(keys) != 1 or keys[0] not in PLAIN_MEMBERS:
        return None
    key = keys[0]
    payload = parse_payload(members[key], is_declared=declared_type is not None)
    if payload is None:
        return None
    return _build_match(members, (key,), payload, PLAIN_MEMBERS[key].kind)


def match_linked_media(members: dict[str, object]) -> MediaMatch | None:
    """Return the medium at the URL of an object such as `{url, mimeType, …}`.

    Return `None` if the object has no URL, or declares no MIME type of media.
    """
    for key in block_table.URL_NAMES:
        url = members.get(key)
        if isinstance(url, str):
            declared_type = _find_mime_type(members, ())
            # A type that is a single word may be a topic: {"url": …, "contentType": "video"}.
            is_media_type = (
                declared_type is not None
                and "/" in declared_type.text
                and not is_textual(declared_type.text)
            )
            return _build_match(members, (key,), url, None) if is_media_type else None
    return None


def match_at(
    block: dict[str, object], path: MemberPath, kind: DeclaredKind | None = None
) -> MediaMatch | None:
    """Return the medium of a member that can only be a medium; `None` if it is missing.

    Args:
        block: The block.
        path: The path to the payload.
        kind: The kind that the block declares.
    """
    payload = parse_payload(value_at(block, path))
    return None if payload is None else _build_match(block, path, payload, kind)


def is_binary_content(members: dict[str, object]) -> bool:
    """Return whether an object is a `BinaryContent` of pydantic-ai, whose data is base64."""
    return members.get("kind") == "binary" and "media_type" in members


def may_hold_words(path: MemberPath) -> bool:
    """Return whether a member of `PLAIN_MEMBERS` may also be a word, a path or a sentence."""
    return not PLAIN_MEMBERS[path[0]].holds_base64


def find_range_kind(text: str) -> DeclaredKind | None:
    """Return the kind of a media range such as `image/*` or `image`; `None` for other texts."""
    return _KINDS.get(text.strip().lower().removesuffix("/*"))


def find_embedded_claims(members: dict[str, object]) -> dict[MemberPath, MediaClaim]:
    """Return the members of a JSON object that may be media, each with its declared properties."""
    claims: dict[MemberPath, MediaClaim] = {}
    for key in members.keys() & PLAIN_MEMBERS.keys():
        claims[(key,)] = _build_plain_claim(members, key)
    for found in _find_untyped_payloads(members):
        claims[found.path] = _build_shape_match(members, found).claim
    typed = match_typed_block(members)
    if typed:
        claims[typed.path] = typed.claim
    if isinstance(uri := members.get("uri"), str) and is_data_uri(uri):
        # MCP's `FileValue` (SEP-2631) is such an object.
        claims[("uri",)] = _build_plain_claim(members, "uri")
    return claims


def _shapes_of_type(block: dict[str, object]) -> tuple[BlockShape, ...]:
    block_type = block.get("type")
    return block_table.BLOCK_TABLE.typed.get(block_type, ()) if isinstance(block_type, str) else ()


def _find_untyped_payloads(members: dict[str, object]) -> Iterator[_FoundPayload]:
    table = block_table.BLOCK_TABLE
    if table.untyped_keys.isdisjoint(members):
        return iter(())
    return _find_payloads(members, table.untyped)


def _find_payloads(
    members: dict[str, object], shapes: tuple[BlockShape, ...]
) -> Iterator[_FoundPayload]:
    for shape in shapes:
        for path in shape.payloads:
            payload = parse_payload(value_at(members, path)) if path[0] in members else None
            if payload is not None and not _is_listing_entry(members, path, payload, shape.kind):
                yield _FoundPayload(path, payload, shape)


def _build_shape_match(block: dict[str, object], found: _FoundPayload) -> MediaMatch:
    shape = found.shape
    match = _build_match(block, found.path, found.payload, shape.kind)
    if match.claim.mime_type is not None or shape.mime_type is None:
        return match
    claim = replace(match.claim, mime_type=shape.mime_type, min_chars=_MIN_TYPED_CHARS)
    return replace(match, claim=claim)


def _build_match(
    block: dict[str, object], path: MemberPath, payload: Payload, kind: DeclaredKind | None
) -> MediaMatch:
    consumed = [path]
    enclosing_types = (_find_mime_type(block, outer) for outer in _enclosing_paths(path))
    declared_type = next(filter(None, enclosing_types), None)
    filename = _find_filename(block, path)
    kind_of_type = find_range_kind(declared_type.text) if declared_type else None
    mime_type = declared_type.text if declared_type and kind_of_type is None else None
    if declared_type:
        consumed.append(declared_type.path)
        container_path = declared_type.path[:-1]
        spelled_type = value_at(block, declared_type.path)
        container = value_at(block, container_path)
        if isinstance(spelled_type, str) and isinstance(container, dict):
            consumed += [
                (*container_path, key) for key in read_sample_parameters(spelled_type, container)
            ]
    # `name` and `title` of the block itself are kept, since they also name the part.
    if filename and not (len(filename.path) == 1 and filename.path[-1] in TITLE_NAMES):
        consumed.append(filename.path)
    consumed += _find_framing_members(block, path)
    kind = kind or kind_of_type
    claim = MediaClaim(
        kind=kind,
        mime_type=mime_type,
        filename=filename.text if filename else None,
        min_chars=_MIN_TYPED_CHARS if mime_type else CERTAIN_BASE64_CHARS if kind else None,
        is_encoded=is_binary_content(block),
    )
    return MediaMatch(path, payload, claim, tuple(consumed))


def _build_plain_claim(members: dict[str, object], key: str) -> MediaClaim:
    """Return the declared properties of a member in an object that is not a content block."""
    plain = PLAIN_MEMBERS.get(key, PlainMember(None, holds_base64=False))
    declared_type = _find_mime_type(members, ())
    mime_type = declared_type.text if declared_type else None
    filename = _find_filename(members, (key,))
    if mime_type and plain.kind and not mime_type.lower().startswith(plain.kind):
        mime_type = None
    if key == "text" and (mime_type is None or is_textual(mime_type) or "svg" in mime_type):
        return MediaClaim()
    is_base64_declared = mime_type is not None or members.get("encoding") == "base64"
    min_chars = _MIN_TYPED_CHARS if plain.holds_base64 else CERTAIN_BASE64_CHARS
    kind_of_type = find_range_kind(mime_type) if mime_type else None
    return MediaClaim(
        kind=plain.kind or kind_of_type,
        mime_type=mime_type if kind_of_type is None else None,
        filename=filename.text if filename and "." in filename.text.strip(".") else None,
        min_chars=min_chars if is_base64_declared else None,
    )


def _enclosing_paths(path: MemberPath) -> Iterator[MemberPath]:
    """Yield the paths of the objects around a member, the innermost first."""
    return (path[:length] for length in range(len(path) - 1, -1, -1))


def _find_framing_members(block: dict[str, object], path: MemberPath) -> Iterator[MemberPath]:
    """Yield the members that only describe how the payload at a path is written."""
    if _shapes_of_type(block):
        yield from (("type",), ("cache_control",))
    for outer in _enclosing_paths(path):
        for key, values in block_table.FRAMING_MEMBERS.items():
            value = value_at(block, (*outer, key))
            if isinstance(value, str) and value in values:
                yield (*outer, key)


def _find_mime_type(block: dict[str, object], path: MemberPath) -> TextMember | None:
    """Return the member of the object at a path that declares a MIME type or a media range.

    For raw audio, the text also has the parameters that other members of the object declare.
    """
    container = value_at(block, path)
    if not isinstance(container, dict):
        return None
    for key in block_table.BLOCK_TABLE.type_names:
        declared = container.get(key)
        if isinstance(declared, str) and key != "type":
            # Some providers write the name of an audio format here, such as `g711_ulaw`.
            declared = type_of_format(declared) or declared
        if isinstance(declared, str) and canonical_mime_type(declared):
            mime_type = declared.strip()
            parameters = read_sample_parameters(mime_type, container).values()
            return TextMember((*path, key), ";".join((mime_type, *parameters)))
    for key in block_table.FORMAT_NAMES:
        extension = container.get(key)
        if not isinstance(extension, str):
            continue
        declared_type = type_of_format(extension) or mime_type_for_filename(f".{extension}")
        # `"format": "json"` next to a string describes the output of the tool, not a file.
        if declared_type and not (
            is_textual(declared_type)
            and any(isinstance(container.get(name), str) for name in PLAIN_MEMBERS)
        ):
            return TextMember((*path, key), declared_type)
    return _find_declared_range(container, path)


def _find_declared_range(container: dict[str, object], path: MemberPath) -> TextMember | None:
    """Return the member of an object that declares a media range.

    A single word such as `image` counts in any member but `type`, where it is the type of a block.

    Args:
        container: The object.
        path: The path to the object.
    """
    for key in block_table.BLOCK_TABLE.type_names:
        declared = container.get(key)
        if not isinstance(declared, str) or (key == "type" and "/" not in declared):
            continue
        if find_range_kind(declared):
            return TextMember((*path, key), declared.strip())
    return None


def _find_filename(block: dict[str, object], path: MemberPath) -> TextMember | None:
    """Return the member with the file name of the payload at a path, the innermost first."""
    for keys in (block_table.BLOCK_TABLE.file_names, TITLE_NAMES):
        for outer in _enclosing_paths(path):
            container = value_at(block, outer)
            for key in keys:
                name = container.get(key) if isinstance(container, dict) else None
                if isinstance(name, str) and name:
                    return TextMember((*outer, key), name)
    return None
