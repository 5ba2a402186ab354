"""Parts of single strings and payloads.

`text_parts` reads a string anywhere in the content. `declared_parts` reads the payload of a
declared medium and never fails: other content becomes text and a warning.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import MediaSlot, json_template
from pagefault_dialects.media.base64_runs import decode_undeclared
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.block_shapes import MediaClaim, Payload
from pagefault_dialects.media.bytes_literals import decode_bytes_literal
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
from pagefault_dialects.results.collector import Collector, Pointer, as_source
from pagefault_dialects.results.structures import (
    Rewriting,
    readable_text,
    rewrite_text,
    rewrite_value,
    type_of_data_uri,
    warn_undecodable,
)
from pagefault_dialects.text_windows import without_lone_surrogates

PLAIN_TEXT = "text/plain"
JSON_TEXT = "application/json"
# Longer decoded text is a file.
_MAX_READABLE_BYTES = 1024 * 1024

_REFERENCE = re.compile(r"@?blob:\S+\Z", re.IGNORECASE)
_REMOTE = re.compile(r"https?://\S+\Z", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}://|(?:javascript|vbscript|file|about):", re.IGNORECASE)
# The exact spelling of records: other spellings are the tool's own text.
_OWN_REFERENCE = re.compile(r"@?blob:[0-9a-f]{32}\Z")
# Longer texts are no types.
_MAX_TYPE_CHARS = 255
_EMPTY = "data that is empty"
_REFUSED = "at a URL that is neither http nor https"
_UNDECODABLE = "data that could not be decoded"
_SHORTEST_ENCODED_TEXT = 8


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The place in the result that is read, and the collector of its media and warnings."""

    collector: Collector
    pointer: Pointer
    forms: tuple[BlockForm, ...] = ()
    """The blocks of the dialect of the enclosing envelope."""
    is_closed: bool = False
    """True if unknown blocks belong to the dialect as well."""
    is_message: bool = False
    """True if the message reader keeps the files that only their provider has."""

    def inside(self, *path: str | int) -> "ReadContext":
        """Return the place of a member."""
        here = self.pointer
        for token in path:
            here = here.child(token)
        return ReadContext(self.collector, here, self.forms, self.is_closed, self.is_message)


def text_parts(
    text: str, place: ReadContext, *, declared: str | None = None
) -> list[NormalizedPart]:
    """Return the parts of a string: one medium, or text with its media moved out.

    A reference that is the whole string counts if it can be resolved, and is text otherwise.

    Args:
        text: The string.
        place: Its place.
        declared: The declared MIME type, in any spelling.
    """
    text = place.collector.readable(text, place.pointer)
    if resource_id := own_reference(text):
        pointer = str(place.pointer)
        declared_type = type_beside(declared, is_text=True)
        return [NormalizedReference(text, resource_id, pointer, declared_type, is_claimed=False)]
    uri = parse_data_uri(text)
    if uri and uri.data:
        mime_type = type_of_data_uri(uri.mime_type, uri.data)
        claim = MediaClaim(mime_type=mime_type, filename=uri.filename)
        return _decoded_parts(uri.data, claim, place, encoded=text)
    if (written := parse_text_uri(text)) and readable_text(written[1].encode()) is not None:
        return _rewritten_parts(written[1], place, written[0] or declared)
    if data := decode_undeclared(text) or decode_bytes_literal(text):
        return [medium_part(data, MediaClaim(), place)]
    parts = _rewritten_parts(text, place, declared)
    if uri and len(parts) == 1:
        warn_undecodable(place.collector, place.pointer)
    return parts


def json_part(rewritten: object) -> NormalizedText:
    """Return the part of a value whose media were moved out: its JSON text."""
    is_scalar = not isinstance(rewritten, dict | list)
    return NormalizedText(json_template(rewritten), PLAIN_TEXT if is_scalar else JSON_TEXT)


def json_parts(value: object, place: ReadContext) -> list[NormalizedPart]:
    """Return a value as JSON text, followed by the media moved out of it."""
    rewriting = Rewriting(place.collector)
    rewritten = rewrite_value(value, place.pointer, rewriting)
    return [json_part(rewritten), *extracted_parts(rewriting.slots)]


