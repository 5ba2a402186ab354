"""Reads MCP's embedded resources and resource links (specification 2026-07-28, "Tool Result").

The draft SEP-2631 adds `{"type": "file", "file": {"uri", "name", "mimeType", "size"}}`. Its members
are those of a link; `uri` may also be a `data:` URI.
"""

from dataclasses import replace
from decimal import Decimal

from pagefault_dialects.json.values import json_text
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.block_shapes import (
    MediaClaim,
    find_range_kind,
    is_media_source,
    parse_payload,
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
    add_medium_part,
    decode_text,
    find_url_filename,
    is_http_url,
    keep_declared_type,
    make_link,
    parse_stored_reference,
    read_payload,
    read_string,
)
from pagefault_dialects.results.side_information import add_side_information
from pagefault_dialects.results.structures import contains_media, is_recognised
from pagefault_dialects.text_windows import without_lone_surrogates

_BLOB: MemberPath = ("resource", "blob")
_TEXT: MemberPath = ("resource", "text")
_MIME_TYPES: tuple[MemberPath, ...] = (("resource", "mimeType"), ("resource", "mime_type"))
_SVG = "image/svg+xml"
_SHORTEST_BASE64 = 16


def has_resource(block: dict[str, object]) -> bool:
    """Return whether a block of type `resource` has text or bytes."""
    text = value_at(block, _TEXT)
    return (
        parse_payload(value_at(block, _BLOB)) is not None
        or isinstance(text, str | int | float | Decimal)
        or is_media_source(text)
    )


def read_resource(block: dict[str, object], context: ReadContext) -> list[NormalizedPart]:
    """Return an embedded resource: its bytes as a medium, its text as text of its type."""
    claim, consumed = _find_claim(block)
    blob = parse_payload(value_at(block, _BLOB))
    path = _TEXT if blob is None else _BLOB
    member_context = context.descend(*path)
    if isinstance(blob, str):
        parts = _read_blob(blob, claim, member_context, has_filename=bool(_list_filenames(block)))
    elif blob is not None:
        parts = [add_medium_part(blob, claim, member_context)]
    else:
        parts = _read_text(value_at(block, _TEXT), claim, member_context)
    if isinstance(parts[0], NormalizedText) and parts[0].template == ("",):
        parts = [_describe_empty(_get_text(block["resource"], "uri"), parts[0])]
    return add_side_information(parts, block, [("type",), path, *consumed], context)


