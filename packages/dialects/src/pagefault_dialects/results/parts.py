"""Reads single strings and payloads as parts.

`read_string` reads a string anywhere in the content. `read_payload` reads the payload of a block
that is declared as a medium. A payload that cannot be decoded becomes a text, with a warning.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import MediaSlot, json_template
from pagefault_dialects.media.base64_runs import decode_undeclared
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS
from pagefault_dialects.media.block_shapes import MediaClaim, Payload
from pagefault_dialects.media.bytes_literals import decode_bytes_literal, decode_declared_text
from pagefault_dialects.media.data_uris import is_data_uri, parse_data_uri, parse_text_uri
from pagefault_dialects.media.types import (
    OCTET_STREAM,
    canonical_mime_type,
    is_textual,
    mime_type_for_filename,
)
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.normalized import (
    NO_PROVENANCE,
    NormalizedLink,
    NormalizedMediaPart,
    NormalizedPart,
    NormalizedReference,
    NormalizedText,
    Provenance,
)
from pagefault_dialects.model.resource import parse_resource_id, resource_kind
from pagefault_dialects.results.collector import Collector, Pointer, make_source
from pagefault_dialects.results.structures import (
    MediaExtractor,
    decode_readable_text,
    extract_media,
    extract_media_from_text,
    type_of_data_uri,
    warn_undecodable,
)
from pagefault_dialects.text_windows import without_lone_surrogates

PLAIN_TEXT = "text/plain"
JSON_TEXT = "application/json"
# Longer decoded texts stay files.
_MAX_TEXT_BYTES = 1024 * 1024

# A reference in any spelling, valid or not.
_ANY_REFERENCE = re.compile(r"@?blob:\S+\Z", re.IGNORECASE)
_HTTP_URL = re.compile(r"https?://\S+\Z", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}://|(?:javascript|vbscript|file|about):", re.IGNORECASE)
# References exactly as records spell them. Any other spelling is a text of the tool.
_STORED_REFERENCE = re.compile(r"@?blob:[0-9a-f]{32}\Z")
# Longer texts are not taken for MIME types.
_MAX_TYPE_CHARS = 255
_EMPTY_NOTE = "data that is empty"
_REFUSED_NOTE = "at a URL that is neither http nor https"
_UNDECODABLE_NOTE = "data that could not be decoded"
# Shorter texts that are valid base64 are taken for words.
_MIN_ENCODED_CHARS = 8


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The context of reading one value of the result."""

    collector: Collector
    """Collects the media and warnings of the whole result."""
    pointer: Pointer
    """The pointer to the value."""
    forms: tuple[BlockForm, ...] = ()
    """The forms of blocks of the dialect whose envelope encloses the value."""
    is_closed: bool = False
    """True if every block in the value belongs to that dialect, known or not."""
    is_message: bool = False
    """True if the result is part of a message, whose reader reports files of a provider."""

    def descend(self, *path: str | int) -> "ReadContext":
        """Return the context of the member at a path."""
        pointer = self.pointer
        for token in path:
            pointer = pointer.child(token)
        return ReadContext(self.collector, pointer, self.forms, self.is_closed, self.is_message)


def read_string(
    text: str, context: ReadContext, *, declared: str | None = None
) -> list[NormalizedPart]:
    """Return the parts of a string: one medium, or text with its media moved out.

    A string that is a reference as records spell it becomes a reference. If the reference cannot be
    resolved later, it becomes a text again.

    Args:
        text: The string.
        context: The context of the string.
        declared: The declared MIME type, in any spelling.
    """
    text = context.collector.repair_text(text, context.pointer)
    if resource_id := parse_stored_reference(text):
        pointer = str(context.pointer)
        declared_type = keep_declared_type(declared, is_text=True)
        return [NormalizedReference(text, resource_id, pointer, declared_type, is_claimed=False)]
    uri = parse_data_uri(text)
    if uri and uri.data:
        mime_type = type_of_data_uri(uri.mime_type, uri.data)
        claim = MediaClaim(mime_type=mime_type, filename=uri.filename)
        return _read_decoded(uri.data, claim, context, encoded=text)
    if text_uri := parse_text_uri(text):
        uri_type, uri_text = text_uri
        if decode_readable_text(uri_text.encode()) is not None:
            return _read_text_with_media(uri_text, context, uri_type or declared)
    if data := decode_undeclared(text) or decode_bytes_literal(text):
        return [add_medium_part(data, MediaClaim(), context)]
    parts = _read_text_with_media(text, context, declared)
    if uri and len(parts) == 1:
        warn_undecodable(context.collector, context.pointer)
    return parts


