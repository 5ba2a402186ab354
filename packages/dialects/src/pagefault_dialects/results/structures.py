"""Records and texts with their media moved out, otherwise unchanged.

A `MediaSlot` replaces each medium; if it was inside of a longer string, the string becomes a
template of text and slots. Values are walked with a stack, since they may be nested deeper than the
interpreter's limit; only JSON inside of strings recurses, to `MAX_EMBEDDED_LEVELS`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

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
    byte_sequence,
    embedded_claims,
    is_handle,
)
from pagefault_dialects.media.block_table import MemberPath
from pagefault_dialects.media.bytes_literals import (
    decode_bytes_literal,
    find_bytes_literals,
    may_hold_bytes_literal,
)
from pagefault_dialects.media.data_uris import (
    find_data_uris,
    has_scheme,
    is_data_uri,
    parse_data_uri,
)
from pagefault_dialects.media.line_lists import joined_lines
from pagefault_dialects.media.types import is_strong_signature, is_textual, sniff
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.normalized import ClaimedKind
from pagefault_dialects.results.collector import Collector, Pointer, as_source
from pagefault_dialects.text_windows import search_windows

MAX_EMBEDDED_LEVELS = 8
# The parser recurses, and each of our levels uses the same stack.
_MAX_EMBEDDED_DEPTH = 400
_MAX_EMBEDDED_NODES = 250_000
_SHORTEST_MEDIA_TEXT = 16
_HEAD_BYTES = 512

_JSON_START = re.compile(r"\s*+[\[{]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(slots=True)
class Rewriting:
    """A walk over one value: the collector of its media, and their slots, in order.

    `pointer` is the current place. A payload that a block has as text already gets no part of its
    own.
    """

    collector: Collector
    level: int = 0
    slots: list[MediaSlot] = field(default_factory=list)
    pointer: Pointer = field(default_factory=Pointer)

    def keep(
        self, medium: MediaSource | bytes, claim: MediaClaim, *, is_text: bool = False
    ) -> MediaSlot:
        """Add a medium and return its slot."""
        source = as_source(medium, claim.mime_type)
        slot = self.collector.add_medium(source, claim, self.pointer, must_be_stored=True)
        if not is_text:
            self.slots.append(slot)
        return slot


@dataclass(slots=True)
class _Frame:
    members: Iterator[tuple[str | int, object]]
    target: dict[str, object] | list[object]
    pointer: Pointer
    claims: dict[MemberPath, MediaClaim]
    repeats: dict[str, int] = field(default_factory=dict)

    def claims_within(self, key: str | int) -> dict[MemberPath, MediaClaim]:
        """Return the claims about a member, and about places inside it."""
        if not self.claims:
            return self.claims
        return {path[1:]: claim for path, claim in self.claims.items() if path[0] == key}


def rewrite_value(value: object, pointer: Pointer, rewriting: Rewriting) -> object:
    """Return the JSON value with its media replaced by slots; the input is not changed.

    Args:
        value: Any JSON value, with media as handles already or not.
        pointer: Its place in the result.
        rewriting: Collects the media.
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
            _place(frame.target, key, child)
            continue
        here = pointer if frame.target is root else frame.pointer.child(key)
        rewriting.pointer = here
        placed = _rewrite_member(child, frame.claims_within(key), rewriting)
        if isinstance(placed, _Frame):
            stack.append(placed)
        _attach(frame, key, placed, rewriting)
    return root[0]


def rewrite_text(text: str, pointer: Pointer, rewriting: Rewriting) -> str | TextTemplate:
    """Return the text with the media inside replaced by slots; without media, the text itself.

    Data URIs and the base64 of known file formats are found in sentences, and in JSON, which is
    then serialized again.
    """
    if len(text) < _SHORTEST_MEDIA_TEXT:
        return text
    rewriting.pointer = pointer
    template = _rewrite_embedded_json(text, rewriting)
    return template or _rewrite_sentence(text, rewriting)


def holds_media(text: str) -> bool:
    """Return whether `rewrite_text` would replace anything in the text."""
    return is_data_uri(text) or any(True for _ in _spans(text))