def read_resource_link(block: dict[str, object], context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a resource link.

    A link to a stored resource becomes a reference, and an http(s) link to a medium a link. Any
    other link becomes a text with its name, URL, type and size as lines.
    """
    uri, type_name = str(block["uri"]), _find_type_name(block)
    mime_type = _get_text(block, type_name)
    kind = find_range_kind(mime_type or "")
    main_type = kind or (canonical_mime_type(mime_type or "") or "").partition("/")[0]
    if resource_id := parse_stored_reference(uri):
        declared_type = keep_declared_type(mime_type, is_text=True)
        pointer = str(context.descend("uri").pointer)
        parts: list[NormalizedPart] = [
            NormalizedReference(uri, resource_id, pointer, declared_type)
        ]
        return add_side_information(parts, block, [("type",), ("uri",), (type_name,)], context)
    if is_http_url(uri) and main_type in ("image", "audio", "video"):
        claim = MediaClaim(kind, None if kind else mime_type, _get_text(block, "name"))
        parts = [make_link(without_lone_surrogates(uri), claim)]
        return add_side_information(parts, block, [("type",), (type_name,)], context)
    summary, consumed = _summarize(block, context)
    parts = [NormalizedText((summary,))]
    return add_side_information(parts, block, [("type",), *consumed], context)


def has_file_value(block: dict[str, object]) -> bool:
    """Return whether a block of type `file` has a `FileValue` of SEP-2631."""
    return isinstance(value_at(block, ("file", "uri")), str)


def read_file_value(block: dict[str, object], context: ReadContext) -> list[NormalizedPart]:
    """Return the file in the `data:` URI of a `FileValue`; for other URIs, the parts of a link."""
    file = block["file"]
    members = dict(file) if isinstance(file, dict) else {}
    name = _get_text(members, "name") or _get_text(members, "displayName")
    uri, type_name = str(members["uri"]), _find_type_name(members)
    if is_data_uri(uri):
        claim = MediaClaim(mime_type=_get_text(members, type_name), filename=name)
        parts = read_payload(uri, claim, context.descend("file", "uri"))
        read_names = ("uri", "name", "displayName", type_name, "size", "digest")
        consumed: list[MemberPath] = [("type",), *(("file", key) for key in read_names)]
        return add_side_information(parts, block, consumed, context, filename=name)
    other_members = {key: value for key, value in block.items() if key != "file"}
    members |= {"name": name} if members.pop("displayName", None) is not None else {}
    return read_resource_link({**other_members, **members, "type": "resource_link"}, context)


def _summarize(block: dict[str, object], context: ReadContext) -> tuple[str, list[MemberPath]]:
    """Return the lines about a link, and the paths of the members that need not be kept besides."""
    lines: list[str] = []
    consumed: list[MemberPath] = []
    for key in ("title", "name", "uri", _find_type_name(block), "size", "description"):
        value = block.get(key)
        if key == "size" and isinstance(value, int) and not isinstance(value, bool):
            lines.append(f"{value} bytes")
        elif isinstance(value, str) and value and not contains_media(value):
            lines.append(without_lone_surrogates(value))
        else:
            continue
        # The name and the URI are kept, since they are part of the provenance.
        if key not in ("name", "uri"):
            consumed.append((key,))
            context.collector.repair_text(str(value), context.descend(key).pointer)
    return "\n".join(dict.fromkeys(lines)), consumed


def _find_type_name(link: dict[str, object]) -> str:
    """Return the name of the member with a link's type: `mimeType` or `mime_type`."""
    is_snake_case = link.get("mimeType") is None and "mime_type" in link
    return "mime_type" if is_snake_case else "mimeType"


def _find_claim(block: dict[str, object]) -> tuple[MediaClaim, list[MemberPath]]:
    """Return the declared properties of a resource, and the path of the type if it is used."""
    declared = ((path, value_at(block, path)) for path in _MIME_TYPES)
    path, mime_type = next(
        (
            (path, value)
            for path, value in declared
            if isinstance(value, str) and (canonical_mime_type(value) or find_range_kind(value))
        ),
        (None, None),
    )
    kind = find_range_kind(mime_type or "")
    claim = MediaClaim(kind, None if kind else mime_type, _find_filename(block), is_encoded=True)
    return claim, [path] if path else []


def _list_filenames(block: dict[str, object]) -> list[str]:
    """Return the names of a resource that have an extension."""
    names = [_get_text(block["resource"], key) for key in ("filename", "title", "name")]
    return [name for name in names if name and "." in name.strip(".")]


def _find_filename(block: dict[str, object]) -> str | None:
    """Return the file name of a resource: one of its names, or the last segment of its URI."""
    uri = _get_text(block["resource"], "uri")
    name_in_uri = find_url_filename(uri) if uri else None
    return next((name for name in (*_list_filenames(block), name_in_uri) if name), None)


def _read_blob(
    blob: str, claim: MediaClaim, context: ReadContext, *, has_filename: bool
) -> list[NormalizedPart]:
    """Return the parts of the base64 of a resource: a medium, or the text of a textual type."""
    data = decode_base64(blob)
    if data is None:
        return read_payload(blob, claim, context)
    # A resource with a file name stays a file.
    text = None if has_filename else decode_text(data, claim.mime_type)
    if text is None:
        context.collector.note_payload(blob)
        return [add_medium_part(data, claim, context)]
    context.collector.note_payload(blob, is_text=True)
    return read_string(text, context, declared=claim.mime_type)


def _describe_empty(uri: str | None, part: NormalizedText) -> NormalizedText:
    """Return a text that says that a resource is empty, since an empty part looks like an error."""
    if uri is None or contains_media(uri):
        return part
    template = (f"[{without_lone_surrogates(uri)} is empty]",)
    is_json = part.mime_type == JSON_TEXT
    provenance = Provenance(meta={"mimeType": JSON_TEXT}) if is_json else part.provenance
    return NormalizedText(template, provenance=provenance)


def _read_text(text: object, claim: MediaClaim, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of the text of a resource: usually a text of the declared type.

    SVG becomes a medium, and so does base64 under `text`, if the declared type is no textual one.
    """
    if is_media_source(text):
        return [add_medium_part(text, claim, context)]
    if not isinstance(text, str):
        declared_type = keep_declared_type(claim.mime_type, is_text=True)
        return [NormalizedText((json_text(text),), provenance=declared_type)]
    mime_type = canonical_mime_type(claim.mime_type or "")
    if mime_type == _SVG:
        markup = context.collector.repair_text(text, context.pointer)
        return [add_medium_part(markup.encode(), claim, context)]
    if mime_type is None or is_textual(mime_type):
        return read_string(text, context, declared=claim.mime_type)
    data = _decode_certain_base64(text)
    if data:
        return [add_medium_part(data, claim, context)]
    # The text does not match its declared type, so it is plain text.
    first, *following = read_string(text, context)
    declared_type = keep_declared_type(claim.mime_type, is_text=True)
    return [replace(first, provenance=declared_type), *following]


def _decode_certain_base64(text: str) -> bytes | None:
    """Return the bytes of a text that is base64; `None` if it may be a word by chance."""
    data = decode_base64(text) if len(text) >= _SHORTEST_BASE64 else None
    is_certain = len(text) >= CERTAIN_BASE64_CHARS or text.rstrip().endswith("=")
    return data if data and (is_certain or is_recognised(data, None)) else None


def _get_text(members: object, key: str) -> str | None:
    value = members.get(key) if isinstance(members, dict) else None
    return value if isinstance(value, str) and value else None
