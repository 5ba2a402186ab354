"""Moves media out of JSON values and texts. The rest of these stays unchanged.

A `MediaSlot` replaces each medium. If the medium was inside a longer string, the string becomes a
template of text and slots. Values are walked with a stack, since they may be nested deeper than the
interpreter's recursion limit. Only JSON in strings is read recursively, at most
`MAX_EMBEDDED_LEVELS` deep.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeGuard

from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.values import (
    MediaSlot,
    TextTemplate,
    join_template,
    json_template,
    parse_embedded_json,
)
from pagefault_dialects.media.base64_runs import decode_undeclared, find_runs, has_long_run
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.block_shapes import (
    MediaClaim,
    find_embedded_claims,
    is_media_source,
    parse_byte_sequence,
)
from pagefault_dialects.media.block_table import MemberPath
from pagefault_dialects.media.bytes_literals import (
    decode_bytes_literal,
    find_bytes_literals,
    may_hold_bytes_literal,
)
from pagefault_dialects.media.data_uris import (
    find_data_uris,
    is_data_uri,
    may_contain_data_uri,
    parse_data_uri,
)
from pagefault_dialects.media.line_lists import join_base64_lines
from pagefault_dialects.media.types import is_strong_signature, is_textual, sniff
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.normalized import DeclaredKind
from pagefault_dialects.results.collector import Collector, Pointer, make_source
from pagefault_dialects.text_windows import search_windows

MAX_EMBEDDED_LEVELS = 8
# Lower than the limits of other JSON, because the parser of JSON in strings is recursive, and so is
# the reading of its strings.
_MAX_EMBEDDED_DEPTH = 400
_MAX_EMBEDDED_NODES = 250_000
# Shorter texts are not searched for media.
_MIN_MEDIA_TEXT_CHARS = 16
# The bytes of a file in which its signature is searched.
_HEAD_BYTES = 512

_JSON_START = re.compile(r"\s*+[\[{]")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(slots=True)
class MediaExtractor:
    """The state of moving media out of one value."""

    collector: Collector
    level: int = 0
    """The number of JSON texts around the value, each of which is a string in another one."""
    slots: list[MediaSlot] = field(default_factory=list)
    """The slots of the media that get a part of their own, in order."""
    pointer: Pointer = field(default_factory=Pointer)
    """The pointer to the current member."""

    def add_medium(
        self, medium: MediaSource | bytes, claim: MediaClaim, *, is_text: bool = False
    ) -> MediaSlot:
        """Add a medium and return its slot.

        Args:
            medium: The medium.
            claim: The declared properties of the medium.
            is_text: Whether another part has the content of the medium as text. The medium then
                gets no part of its own.
        """
        source = make_source(medium, claim.mime_type)
        slot = self.collector.add_medium(source, claim, self.pointer, must_be_stored=True)
        if not is_text:
            self.slots.append(slot)
        return slot


@dataclass(slots=True)
class _Frame:
    """An object or array that is being copied. A claim is what is declared about a medium in it."""

    members: Iterator[tuple[str | int, object]]
    """The members that are still to be copied."""
    target: dict[str, object] | list[object]
    """The copy."""
    pointer: Pointer
    claims: dict[MemberPath, MediaClaim]
    """The declared properties of media in the value, by their paths from it."""
    repeats: dict[str, int] = field(default_factory=dict)
    """The number of members whose keys became equal by repair, by the key."""

    def find_claims_within(self, key: str | int) -> dict[MemberPath, MediaClaim]:
        """Return the claims about a member and about its members."""
        if not self.claims:
            return self.claims
        return {path[1:]: claim for path, claim in self.claims.items() if path[0] == key}


def extract_media(value: object, pointer: Pointer, extractor: MediaExtractor) -> object:
    """Return the JSON value with its media replaced by slots; the input is not changed.

    Args:
        value: Any JSON value. Media in it may be `MediaSource`s already.
        pointer: The pointer to the value in the result.
        extractor: Collects the media.
    """
    root: list[object] = []
    stack = [_Frame(iter(((0, value),)), root, pointer, {})]
    while stack:
        frame = stack[-1]
        member = next(frame.members, None)
        if member is None:
            stack.pop()
            continue
        key, child = member
        if not frame.claims and _is_plain(key, child, frame.target):
            _add_member(frame.target, key, child)
            continue
        extractor.pointer = pointer if frame.target is root else frame.pointer.child(key)
        extracted = _extract_member(child, frame.find_claims_within(key), extractor)
        if isinstance(extracted, _Frame):
            stack.append(extracted)
            extracted = extracted.target
        _add_repaired_member(frame, key, extracted, extractor)
    return root[0]


def extract_media_from_text(
    text: str, pointer: Pointer, extractor: MediaExtractor
) -> str | TextTemplate:
    """Return the text with the media inside replaced by slots; without media, the text itself.

    Data URIs and the base64 of known file formats are found in sentences, and in JSON, which is
    then serialized again.
    """
    if len(text) < _MIN_MEDIA_TEXT_CHARS:
        return text
    extractor.pointer = pointer
    template = _extract_from_embedded_json(text, extractor)
    return template or _extract_from_sentence(text, extractor)


def contains_media(text: str) -> bool:
    """Return whether `extract_media_from_text` would replace anything in the text."""
    return is_data_uri(text) or any(True for _ in _find_media(text))


def decode_readable_text(data: bytes) -> str | None:
    """Return bytes as text; `None` if they are not UTF-8 or have control characters."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if search_windows(_CONTROL_CHARACTER, text, 0, len(text), reach=0) else text