def readable_text(data: bytes) -> str | None:
    """Return the bytes as readable UTF-8 text, or `None`."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if search_windows(_CONTROL, text, 0, len(text), reach=0) else text


def type_of_data_uri(mime_type: str | None, data: bytes) -> str | None:
    """Return the type of a data URI: text if it declares none and has text (RFC 2397, 3)."""
    if mime_type is not None or sniff(data[:_HEAD_BYTES]) or readable_text(data) is None:
        return mime_type
    return "text/plain"


def _rewrite_member(
    value: object, claims: dict[MemberPath, MediaClaim], rewriting: Rewriting
) -> object:
    if isinstance(value, str):
        readable = rewriting.collector.readable(value, rewriting.pointer)
        return _rewrite_string(readable, claims.get(()), rewriting)
    if is_handle(value):
        return rewriting.keep(value, claims.get((), MediaClaim()))
    if not isinstance(value, dict | list):
        return value
    medium = _rewrite_pieces(value, claims.get(()), rewriting)
    if medium is not None:
        return medium
    inner = {path: claim for path, claim in claims.items() if path}
    if isinstance(value, list):
        return _Frame(iter(enumerate(value)), [], rewriting.pointer, inner)
    claims = embedded_claims(value) | inner
    return _Frame(iter(value.items()), {}, rewriting.pointer, claims)


def _rewrite_pieces(value: object, claim: MediaClaim | None, rewriting: Rewriting) -> object | None:
    """Return the slot of a medium written as numbers or lines, `None` for other values."""
    data = _claimed_bytes(value, claim)
    if data is None and (lines := _lines_of(value, claim)):
        if is_data_uri(lines):
            return _rewrite_data_uri(lines, claim or MediaClaim(), rewriting)
        data = (_claimed_text(lines, claim) if claim else None) or decode_undeclared(lines)
    return None if data is None else rewriting.keep(data, claim or MediaClaim())


def _is_plain(
    key: str | int, value: object, target: dict[str, object] | list[object]
) -> TypeGuard[str | int | float | None]:
    """Return whether a member has no medium and needs no repair, as most do."""
    if isinstance(value, str):
        is_plain = len(value) < _SHORTEST_MEDIA_TEXT and value.isascii()
    else:
        is_plain = value is None or isinstance(value, int | float)
    return is_plain and (isinstance(key, int) or (key.isascii() and key not in target))


def _place(target: dict[str, object] | list[object], key: str | int, value: object) -> None:
    if isinstance(target, list):
        target.append(value)
    else:
        target[str(key)] = value


def _attach(frame: _Frame, key: str | int, placed: object, rewriting: Rewriting) -> None:
    target = frame.target
    value = placed.target if isinstance(placed, _Frame) else placed
    if isinstance(target, list):
        _place(target, key, value)
        return
    name = free = rewriting.collector.readable(str(key), rewriting.pointer)
    while free in target:
        # Keys that differ only in lone surrogates: all members are kept, under numbered names. The
        # count is kept, since there may be thousands of them.
        frame.repeats[name] = frame.repeats.get(name, 1) + 1
        free = f"{name}\ufffd{frame.repeats[name]}"
    target[free] = value


def _rewrite_string(
    text: str, claim: MediaClaim | None, rewriting: Rewriting
) -> str | MediaSlot | TextTemplate:
    # Find out whether a block has the same payload; a short one may be a word elsewhere.
    may_be = claim is not None or len(text) >= CERTAIN_BASE64_CHARS
    was_text = rewriting.collector.find_payload(text) if may_be else None
    is_repeated = was_text is not None
    if len(text) < _SHORTEST_MEDIA_TEXT and not is_repeated:
        return text
    if is_data_uri(text):
        return _rewrite_data_uri(text, claim or MediaClaim(), rewriting)
    data = _claimed_text(text, claim) if claim else None
    if data is None and is_repeated:
        data = decode_base64(text)
    data = data or decode_undeclared(text) or decode_bytes_literal(text)
    if data:
        return rewriting.keep(data, claim or MediaClaim(), is_text=was_text is True)
    return rewrite_text(text, rewriting.pointer, rewriting)


def _rewrite_data_uri(
    text: str, claim: MediaClaim, rewriting: Rewriting
) -> str | MediaSlot | TextTemplate:
    uri = parse_data_uri(text)
    if uri and uri.data:
        mime_type = uri.mime_type or claim.mime_type
        if claim.kind is None:
            mime_type = type_of_data_uri(mime_type, uri.data)
        named = MediaClaim(claim.kind, mime_type, uri.filename or claim.filename)
        is_text = rewriting.collector.find_payload(text) is True
        return rewriting.keep(uri.data, named, is_text=is_text)
    rewritten = _rewrite_sentence(text, rewriting)
    if uri and rewritten == text:
        warn_undecodable(rewriting.collector, rewriting.pointer)
    return rewritten


def warn_undecodable(collector: Collector, pointer: Pointer) -> None:
    """Add a warning that a declared medium could not be decoded."""
    collector.warn(
        "undecodable-media",
        pointer,
        "This was announced as media but cannot be decoded; it was kept as text.",
    )


def _claimed_text(text: str, claim: MediaClaim) -> bytes | None:
    if claim.min_chars is None and claim.kind is None:
        return None
    shortest = CERTAIN_BASE64_CHARS if claim.min_chars is None else _SHORTEST_MEDIA_TEXT
    data = decode_base64(text) if len(text) >= shortest else None
    data = data or decode_bytes_literal(text, is_declared=True)
    if data is None or is_recognised(data, claim.kind):
        return data
    if claim.min_chars is None or len(text) < claim.min_chars:
        return None
    textual = claim.mime_type is not None and is_textual(claim.mime_type)
    return None if textual and readable_text(data) is None else data


def _claimed_bytes(value: object, claim: MediaClaim | None) -> bytes | None:
    data = byte_sequence(value) if claim else None
    if claim is None or data is None:
        return None
    shortest = CERTAIN_BASE64_CHARS if claim.min_chars is None else claim.min_chars
    if len(data) * 4 // 3 < shortest:
        return None
    return data if claim.min_chars is not None or is_recognised(data, claim.kind) else None


def _lines_of(value: object, claim: MediaClaim | None) -> str | None:
    """Return a list of lines on one line; lists without a claim need a signature."""
    is_declared = claim is not None and (claim.kind is not None or claim.min_chars is not None)
    is_single = isinstance(value, list) and len(value) == 1
    return None if is_single and not is_declared else joined_lines(value, is_declared=is_declared)


def is_recognised(data: bytes, kind: ClaimedKind | None) -> bool:
    """Return whether bytes have a known signature: a strong one, or a weak one of that kind."""
    head = data[:_HEAD_BYTES]
    detected = sniff(head)
    likely = kind is not None and detected is not None and detected.startswith(kind)
    return likely or is_strong_signature(head)


def _rewrite_embedded_json(text: str, rewriting: Rewriting) -> TextTemplate | None:
    if rewriting.level >= MAX_EMBEDDED_LEVELS or not _may_be_json_with_media(text):
        return None
    try:
        value = parse_embedded_json(
            text, max_depth=_MAX_EMBEDDED_DEPTH, max_nodes=_MAX_EMBEDDED_NODES
        )
    except (PagefaultError, RecursionError):
        return None
    collector = rewriting.collector
    warnings_before = collector.warning_count
    inner = Rewriting(collector, rewriting.level + 1, rewriting.slots)
    media_before = len(collector.media)
    rewritten = rewrite_value(value, rewriting.pointer.sealed(), inner)
    if len(collector.media) == media_before:
        # The text stays as it is, so warnings about the parsed copy are dropped.
        collector.forget_warnings_after(warnings_before)
        return None
    return json_template(rewritten)


def _may_be_json_with_media(text: str) -> bool:
    if not _JSON_START.match(text) or not text[-256:].rstrip().endswith(("}", "]")):
        return False
    return has_scheme(text) or has_long_run(text) or may_hold_bytes_literal(text)


def _rewrite_sentence(text: str, rewriting: Rewriting) -> str | TextTemplate:
    pieces: list[str | MediaSlot] = []
    position = 0
    for start, end, data, claim in _spans(text):
        pieces += [text[position:start], rewriting.keep(data, claim)]
        position = end
    return join_template([*pieces, text[position:]]) if pieces else text


def _spans(text: str) -> Iterable[tuple[int, int, bytes, MediaClaim]]:
    # A file that Python has written may have others in base64 inside.
    position = 0
    for literal in find_bytes_literals(text):
        yield from _encoded_spans(text, position, literal.start)
        yield literal.start, literal.end, literal.data, MediaClaim()
        position = literal.end
    yield from _encoded_spans(text, position, len(text))


def _encoded_spans(
    text: str, position: int, end: int
) -> Iterable[tuple[int, int, bytes, MediaClaim]]:
    for uri in find_data_uris(text, position, end):
        for run in find_runs(text, position, uri.start):
            yield run.start, run.end, run.data, MediaClaim()
        mime_type = type_of_data_uri(uri.mime_type, uri.data)
        yield uri.start, uri.end, uri.data, MediaClaim(mime_type=mime_type, filename=uri.filename)
        position = uri.end
    for run in find_runs(text, position, end):
        yield run.start, run.end, run.data, MediaClaim()