def make_json_part(value: object) -> NormalizedText:
    """Return the JSON text of a value as a part; slots replace its media."""
    is_scalar = not isinstance(value, dict | list)
    return NormalizedText(json_template(value), PLAIN_TEXT if is_scalar else JSON_TEXT)


def read_as_json(value: object, context: ReadContext) -> list[NormalizedPart]:
    """Return a value as JSON text, followed by the media moved out of it."""
    extractor = MediaExtractor(context.collector)
    extracted = extract_media(value, context.pointer, extractor)
    return [make_json_part(extracted), *make_media_parts(extractor.slots)]


def make_media_parts(slots: list[MediaSlot]) -> list[NormalizedPart]:
    """Return a part for each medium that was moved out of a text or a value."""
    return [NormalizedMediaPart(slot, extracted=True) for slot in slots]


def add_medium_part(
    medium: MediaSource | bytes, claim: MediaClaim, context: ReadContext
) -> NormalizedMediaPart:
    """Add a medium to the collector, and return its part."""
    source = make_source(medium, claim.mime_type)
    slot = context.collector.add_medium(source, claim, context.pointer)
    return NormalizedMediaPart(slot, keep_declared_type(source.declared_mime_type, is_text=False))


def read_payload(payload: Payload, claim: MediaClaim, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of the payload of a block that is declared as a medium.

    The first part is the payload: a medium, a link, a reference, or text.
    """
    if not isinstance(payload, str):
        return [add_medium_part(payload, claim, context)]
    whole = context.collector.repair_text(payload, context.pointer)
    text = whole.strip()
    if is_data_uri(text):
        return _read_data_uri(text, claim, context)
    if _ANY_REFERENCE.match(text):
        reference = parse_resource_id(text.lower())
        return [NormalizedReference(text, reference, str(context.pointer))]
    if is_http_url(text):
        return [make_link(text, claim)]
    if _URL.match(text):
        return _refuse_url(text, claim, context)
    return _read_encoded(whole, claim, context)


def parse_stored_reference(text: str) -> str | None:
    """Return the id in `@blob:<32 hex>` or `blob:<32 hex>`; `None` for any other text."""
    return parse_resource_id(text) if _STORED_REFERENCE.match(text) else None


def keep_declared_type(declared: str | None, *, is_text: bool) -> Provenance:
    """Return a provenance with the declared MIME type in `_meta`, if the part cannot have it.

    A text part can only have the types plain text and JSON. The type of a medium has no parameters,
    except those of raw audio.
    """
    canonical = canonical_mime_type(declared) if declared else None
    if declared is None or canonical is None or len(declared) > _MAX_TYPE_CHARS:
        return NO_PROVENANCE
    if (";" in declared and declared != canonical) or (
        is_text and canonical not in (PLAIN_TEXT, JSON_TEXT)
    ):
        return Provenance(meta={"mimeType": without_lone_surrogates(declared)})
    return NO_PROVENANCE


def is_http_url(text: str) -> bool:
    """Return whether the whole text is an http or https URL."""
    return _HTTP_URL.match(text) is not None


def make_link(url: str, claim: MediaClaim) -> NormalizedLink:
    """Return a link to a remote medium. Its type is the declared one, or that of the extension."""
    mime_type = canonical_mime_type(claim.mime_type) if claim.mime_type else None
    mime_type = mime_type or _guess_type(url, claim) or OCTET_STREAM
    kind = resource_kind(mime_type)
    return NormalizedLink(
        url=url,
        kind="binary" if kind == "text" else kind,
        mime_type=mime_type,
        filename=claim.filename,
        provenance=keep_declared_type(claim.mime_type, is_text=False),
    )


def find_url_filename(url: str) -> str | None:
    """Return the last segment of a URL's path, if the segment has an extension."""
    try:
        path = urlsplit(url).path
    except ValueError:
        # Brackets without an IPv6 address: an invalid URL.
        return None
    name = unquote(path.rpartition("/")[2])
    return name if "." in name.strip(".") else None


def _guess_type(url: str, claim: MediaClaim) -> str | None:
    """Return the type of a URL's extension, or a range such as `image/*` for the declared kind."""
    guessed = mime_type_for_filename(find_url_filename(url) or "")
    if claim.kind is None or (guessed and guessed.startswith(claim.kind)):
        return guessed
    return f"{claim.kind}/*"


def _read_data_uri(text: str, claim: MediaClaim, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a data URI. Its type has priority over the type of the block."""
    uri = parse_data_uri(text)
    if uri is None:
        return read_string(text, context)
    if uri.data is None:
        return _keep_undecodable(text, claim, context)
    mime_type = uri.mime_type or claim.mime_type
    if claim.kind is None:
        mime_type = type_of_data_uri(mime_type, uri.data)
    filename = claim.filename or uri.filename
    claim = MediaClaim(claim.kind, mime_type, filename)
    return _read_decoded(uri.data, claim, context, encoded=text)


def _read_encoded(text: str, claim: MediaClaim, context: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a payload that is base64, or a text if the declared type is textual."""
    data = decode_declared_text(text)
    if claim.mime_type is None or not is_textual(claim.mime_type):
        if data is None:
            return _keep_undecodable(text, claim, context)
        context.collector.note_payload(text)
        return [add_medium_part(data, claim, context)]
    # A word may be valid base64 by chance, but its bytes are then hardly ever a readable text.
    is_certain = claim.is_encoded or len(text) >= CERTAIN_BASE64_CHARS
    is_long_enough = claim.is_encoded or len(text) >= _MIN_ENCODED_CHARS
    if data and (is_certain or (is_long_enough and decode_readable_text(data) is not None)):
        context.collector.note_payload(text)
        return _read_decoded(data, claim, context, encoded=text)
    return read_string(text, context, declared=claim.mime_type)


def _read_decoded(
    data: bytes, claim: MediaClaim, context: ReadContext, *, encoded: str
) -> list[NormalizedPart]:
    """Return the parts of decoded bytes: a medium, or a text if the declared type is textual.

    A text with a file name stays a medium, and so do bytes that are no readable text.
    """
    mime_type = canonical_mime_type(claim.mime_type) if claim.mime_type else None
    text = None if claim.filename else decode_text(data, mime_type)
    if mime_type is None or text is None:
        return [add_medium_part(data, claim, context)]
    context.collector.note_payload(encoded, is_text=True)
    return _read_text_with_media(text, context, claim.mime_type)


def decode_text(data: bytes, mime_type: str | None) -> str | None:
    """Return the text of bytes; `None` if the type is not textual or the text is too long."""
    if mime_type is None or not is_textual(mime_type) or len(data) > _MAX_TEXT_BYTES:
        return None
    return decode_readable_text(data)


def _read_text_with_media(
    text: str, context: ReadContext, declared: str | None
) -> list[NormalizedPart]:
    """Return a text of a declared type, followed by the media that were moved out of it."""
    mime_type = canonical_mime_type(declared) if declared else None
    declared_type = keep_declared_type(declared, is_text=True)
    extractor = MediaExtractor(context.collector)
    extracted = extract_media_from_text(text, context.pointer, extractor)
    template = (extracted,) if isinstance(extracted, str) else extracted
    first = NormalizedText(template, mime_type or PLAIN_TEXT, declared_type)
    return [first, *make_media_parts(extractor.slots)]


def _keep_undecodable(text: str, claim: MediaClaim, context: ReadContext) -> list[NormalizedPart]:
    """Return a payload that cannot be decoded as a text after a note, and add a warning."""
    warn_undecodable(context.collector, context.pointer)
    if not text:
        return [NormalizedText((f"[{_describe_claim(claim)} {_EMPTY_NOTE}]",))]
    note = f"[{_describe_claim(claim)} {_UNDECODABLE_NOTE}]\n{text}"
    return _read_text_with_media(note, context, None)


def is_undecodable_note(text: str) -> bool:
    """Return whether a text replaces a medium that could not be decoded."""
    line = text.partition("\n")[0]
    return line.startswith("[") and line.endswith((f" {_EMPTY_NOTE}]", f" {_UNDECODABLE_NOTE}]"))


def is_refused_note(text: str) -> bool:
    """Return whether a text replaces a medium at a URL that is neither http nor https."""
    line = text.partition("\n")[0]
    return line.startswith("[") and line.endswith(f" {_REFUSED_NOTE}]")


def _refuse_url(text: str, claim: MediaClaim, context: ReadContext) -> list[NormalizedPart]:
    """Return a URL that is neither http nor https as a text after a note, and add a warning."""
    context.collector.warn(
        "refused-url",
        context.pointer,
        "Only http and https URLs can stand for media; this one was kept as text.",
    )
    note = f"[{_describe_claim(claim)} {_REFUSED_NOTE}]\n{text}"
    return _read_text_with_media(note, context, None)


def _describe_claim(claim: MediaClaim) -> str:
    """Return the declared type or kind of a medium, for a note in place of the medium."""
    return canonical_mime_type(claim.mime_type or "") or claim.kind or "media"
