"""Media in blocks and objects of any provider, and their declared properties.

`block_table` lists the shapes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeGuard

from pagefault_dialects.media import block_table
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS
from pagefault_dialects.media.block_table import NAMES, PLAIN, BlockShape, MemberPath, is_url_path
from pagefault_dialects.media.data_uris import is_data_uri
from pagefault_dialects.media.line_lists import joined_lines
from pagefault_dialects.media.raw_audio import format_members, type_of_format
from pagefault_dialects.media.types import canonical_mime_type, is_textual, mime_type_for_filename
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.normalized import ClaimedKind

Payload = str | bytes | MediaSource


@dataclass(frozen=True, slots=True)
class MediaClaim:
    """The declared properties of a payload.

    `min_chars` is the shortest base64 that is accepted without a signature inside a structure; if
    it is `None`, only a signature counts. A declared type allows shorter payloads than a mere kind,
    since `{"type": "image", "image": "logo"}` is a name. `is_encoded` is true if the payload can
    only be base64.
    """

    kind: ClaimedKind | None = None
    mime_type: str | None = None
    filename: str | None = None
    min_chars: int | None = None
    is_encoded: bool = False


@dataclass(frozen=True, slots=True)
class MediaMatch:
    """A payload that was found in a block.

    `consumed` are the places that `payload` and `claim` cover, or that only frame them. The other
    members of the block have to be kept by other means.
    """

    path: MemberPath
    payload: Payload
    claim: MediaClaim
    consumed: tuple[MemberPath, ...]


_Found = tuple[MemberPath, Payload, BlockShape]
_KINDS: dict[str, ClaimedKind] = {"image": "image", "audio": "audio", "video": "video"}
_SCHEME = re.compile(r"\s*@?[A-Za-z][A-Za-z0-9+.-]*:")
_DECLARED_CHARS = 16
_JSON_TYPES = frozenset((str, int, float, bool, type(None), list, dict))


def is_handle(value: object) -> TypeGuard[MediaSource]:
    """Return whether a value is a handle on a medium that a streaming parser took out."""
    # Nearly all values have exactly these types, which takes one step to check.
    return type(value) not in _JSON_TYPES and not isinstance(
        value, str | bytes | int | float | Decimal | list | dict | tuple
    )


def value_at(value: object, path: MemberPath) -> object:
    """Return the value at a path of keys, `None` if there is none."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def byte_sequence(value: object) -> bytes | None:
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


def payload_of(value: object, *, is_declared: bool = True) -> Payload | None:
    """Return a value that may be a medium as a payload, or `None`.

    Args:
        value: Any JSON value.
        is_declared: Whether only a medium can be in its place.
    """
    if isinstance(value, str) or is_handle(value):
        return value
    return byte_sequence(value) or joined_lines(value, is_declared=is_declared)


def match_typed_block(block: dict[str, object]) -> MediaMatch | None:
    """Return the medium of a block with a type, as MCP, OpenAI and Vercel blocks have."""
    shapes = _shapes_of_type(block)
    found = next(_payloads(block, shapes), None) if shapes else None
    return _shape_match(block, *found) if found else None


def _is_record_of(
    block: dict[str, object], path: MemberPath, payload: Payload, kind: ClaimedKind | None
) -> bool:
    """Return whether a block is a mere record: {"type":"file","url":"/a","size":9} in a listing."""
    if not is_url_path(path) or not isinstance(payload, str):
        return False
    is_path = len(payload) < CERTAIN_BASE64_CHARS and not _SCHEME.match(payload)
    return is_path or (
        kind is None
        and path == ("url",)
        and not block.keys() <= block_table.KNOWN.members_beside_links
    )


def declared_text_type(block: dict[str, object]) -> tuple[MemberPath, str] | None:
    """Return the path and the value of the textual MIME type that a block of text declares."""
    declared = _mime_type(block, ())
    return declared if declared and is_textual(declared[1]) else None


def match_untyped_block(block: dict[str, object]) -> MediaMatch | None:
    """Return the medium of a block that is known by its only key, as Gemini's and Bedrock's."""
    found = next(_untyped_payloads(block), None) if len(block) == 1 else None
    return _shape_match(block, *found) if found else None