def type_of_data_uri(mime_type: str | None, data: bytes) -> str | None:
    """Return the MIME type of a data URI; plain text, if it declares no type and contains text.

    Source: RFC 2397, 3.
    """
    if mime_type is not None or sniff(data[:_HEAD_BYTES]) or decode_readable_text(data) is None:
        return mime_type
    return "text/plain"


def _extract_member(
    value: object, claims: dict[MemberPath, MediaClaim], extractor: MediaExtractor
) -> object:
    """Return a member with slots for its media; for an object or array, a frame to copy it."""
    if isinstance(value, str):
        text = extractor.collector.repair_text(value, extractor.pointer)
        return _extract_from_string(text, claims.get(()), extractor)
    if is_media_source(value):
        return extractor.add_medium(value, claims.get((), MediaClaim()))
    if not isinstance(value, dict | list):
        return value
    medium = _extract_from_list(value, claims.get(()), extractor)
    if medium is not None:
        return medium
    inner_claims = {path: claim for path, claim in claims.items() if path}
    if isinstance(value, list):
        return _Frame(iter(enumerate(value)), [], extractor.pointer, inner_claims)
    inner_claims = find_embedded_claims(value) | inner_claims
    return _Frame(iter(value.items()), {}, extractor.pointer, inner_claims)


def _extract_from_list(
    value: object, claim: MediaClaim | None, extractor: MediaExtractor
) -> object | None:
    """Return the slot of a medium that is a list of numbers or lines; `None` for other values."""
    data = _decode_claimed_numbers(value, claim)
    if data is None and (lines := _join_lines(value, claim)):
        if is_data_uri(lines):
            return _extract_from_data_uri(lines, claim or MediaClaim(), extractor)
        data = (_decode_claimed_text(lines, claim) if claim else None) or decode_undeclared(lines)
    return None if data is None else extractor.add_medium(data, claim or MediaClaim())


def _is_plain(
    key: str | int, value: object, target: dict[str, object] | list[object]
) -> TypeGuard[str | int | float | None]:
    """Return whether a member can be copied as it is: it has no media and no lone surrogates."""
    if isinstance(value, str):
        is_plain = len(value) < _MIN_MEDIA_TEXT_CHARS and value.isascii()
    else:
        is_plain = value is None or isinstance(value, int | float)
    return is_plain and (isinstance(key, int) or (key.isascii() and key not in target))


def _add_member(target: dict[str, object] | list[object], key: str | int, value: object) -> None:
    if isinstance(target, list):
        target.append(value)
    else:
        target[str(key)] = value