def extracted_parts(slots: list[MediaSlot]) -> list[NormalizedPart]:
    """Return a part for each medium that was moved out of a text or a record."""
    return [NormalizedMediaPart(slot, extracted=True) for slot in slots]


def medium_part(
    medium: MediaSource | bytes, claim: MediaClaim, place: ReadContext
) -> NormalizedMediaPart:
    """Return the part of a medium."""
    source = as_source(medium, claim.mime_type)
    slot = place.collector.add_medium(source, claim, place.pointer)
    return NormalizedMediaPart(slot, type_beside(source.declared_mime_type, is_text=False))


def declared_parts(payload: Payload, claim: MediaClaim, place: ReadContext) -> list[NormalizedPart]:
    """Return the parts of a payload in the place of a medium.

    The first of them is the payload: a medium, a link, a reference, or text.
    """
    if not isinstance(payload, str):
        return [medium_part(payload, claim, place)]
    whole = place.collector.readable(payload, place.pointer)
    text = whole.strip()
    if is_data_uri(text):
        return _data_uri_parts(text, claim, place)
    if _REFERENCE.match(text):
        reference = parse_resource_id(text.lower())
        return [NormalizedReference(text, reference, str(place.pointer))]
    if is_remote(text):
        return [link(text, claim)]
    if _URL.match(text):
        return _refused_parts(text, claim, place)
    return _encoded_parts(whole, claim, place)


def own_reference(text: str) -> str | None:
    """Return the id in a text that is only `@blob:<32 hex>` or `blob:<32 hex>`."""
    return parse_resource_id(text) if _OWN_REFERENCE.match(text) else None


def type_beside(declared: str | None, *, is_text: bool) -> Provenance:
    """Return the declared MIME type of a part in `_meta`, unless the part has it itself.

    Texts have no type but plain text and JSON, and types of media have no parameters, but for those
    of samples without a header.
    """
    canonical = canonical_mime_type(declared) if declared else None
    if declared is None or canonical is None or len(declared) > _MAX_TYPE_CHARS:
        return NO_PROVENANCE
    if (";" in declared and declared != canonical) or (
        is_text and canonical not in (PLAIN_TEXT, JSON_TEXT)
    ):
        return Provenance(meta={"mimeType": without_lone_surrogates(declared)})
    return NO_PROVENANCE


def is_remote(text: str) -> bool:
    """Return whether the whole text is an http or https URL."""
    return _REMOTE.match(text) is not None


def link(url: str, claim: MediaClaim) -> NormalizedLink:
    """Return remote media with the declared type, or that of the URL's extension."""
    mime_type = canonical_mime_type(claim.mime_type) if claim.mime_type else None
    mime_type = mime_type or _type_of_url(url, claim) or OCTET_STREAM
    kind = resource_kind(mime_type)
    return NormalizedLink(
        url=url,
        kind="binary" if kind == "text" else kind,
        mime_type=mime_type,
        filename=claim.filename,
        provenance=type_beside(claim.mime_type, is_text=False),
    )


def filename_of_url(url: str) -> str | None:
    """Return the last step of a URL's path if it looks like a file name."""
    try:
        path = urlsplit(url).path
    except ValueError:
        # Brackets without an IPv6 address: an invalid URL.
        return None
    name = unquote(path.rpartition("/")[2])
    return name if "." in name.strip(".") else None


def _type_of_url(url: str, claim: MediaClaim) -> str | None:
    guessed = mime_type_for_filename(filename_of_url(url) or "")
    if claim.kind is None or (guessed and guessed.startswith(claim.kind)):
        return guessed
    return f"{claim.kind}/*"


