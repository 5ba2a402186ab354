"""MCP's embedded resources and resource links (specification 2026-07-28, "Tool Result").

The draft SEP-2631 adds `{"type": "file", "file": {"uri", "name", "mimeType", "size"}}`. Its members
are those of a link; `uri` may also be a `data:` URI.
"""

from dataclasses import replace
from decimal import Decimal

from pagefault_dialects.json.values import json_text
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.block_shapes import (
    MediaClaim,
    is_handle,
    kind_of_range,
    payload_of,
    value_at,
)
from pagefault_dialects.media.block_table import MemberPath
from pagefault_dialects.media.data_uris import is_data_uri
from pagefault_dialects.media.types import canonical_mime_type, is_textual
from pagefault_dialects.model.normalized import (
    NormalizedPart,
    NormalizedReference,
    NormalizedText,
    Provenance,
)
from pagefault_dialects.results.parts import (
    JSON_TEXT,
    ReadContext,
    declared_parts,
    filename_of_url,
    is_remote,
    link,
    medium_part,
    own_reference,
    text_of_type,
    text_parts,
    type_beside,
)
from pagefault_dialects.results.side_information import with_side_information
from pagefault_dialects.results.structures import holds_media, is_recognised
from pagefault_dialects.text_windows import without_lone_surrogates

_BLOB: MemberPath = ("resource", "blob")
_TEXT: MemberPath = ("resource", "text")
_MIME_TYPES: tuple[MemberPath, ...] = (("resource", "mimeType"), ("resource", "mime_type"))
_SVG = "image/svg+xml"
_SHORTEST_BASE64 = 16


def carries_resource(block: dict[str, object]) -> bool:
    """Return whether a block of type `resource` has text or bytes."""
    text = value_at(block, _TEXT)
    return (
        payload_of(value_at(block, _BLOB)) is not None
        or isinstance(text, str | int | float | Decimal)
        or is_handle(text)
    )


def read_resource(block: dict[str, object], place: ReadContext) -> list[NormalizedPart]:
    """Return an embedded resource: its bytes as a medium, its text as text of its type."""
    claim, consumed = _claim(block)
    blob = payload_of(value_at(block, _BLOB))
    path = _TEXT if blob is None else _BLOB
    here = place.inside(*path)
    if isinstance(blob, str):
        parts = _blob_parts(blob, claim, here, is_named=bool(_given_names(block)))
    elif blob is not None:
        parts = [medium_part(blob, claim, here)]
    else:
        parts = _text_parts(value_at(block, _TEXT), claim, here)
    if isinstance(parts[0], NormalizedText) and parts[0].template == ("",):
        parts = [_empty(_text_of(block["resource"], "uri"), parts[0])]
    return with_side_information(parts, block, [("type",), path, *consumed], place)


def read_resource_link(block: dict[str, object], place: ReadContext) -> list[NormalizedPart]:
    """Return a link to media as a link, any other as lines: name, address, type and size."""
    uri, type_key = str(block["uri"]), _type_key(block)
    mime_type = _text_of(block, type_key)
    kind = kind_of_range(mime_type or "")
    family = kind or (canonical_mime_type(mime_type or "") or "").partition("/")[0]
    if resource_id := own_reference(uri):
        declared_type = type_beside(mime_type, is_text=True)
        pointer = str(place.inside("uri").pointer)
        parts: list[NormalizedPart] = [
            NormalizedReference(uri, resource_id, pointer, declared_type)
        ]
        return with_side_information(parts, block, [("type",), ("uri",), (type_key,)], place)
    if is_remote(uri) and family in ("image", "audio", "video"):
        claim = MediaClaim(kind, None if kind else mime_type, _text_of(block, "name"))
        parts = [link(without_lone_surrogates(uri), claim)]
        return with_side_information(parts, block, [("type",), (type_key,)], place)
    summary, described = _summary(block, place)
    parts = [NormalizedText((summary,))]
    return with_side_information(parts, block, [("type",), *described], place)


def carries_file_value(block: dict[str, object]) -> bool:
    """Return whether a block of type `file` has a `FileValue` of SEP-2631."""
    return isinstance(value_at(block, ("file", "uri")), str)


def read_file_value(block: dict[str, object], place: ReadContext) -> list[NormalizedPart]:
    """Return a `FileValue`: the file in its `data:` URI, otherwise what a link has."""
    file = block["file"]
    members = dict(file) if isinstance(file, dict) else {}
    name = _text_of(members, "name") or _text_of(members, "displayName")
    uri, type_key = str(members["uri"]), _type_key(members)
    if is_data_uri(uri):
        claim = MediaClaim(mime_type=_text_of(members, type_key), filename=name)
        parts = declared_parts(uri, claim, place.inside("file", "uri"))
        described = ("uri", "name", "displayName", type_key, "size", "digest")
        consumed: list[MemberPath] = [("type",), *(("file", key) for key in described)]
        return with_side_information(parts, block, consumed, place, filename=name)
    rest = {key: value for key, value in block.items() if key != "file"}
    members |= {"name": name} if members.pop("displayName", None) is not None else {}
    return read_resource_link({**rest, **members, "type": "resource_link"}, place)