def match_plain_object(members: dict[str, object]) -> MediaMatch | None:
    """Return the medium of an object that has only a payload, its type and its name."""
    if PLAIN.keys().isdisjoint(members):
        return None
    mime = _mime_type(members, ())
    names = (*block_table.KNOWN.file_names, *NAMES)
    allowed = {key for key in names if isinstance(members.get(key), str)}
    if is_binary_content(members):
        allowed |= {"kind", "identifier", "vendor_metadata"}
    if mime:
        allowed.add(mime[0][0])
    keys = [key for key in members if key not in allowed and members[key] is not None]
    if len(keys) != 1 or keys[0] not in PLAIN:
        return None
    key = keys[0]
    payload = payload_of(members[key], is_declared=mime is not None)
    return None if payload is None else _match(members, (key,), payload, PLAIN[key][0])


def match_linked_media(members: dict[str, object]) -> MediaMatch | None:
    """Return the URL of an object such as `{url, mimeType, …}` that declares a medium."""
    for key in block_table.URL_NAMES:
        url = members.get(key)
        if isinstance(url, str):
            mime = _mime_type(members, ())
            # A single word may be a topic: {"url": …, "contentType": "video"}.
            is_of_media = mime is not None and "/" in mime[1] and not is_textual(mime[1])
            return _match(members, (key,), url, None) if is_of_media else None
    return None


def match_at(
    block: dict[str, object], path: MemberPath, kind: ClaimedKind | None = None
) -> MediaMatch | None:
    """Return the medium at a place that only holds media, `None` if there is none."""
    payload = payload_of(value_at(block, path))
    return None if payload is None else _match(block, path, payload, kind)


def is_binary_content(members: dict[str, object]) -> bool:
    """Return whether an object is pydantic-ai's `BinaryContent`, whose data are always base64."""
    return members.get("kind") == "binary" and "media_type" in members


def is_loosely_named(path: MemberPath) -> bool:
    """Return whether the key of a plain object may also hold a word, a path or a sentence."""
    return not PLAIN[path[0]][1]


def kind_of_range(claimed: str) -> ClaimedKind | None:
    """Return the kind of `image/*` or `image` in place of a MIME type."""
    return _KINDS.get(claimed.strip().lower().removesuffix("/*"))


def embedded_claims(members: dict[str, object]) -> dict[MemberPath, MediaClaim]:
    """Return the places in a record where media may be, with the properties the record declares."""
    claims: dict[MemberPath, MediaClaim] = {}
    for key in members.keys() & PLAIN.keys():
        claims[(key,)] = _plain_claim(members, key)
    for path, payload, shape in _untyped_payloads(members):
        claims[path] = _shape_match(members, path, payload, shape).claim
    typed = match_typed_block(members)
    if typed:
        claims[typed.path] = typed.claim
    if isinstance(uri := members.get("uri"), str) and is_data_uri(uri):
        # A `FileValue` of SEP-2631, for example.
        claims[("uri",)] = _plain_claim(members, "uri")
    return claims


def _shapes_of_type(block: dict[str, object]) -> tuple[BlockShape, ...]:
    block_type = block.get("type")
    return block_table.KNOWN.typed.get(block_type, ()) if isinstance(block_type, str) else ()


def _untyped_payloads(members: dict[str, object]) -> Iterator[_Found]:
    known = block_table.KNOWN
    if known.untyped_keys.isdisjoint(members):
        return iter(())
    return _payloads(members, known.untyped)


def _payloads(members: dict[str, object], shapes: tuple[BlockShape, ...]) -> Iterator[_Found]:
    for shape in shapes:
        for path in shape.payloads:
            payload = payload_of(value_at(members, path)) if path[0] in members else None
            if payload is not None and not _is_record_of(members, path, payload, shape.kind):
                yield path, payload, shape


def _shape_match(
    block: dict[str, object], path: MemberPath, payload: Payload, shape: BlockShape
) -> MediaMatch:
    match = _match(block, path, payload, shape.kind)
    if match.claim.mime_type is not None or shape.mime_type is None:
        return match
    claim = replace(match.claim, mime_type=shape.mime_type, min_chars=_DECLARED_CHARS)
    return replace(match, claim=claim)