def _data_uri_parts(text: str, claim: MediaClaim, place: ReadContext) -> list[NormalizedPart]:
    uri = parse_data_uri(text)
    if uri is None:
        return text_parts(text, place)
    if uri.data is None:
        return _undecodable_parts(text, claim, place)
    mime_type = uri.mime_type or claim.mime_type
    if claim.kind is None:
        mime_type = type_of_data_uri(mime_type, uri.data)
    filename = claim.filename or uri.filename
    named = MediaClaim(claim.kind, mime_type, filename)
    return _decoded_parts(uri.data, named, place, encoded=text)


def _encoded_parts(text: str, claim: MediaClaim, place: ReadContext) -> list[NormalizedPart]:
    data = decode_base64(text) or decode_bytes_literal(text, is_declared=True)
    if claim.mime_type is None or not is_textual(claim.mime_type):
        if data is None:
            return _undecodable_parts(text, claim, place)
        place.collector.note_payload(text)
        return [medium_part(data, claim, place)]
    # A word may be valid base64 by chance; its bytes are hardly ever text then.
    certain = claim.is_encoded or len(text) >= CERTAIN_BASE64_CHARS
    long_enough = claim.is_encoded or len(text) >= _SHORTEST_ENCODED_TEXT
    if data and (certain or (long_enough and readable_text(data) is not None)):
        place.collector.note_payload(text)
        return _decoded_parts(data, claim, place, encoded=text)
    return text_parts(text, place, declared=claim.mime_type)


def _decoded_parts(
    data: bytes, claim: MediaClaim, place: ReadContext, *, encoded: str
) -> list[NormalizedPart]:
    """Return the parts of decoded bytes: text if they are declared as text and readable.

    A text with a file name of its own stays a file.
    """
    mime_type = canonical_mime_type(claim.mime_type) if claim.mime_type else None
    text = None if claim.filename else text_of_type(data, mime_type)
    if mime_type is None or text is None:
        return [medium_part(data, claim, place)]
    place.collector.note_payload(encoded, is_text=True)
    return _rewritten_parts(text, place, claim.mime_type)


def text_of_type(data: bytes, mime_type: str | None) -> str | None:
    """Return the text of bytes of this type, if it is textual and not too long to read."""
    if mime_type is None or not is_textual(mime_type) or len(data) > _MAX_READABLE_BYTES:
        return None
    return readable_text(data)


def _rewritten_parts(text: str, place: ReadContext, declared: str | None) -> list[NormalizedPart]:
    mime_type = canonical_mime_type(declared) if declared else None
    declared_type = type_beside(declared, is_text=True)
    rewriting = Rewriting(place.collector)
    rewritten = rewrite_text(text, place.pointer, rewriting)
    template = (rewritten,) if isinstance(rewritten, str) else rewritten
    first = NormalizedText(template, mime_type or PLAIN_TEXT, declared_type)
    return [first, *extracted_parts(rewriting.slots)]


def _undecodable_parts(text: str, claim: MediaClaim, place: ReadContext) -> list[NormalizedPart]:
    warn_undecodable(place.collector, place.pointer)
    if not text:
        return [NormalizedText((f"[{_label(claim)} {_EMPTY}]",))]
    note = f"[{_label(claim)} {_UNDECODABLE}]\n{text}"
    return _rewritten_parts(note, place, None)


def is_undecodable_note(text: str) -> bool:
    """Return whether a text replaces a medium that could not be decoded."""
    line = text.partition("\n")[0]
    return line.startswith("[") and line.endswith((f" {_EMPTY}]", f" {_UNDECODABLE}]"))


def is_refused_note(text: str) -> bool:
    """Return whether a text replaces a medium at an address that only its host loads."""
    line = text.partition("\n")[0]
    return line.startswith("[") and line.endswith(f" {_REFUSED}]")


def _refused_parts(text: str, claim: MediaClaim, place: ReadContext) -> list[NormalizedPart]:
    place.collector.warn(
        "refused-url",
        place.pointer,
        "Only http and https URLs can stand for media; this one was kept as text.",
    )
    note = f"[{_label(claim)} {_REFUSED}]\n{text}"
    return _rewritten_parts(note, place, None)


def _label(claim: MediaClaim) -> str:
    return canonical_mime_type(claim.mime_type or "") or claim.kind or "media"