def _summary(block: dict[str, object], place: ReadContext) -> tuple[str, list[MemberPath]]:
    """Return the lines about a link, and the members that they cover."""
    lines: list[str] = []
    described: list[MemberPath] = []
    for key in ("title", "name", "uri", _type_key(block), "size", "description"):
        value = block.get(key)
        if key == "size" and isinstance(value, int) and not isinstance(value, bool):
            lines.append(f"{value} bytes")
        elif isinstance(value, str) and value and not holds_media(value):
            lines.append(without_lone_surrogates(value))
        else:
            continue
        # The name and the address are part of the provenance.
        if key not in ("name", "uri"):
            described.append((key,))
            place.collector.readable(str(value), place.inside(key).pointer)
    return "\n".join(dict.fromkeys(lines)), described


def _type_key(link: dict[str, object]) -> str:
    """Return the member with a link's type, in one spelling or the other."""
    return "mime_type" if link.get("mimeType") is None and "mime_type" in link else "mimeType"


def _claim(block: dict[str, object]) -> tuple[MediaClaim, list[MemberPath]]:
    claimed = ((path, value_at(block, path)) for path in _MIME_TYPES)
    path, mime_type = next(
        (
            (path, value)
            for path, value in claimed
            if isinstance(value, str) and (canonical_mime_type(value) or kind_of_range(value))
        ),
        (None, None),
    )
    kind = kind_of_range(mime_type or "")
    claim = MediaClaim(kind, None if kind else mime_type, _filename(block), is_encoded=True)
    return claim, [path] if path else []


def _given_names(block: dict[str, object]) -> list[str]:
    names = [_text_of(block["resource"], key) for key in ("filename", "title", "name")]
    return [name for name in names if name and "." in name.strip(".")]


def _filename(block: dict[str, object]) -> str | None:
    uri = _text_of(block["resource"], "uri")
    from_uri = filename_of_url(uri) if uri else None
    return next((name for name in (*_given_names(block), from_uri) if name), None)


def _blob_parts(
    blob: str, claim: MediaClaim, place: ReadContext, *, is_named: bool
) -> list[NormalizedPart]:
    data = decode_base64(blob)
    if data is None:
        return declared_parts(blob, claim, place)
    # A resource with a file name stays a file.
    text = None if is_named else text_of_type(data, claim.mime_type)
    if text is None:
        place.collector.note_payload(blob)
        return [medium_part(data, claim, place)]
    place.collector.note_payload(blob, is_text=True)
    return text_parts(text, place, declared=claim.mime_type)


def _empty(uri: str | None, part: NormalizedText) -> NormalizedText:
    """Return a text for an empty resource, since an empty part looks like a mistake."""
    if uri is None or holds_media(uri):
        return part
    words = (f"[{without_lone_surrogates(uri)} is empty]",)
    is_json = part.mime_type == JSON_TEXT
    provenance = Provenance(meta={"mimeType": JSON_TEXT}) if is_json else part.provenance
    return NormalizedText(words, provenance=provenance)


def _text_parts(text: object, claim: MediaClaim, place: ReadContext) -> list[NormalizedPart]:
    if is_handle(text):
        return [medium_part(text, claim, place)]
    if not isinstance(text, str):
        declared_type = type_beside(claim.mime_type, is_text=True)
        return [NormalizedText((json_text(text),), provenance=declared_type)]
    mime_type = canonical_mime_type(claim.mime_type or "")
    if mime_type == _SVG:
        markup = place.collector.readable(text, place.pointer)
        return [medium_part(markup.encode(), claim, place)]
    if mime_type is None or is_textual(mime_type):
        return text_parts(text, place, declared=claim.mime_type)
    data = _certain_base64(text)
    if data:
        return [medium_part(data, claim, place)]
    # The text does not match its declared type, so it is plain text.
    first, *following = text_parts(text, place)
    declared_type = type_beside(claim.mime_type, is_text=True)
    return [replace(first, provenance=declared_type), *following]


def _certain_base64(text: str) -> bytes | None:
    """Return base64 in the place of a text decoded; short words do not count."""
    data = decode_base64(text) if len(text) >= _SHORTEST_BASE64 else None
    certain = len(text) >= CERTAIN_BASE64_CHARS or text.rstrip().endswith("=")
    return data if data and (certain or is_recognised(data, None)) else None


def _text_of(members: object, key: str) -> str | None:
    value = members.get(key) if isinstance(members, dict) else None
    return value if isinstance(value, str) and value else None