def _add_repaired_member(
    frame: _Frame, key: str | int, value: object, extractor: MediaExtractor
) -> None:
    """Add a member under its key without lone surrogates, or under a numbered key if it is used."""
    target = frame.target
    if isinstance(target, list):
        target.append(value)
        return
    name = unused = extractor.collector.repair_text(str(key), extractor.pointer)
    while unused in target:
        # Keys that differed only in lone surrogates are numbered. Counting from 1 for each key
        # would be slow, since there may be thousands of them.
        frame.repeats[name] = frame.repeats.get(name, 1) + 1
        unused = f"{name}\ufffd{frame.repeats[name]}"
    target[unused] = value


def _extract_from_string(
    text: str, claim: MediaClaim | None, extractor: MediaExtractor
) -> str | MediaSlot | TextTemplate:
    """Return a string with its media moved out; the slot of a medium that is the whole string."""
    # A string may repeat the payload of a block. A short string without a claim may be any word.
    may_repeat = claim is not None or len(text) >= CERTAIN_BASE64_CHARS
    payload_is_text = extractor.collector.find_payload(text) if may_repeat else None
    is_repeated = payload_is_text is not None
    if len(text) < _MIN_MEDIA_TEXT_CHARS and not is_repeated:
        return text
    if is_data_uri(text):
        return _extract_from_data_uri(text, claim or MediaClaim(), extractor)
    data = _decode_claimed_text(text, claim) if claim else None
    if data is None and is_repeated:
        data = decode_base64(text)
    data = data or decode_undeclared(text) or decode_bytes_literal(text)
    if data:
        return extractor.add_medium(data, claim or MediaClaim(), is_text=payload_is_text is True)
    return extract_media_from_text(text, extractor.pointer, extractor)


def _extract_from_data_uri(
    text: str, claim: MediaClaim, extractor: MediaExtractor
) -> str | MediaSlot | TextTemplate:
    """Return the slot of a data URI. One that cannot be decoded stays a text, with a warning."""
    uri = parse_data_uri(text)
    if uri and uri.data:
        mime_type = uri.mime_type or claim.mime_type
        if claim.kind is None:
            mime_type = type_of_data_uri(mime_type, uri.data)
        claim = MediaClaim(claim.kind, mime_type, uri.filename or claim.filename)
        is_text = extractor.collector.find_payload(text) is True
        return extractor.add_medium(uri.data, claim, is_text=is_text)
    extracted = _extract_from_sentence(text, extractor)
    if uri and extracted == text:
        warn_undecodable(extractor.collector, extractor.pointer)
    return extracted


def warn_undecodable(collector: Collector, pointer: Pointer) -> None:
    """Add a warning that a declared medium could not be decoded."""
    collector.warn(
        "undecodable-media",
        pointer,
        "This was announced as media but cannot be decoded; it was kept as text.",
    )


def _decode_claimed_text(text: str, claim: MediaClaim) -> bytes | None:
    """Return the bytes of a text that is declared as media; `None` if the claim may be wrong."""
    if claim.min_chars is None and claim.kind is None:
        return None
    min_chars = CERTAIN_BASE64_CHARS if claim.min_chars is None else _MIN_MEDIA_TEXT_CHARS
    data = decode_base64(text) if len(text) >= min_chars else None
    data = data or decode_bytes_literal(text, is_declared=True)
    if data is None or is_recognised(data, claim.kind):
        return data
    if claim.min_chars is None or len(text) < claim.min_chars:
        return None
    is_text_type = claim.mime_type is not None and is_textual(claim.mime_type)
    return None if is_text_type and decode_readable_text(data) is None else data


def _decode_claimed_numbers(value: object, claim: MediaClaim | None) -> bytes | None:
    """Return the bytes of a list of numbers that is declared as media; `None` for other values."""
    data = parse_byte_sequence(value) if claim else None
    if claim is None or data is None:
        return None
    min_chars = CERTAIN_BASE64_CHARS if claim.min_chars is None else claim.min_chars
    if len(data) * 4 // 3 < min_chars:
        return None
    return data if claim.min_chars is not None or is_recognised(data, claim.kind) else None