def _match(
    block: dict[str, object], path: MemberPath, payload: Payload, kind: ClaimedKind | None
) -> MediaMatch:
    consumed = [path]
    mime = next((found for place in _outwards(path) if (found := _mime_type(block, place))), None)
    name = _filename(block, path)
    known_kind = kind_of_range(mime[1]) if mime else None
    mime_type = mime[1] if mime and known_kind is None else None
    if mime:
        consumed.append(mime[0])
        place, declaring = mime[0][:-1], value_at(block, mime[0])
        if isinstance(declaring, str) and isinstance(holder := value_at(block, place), dict):
            consumed += [(*place, name) for name in format_members(declaring, holder)]
    # `name` and `title` of the block itself stay: they name the part as well as the file.
    if name and not (len(name[0]) == 1 and name[0][-1] in NAMES):
        consumed.append(name[0])
    consumed += _framing(block, path)
    kind = kind or known_kind
    claim = MediaClaim(
        kind=kind,
        mime_type=mime_type,
        filename=name[1] if name else None,
        min_chars=_DECLARED_CHARS if mime_type else CERTAIN_BASE64_CHARS if kind else None,
        is_encoded=is_binary_content(block),
    )
    return MediaMatch(path, payload, claim, tuple(consumed))


def _plain_claim(members: dict[str, object], key: str) -> MediaClaim:
    kind, holds_bytes = PLAIN.get(key, (None, False))
    mime = _mime_type(members, ())
    name = _filename(members, (key,))
    if mime and kind and not mime[1].lower().startswith(kind):
        mime = None
    if key == "text" and (mime is None or is_textual(mime[1]) or "svg" in mime[1]):
        return MediaClaim()
    declared = mime is not None or members.get("encoding") == "base64"
    shortest = _DECLARED_CHARS if holds_bytes else CERTAIN_BASE64_CHARS
    known_kind = kind_of_range(mime[1]) if mime else None
    return MediaClaim(
        kind=kind or known_kind,
        mime_type=mime[1] if mime and known_kind is None else None,
        filename=name[1] if name and "." in name[1].strip(".") else None,
        min_chars=shortest if declared else None,
    )


def _outwards(path: MemberPath) -> Iterator[MemberPath]:
    return (path[:length] for length in range(len(path) - 1, -1, -1))


def _framing(block: dict[str, object], path: MemberPath) -> Iterator[MemberPath]:
    if _shapes_of_type(block):
        yield from (("type",), ("cache_control",))
    for place in _outwards(path):
        for key, values in block_table.FRAMING.items():
            value = value_at(block, (*place, key))
            if isinstance(value, str) and value in values:
                yield (*place, key)


def _mime_type(block: dict[str, object], place: MemberPath) -> tuple[MemberPath, str] | None:
    container = value_at(block, place)
    if not isinstance(container, dict):
        return None
    for key in block_table.KNOWN.type_names:
        claimed = container.get(key)
        if isinstance(claimed, str) and key != "type":
            # `g711_ulaw` is the name of a format, and stands here too.
            claimed = type_of_format(claimed) or claimed
        if isinstance(claimed, str) and canonical_mime_type(claimed):
            declared = claimed.strip()
            return (*place, key), ";".join(
                (declared, *format_members(declared, container).values())
            )
    for key in block_table.FORMAT_NAMES:
        extension = container.get(key)
        if not isinstance(extension, str):
            continue
        mime_type = type_of_format(extension) or mime_type_for_filename(f".{extension}")
        # Next to a text, "json" does not declare a file: it is the tool's own member.
        if mime_type and not (
            is_textual(mime_type) and any(isinstance(container.get(name), str) for name in PLAIN)
        ):
            return (*place, key), mime_type
    return _range(container, place)


def _range(container: dict[str, object], place: MemberPath) -> tuple[MemberPath, str] | None:
    """Return a declared kind without a type; the word alone is a block's own `type`."""
    for key in block_table.KNOWN.type_names:
        claimed = container.get(key)
        if not isinstance(claimed, str) or (key == "type" and "/" not in claimed):
            continue
        if kind_of_range(claimed):
            return (*place, key), claimed.strip()
    return None


def _filename(block: dict[str, object], path: MemberPath) -> tuple[MemberPath, str] | None:
    for keys in (block_table.KNOWN.file_names, NAMES):
        for place in _outwards(path):
            container = value_at(block, place)
            for key in keys:
                name = container.get(key) if isinstance(container, dict) else None
                if isinstance(name, str) and name:
                    return (*place, key), name
    return None