def _join_lines(value: object, claim: MediaClaim | None) -> str | None:
    """Return the base64 in a list of lines; `None` for other values.

    Without a claim, the list needs several lines, and the base64 the signature of a file.
    """
    is_declared = claim is not None and (claim.kind is not None or claim.min_chars is not None)
    if not is_declared and isinstance(value, list) and len(value) == 1:
        return None
    return join_base64_lines(value, is_declared=is_declared)


def is_recognised(data: bytes, kind: DeclaredKind | None) -> bool:
    """Return whether bytes begin with the signature of a known file format.

    A weak signature, which other data may have by chance, counts only for a format of this kind.
    """
    head = data[:_HEAD_BYTES]
    detected = sniff(head)
    is_of_kind = kind is not None and detected is not None and detected.startswith(kind)
    return is_of_kind or is_strong_signature(head)


def _extract_from_embedded_json(text: str, extractor: MediaExtractor) -> TextTemplate | None:
    """Return a text that is JSON with its media moved out; `None` if it is no JSON with media."""
    if extractor.level >= MAX_EMBEDDED_LEVELS or not _may_be_json_with_media(text):
        return None
    try:
        value = parse_embedded_json(
            text, max_depth=_MAX_EMBEDDED_DEPTH, max_nodes=_MAX_EMBEDDED_NODES
        )
    except (PagefaultError, RecursionError):
        return None
    collector = extractor.collector
    warnings_before = collector.warning_count
    inner = MediaExtractor(collector, extractor.level + 1, extractor.slots)
    media_before = len(collector.media)
    extracted = extract_media(value, extractor.pointer.without_children(), inner)
    if len(collector.media) == media_before:
        # The text is not changed, so warnings about the parsed copy are dropped.
        collector.forget_warnings_after(warnings_before)
        return None
    return json_template(extracted)


def _may_be_json_with_media(text: str) -> bool:
    """Return whether a text may be JSON with media, without parsing it."""
    if not _JSON_START.match(text) or not text[-256:].rstrip().endswith(("}", "]")):
        return False
    return may_contain_data_uri(text) or has_long_run(text) or may_hold_bytes_literal(text)


def _extract_from_sentence(text: str, extractor: MediaExtractor) -> str | TextTemplate:
    """Return a text with the media between its words moved out; the text itself without media."""
    pieces: list[str | MediaSlot] = []
    position = 0
    for medium in _find_media(text):
        pieces += [
            text[position : medium.start],
            extractor.add_medium(medium.data, medium.claim),
        ]
        position = medium.end
    return join_template([*pieces, text[position:]]) if pieces else text


class _MediumInText(NamedTuple):
    """A medium in a text."""

    start: int
    end: int
    data: bytes
    claim: MediaClaim = MediaClaim()
    """The declared properties of the medium."""


def _find_media(text: str) -> Iterable[_MediumInText]:
    """Yield the media in a text, in order."""
    # Python's literals of bytes are searched first, since they may contain base64.
    position = 0
    for literal in find_bytes_literals(text):
        yield from _find_encoded_media(text, position, literal.start)
        yield _MediumInText(literal.start, literal.end, literal.data)
        position = literal.end
    yield from _find_encoded_media(text, position, len(text))


def _find_encoded_media(text: str, position: int, end: int) -> Iterable[_MediumInText]:
    """Yield the `data:` URIs and the runs of base64 between two positions of a text."""
    for uri in find_data_uris(text, position, end):
        for run in find_runs(text, position, uri.start):
            yield _MediumInText(run.start, run.end, run.data)
        mime_type = type_of_data_uri(uri.mime_type, uri.data)
        claim = MediaClaim(mime_type=mime_type, filename=uri.filename)
        yield _MediumInText(uri.start, uri.end, uri.data, claim)
        position = uri.end
    for run in find_runs(text, position, end):
        yield _MediumInText(run.start, run.end, run.data)
