"""The HTML of a session's document: its head, its entries, and gaps for its files, without I/O.

All texts are escaped, and characters that hide or reorder text are made visible. A document shows
raster images, SVG as an image, audio and video. A text file is shown as escaped text, and any other
file is a link that saves it. So neither a text nor a file runs or loads anything, and the policy in
the document forbids it as well.
"""

import base64
import codecs
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from app.models.message import StoredEntry
from app.models.session import Session, SessionUse
from app.services.renders.outline_entries import summarize_entry
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.model.conversation import (
    Address,
    BlockLabel,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    Omission,
    ProviderBlock,
    SyntheticNote,
    TextItem,
    TurnCall,
    is_cache_mark,
    stored_medium,
)
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.model.timestamps import rfc3339
from pagefault_dialects.text_windows import text_decoder, text_encoding, without_lone_surrogates

FileForm: TypeAlias = Literal["base64", "text"]

_IMAGE_TYPES = frozenset(
    {
        "image/apng",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/svg+xml",
        "image/webp",
        "image/x-icon",
        "image/vnd.microsoft.icon",
    }
)
"""Types that browsers show as an image; a script in SVG does not run there."""
_PLAYABLE_TYPE = re.compile(r"(?:audio|video)/[a-z0-9.+-]+")
_LINK_TYPES = frozenset({"application/pdf", "application/zip", "text/plain", "text/csv"})
"""Types of files that a link saves with their type; other files are saved as plain bytes."""
_OCTETS = "application/octet-stream"
# The same characters as in the viewer: control characters except tab and line feed, and characters
# that force a direction of writing.
_INVISIBLE_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Longer JSON is shown as written, since indentation may be many times as long.
_FORMATTED_CHARS = 128 * 1024
_FORMATTED_TIMES = 4
_FOLDER = Path(__file__).parent
_STYLE = (_FOLDER / "document.css").read_text(encoding="utf-8")
_SCRIPT = (_FOLDER / "document.js").read_text(encoding="utf-8")
_ENTRY_KINDS = {
    "tool_result": "tool result",
    "page_fault": "page fault",
    "interaction": "interaction",
    "answer": "answer",
}


def _hash_source(text: str) -> str:
    """Return the source expression of a style or a script for a policy: its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = "; ".join(
    (
        "default-src 'none'",
        "img-src data:",
        "media-src data:",
        f"style-src {_hash_source(_STYLE)}",
        f"script-src {_hash_source(_SCRIPT)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
"""The content security policy in a document."""


@dataclass(frozen=True, slots=True)
class FileGap:
    """A gap for a stored file in a document, which is filled when the document is sent."""

    digest: str
    size_bytes: int
    form: FileForm


Piece: TypeAlias = str | FileGap
"""A piece of a document: HTML, or a gap for a file."""


class TextEscaper:
    """Escapes a text file that is read in chunks, in the encoding of its byte order mark."""

    def __init__(self) -> None:
        self._decoder: codecs.IncrementalDecoder | None = None
        self._carriage_return = ""

    def feed(self, chunk: bytes, *, is_last: bool = False) -> bytes:
        """Return the HTML of the next bytes. The first call gets at least four, or all bytes."""
        if self._decoder is None:
            self._decoder = text_decoder(text_encoding(chunk[:4]))
        text = self._carriage_return + self._decoder.decode(chunk, is_last)
        # The line feed of a line break may be in the next chunk.
        self._carriage_return = "\r" if text.endswith("\r") and not is_last else ""
        return escape_text(text[: len(text) - len(self._carriage_return)]).encode()


def escape_text(text: str) -> str:
    """Return a text as HTML, with hidden characters visible."""
    if not text.isascii():
        text = without_lone_surrogates(text)
    text = _INVISIBLE_CHARACTER.sub(_make_visible, text.replace("\r\n", "\n"))
    return html.escape(text, quote=False)


def _make_visible(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


def _escape_attribute(text: str) -> str:
    """Return a text as the value of an attribute between quotation marks, on one line."""
    return " ".join(escape_text(text).replace('"', "&quot;").split())


def format_size(size_bytes: int) -> str:
    """Return a size for people, in units of 1,000 bytes."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    for unit, size in (("KB", 1_000), ("MB", 1_000_000)):
        if size_bytes < size * 1_000 or unit == "MB":
            return f"{size_bytes / size:,.1f} {unit}"
    raise AssertionError


def format_json(text: str) -> str:
    """Return JSON text with a line for each value; unchanged if it is not JSON, or is long.

    Numbers and strings keep their spelling.
    """
    if len(text) > _FORMATTED_CHARS or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        lines = msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return lines if len(lines) <= len(text) * _FORMATTED_TIMES + 1_000 else text


@dataclass(frozen=True, slots=True)
class Totals:
    """The first and the last time of a document's entries, and counts of their content."""

    began: datetime
    ended: datetime
    entries: int
    failed: int
    calls: int
    tokens: int
    missing: int


def write_head(session: Session, use: SessionUse, totals: Totals, *, has_files: bool) -> str:
    """Return the beginning of a document up to its first entry."""
    title = escape_text(use.title or session.session_id)
    facts = {
        "Start": _write_time(totals.began),
        "Duration": _format_duration((totals.ended - totals.began).total_seconds()),
        "Entries": f"{totals.entries:,}",
        "Calls": f"{totals.calls:,}",
        "Errors": f"{totals.failed:,}",
        "Tokens, about": f"{totals.tokens:,}",
        "Files": f"{use.resources:,} ({format_size(use.bytes_referenced)})",
    }
    written = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items()
    )
    notes = []
    if not has_files:
        notes.append("Its files are left out.")
    elif totals.missing:
        notes.append(f"Missing files: {totals.missing}. Each is named at its place.")
    if session.marks.note:
        notes.append(escape_text(session.marks.note))
    paragraphs = "".join(f'<p class="note">{note}</p>' for note in notes)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>{title}</h1>\n<p class="quiet">Session '
        f"<code>{escape_text(session.session_id)}</code></p>\n<dl>{written}</dl>{paragraphs}</header>\n"
        '<div class="bar" role="search" hidden>'
        '<input type="search" id="find" placeholder="Find in the entries" '
        'aria-label="Find in the entries">'
        '<label><input type="checkbox" id="failed"> Errors only</label>'
        '<span role="status" id="count"></span>'
        '<button type="button" id="fold">Collapse</button>'
        '<button type="button" id="unfold">Expand</button>'
        '<button type="button" id="theme">Light or dark</button></div>\n<main>\n'
    )


def write_tail() -> str:
    """Return the end of a document after its last entry."""
    return (
        "</main>\n<footer>A session of Pagefault. This file has all that it shows, and loads "
        f"nothing.</footer>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


@dataclass(slots=True)
class EntryWriter:
    """Writes the entries of one session, in their order."""

    sizes: Mapping[str, int]
    """The sizes of the files that the store has, by digest."""
    has_files: bool = True
    """False if files are named, and left out."""
    failed: int = 0
    """The number of failed entries so far."""
    calls: int = 0
    tokens: int = 0
    missing: set[str] = field(default_factory=set)
    """The digests of files that are not in the store."""
    _article_ids: dict[str, str] = field(default_factory=dict)
    """The id of the HTML element of the entry that shows a file, by digest."""

    def write_entry(
        self,
        entry: StoredEntry,
        turns: Sequence[ComposedTurn],
        resources: Iterable[Resource],
        warnings: Sequence[JsonObject],
    ) -> Iterator[Piece]:
        """Yield the HTML of an entry.

        Args:
            entry: The entry.
            turns: Its turns.
            resources: The resources that it refers to. Files that no turn shows are shown behind
                the turns.
            warnings: The warnings of its record.
        """
        outline = summarize_entry(entry, turns)
        self.failed += outline.failed
        self.calls += len(outline.calls)
        self.tokens += outline.tokens_est
        role = turns[-1].role if turns else "user"
        names = [turn.tool_name for turn in turns if turn.tool_name]
        facts = [
            _write_name("b", names[0] if names else outline.name),
            _write_name("span", outline.author),
            _write_name("span", outline.model),
            '<span class="failure">failed</span>' if outline.failed else "",
            f'<span class="quiet">about {outline.tokens_est:,} tokens</span>',
        ]
        kind = _ENTRY_KINDS.get(outline.entry, outline.role)
        article_id = f"entry-{entry.seq}"
        yield (
            f'<article id="{article_id}" class="{role}{" failed" if outline.failed else ""}">'
            f'<details open><summary><span class="seq">{entry.seq}</span> '
            f'<span class="role">{escape_text(kind)}</span> {" ".join(filter(None, facts))} '
            f"{_write_time(entry.created_at)}"
            f'<span class="line">{escape_text(outline.title or "")}</span></summary>\n'
            '<div class="body">\n'
        )
        yield from self._write_turns(turns, article_id)
        shown_sources = {
            medium.source for turn in turns for medium in turn.items if isinstance(medium, Medium)
        }
        for resource in resources:
            medium = stored_medium(resource, "")
            if medium.source not in shown_sources:
                yield from self._write_medium(medium, article_id)
        for warning in warnings:
            yield _write_note(f"Warning {warning.get('code', '')}: {warning.get('detail', '')}")
        yield "</div></details></article>\n"

    def write_prompt(self, turns: Sequence[ComposedTurn], model: str | None) -> Iterator[Piece]:
        """Yield the HTML of the prompt before the first entry, if there is one."""
        if not turns:
            return
        yield (
            '<article id="prompt" class="system"><details open><summary><span class="role">system '
            f'prompt</span> {_write_name("span", model)}</summary>\n<div class="body">\n'
        )
        yield from self._write_turns(turns, "prompt")
        yield "</div></details></article>\n"

    def _write_turns(self, turns: Sequence[ComposedTurn], article_id: str) -> Iterator[Piece]:
        for turn in turns:
            if turn.role == "tool" and turn.call_id:
                yield f'<p class="label">answers <code>{escape_text(turn.call_id)}</code></p>\n'
            elif len(turns) > 1:
                yield f'<p class="label">{turn.role}</p>\n'
            for item in turn.items:
                yield from self._write_item(item, article_id)
            for call in turn.calls:
                yield _write_call(call)

    def _write_item(self, item: Item, article_id: str) -> Iterator[Piece]:
        match item:
            case TextItem():
                yield _write_label(item.label)
                yield _write_text(item.text)
            case DataItem():
                yield _write_json(item.value)
            case Medium():
                yield _write_label(item.label)
                if item.before:
                    yield _write_text(item.before)
                yield from self._write_medium(item, article_id)
                if item.words is not None:
                    yield f'<p class="label">{item.words.kind}</p>{_write_text(item.words.text)}'
            case Omission():
                yield _write_note(f"Not in the text ({item.what}): {item.reason}")
            case SyntheticNote():
                yield _write_note(item.reason)
            case ProviderBlock() if not is_cache_mark(item):
                yield f'<p class="label">{escape_text(item.what)}</p>\n'
                form = next(iter(item.forms.values()), {})
                yield _write_text(item.words) if item.words else _write_json(form)

    def _write_medium(self, medium: Medium, article_id: str) -> Iterator[Piece]:
        facts = _describe_medium(medium)
        source = medium.source
        if isinstance(source, Address):
            yield _write_note(
                f"A file elsewhere, which this document does not load: {source.url} {facts}"
            )
            return
        file: Piece
        if isinstance(source, InlineBytes):
            digest = hashlib.sha256(source.data).hexdigest()
            file = base64.b64encode(source.data).decode()
        else:
            digest = source.digest
            file = FileGap(digest, self.sizes.get(digest, 0), "base64")
        facts += f" · SHA-256 {digest}"
        if not self.has_files:
            yield _write_note(f"A file that is left out: {facts}")
            return
        if isinstance(file, FileGap) and self._is_missing(medium, digest):
            self.missing.add(digest)
            yield _write_note(f"A file that is missing in the store: {facts}")
            return
        if digest in self._article_ids:
            shown_in = self._article_ids[digest]
            title = "the system prompt" if shown_in == "prompt" else shown_in.replace("-", " ")
            link = f'<a href="#{shown_in}">{title}</a>'
            yield f'<p class="label">The file of {link}: {escape_text(facts)}</p>\n'
            return
        self._article_ids[digest] = article_id
        yield from _write_file(medium, file, facts)

    def _is_missing(self, medium: Medium, digest: str) -> bool:
        size_bytes = self.sizes.get(digest)
        return size_bytes is None or medium.size_bytes not in (None, size_bytes)


def _write_file(medium: Medium, file: Piece, facts: str) -> Iterator[Piece]:
    """Yield the HTML of a file around the file itself.

    Args:
        medium: The medium.
        file: Its base64, or the gap for it.
        facts: The line about it.
    """
    mime_type = medium.mime_type.partition(";")[0].strip().lower()
    filename = medium.filename or medium.kind
    title = _escape_attribute(filename)
    caption = f"<figcaption>{escape_text(facts)}</figcaption></figure>\n"
    if mime_type in _IMAGE_TYPES:
        hints = medium.hints
        pixels = f' width="{hints.width}" height="{hints.height}"' if hints.width else ""
        yield f'<figure><img alt="{title}"{pixels} src="data:{mime_type};base64,'
        yield from (file, f'">{caption}')
    elif _PLAYABLE_TYPE.fullmatch(mime_type) and not mime_type.endswith(("xml", "html")):
        element = mime_type.partition("/")[0]
        yield (
            f'<figure><{element} controls preload="metadata" aria-label="{title}" '
            f'src="data:{mime_type};base64,'
        )
        yield from (file, f'"></{element}>{caption}')
    elif medium.kind == "text" and isinstance(file, FileGap):
        yield f'<details class="file"><summary>{escape_text(facts)}</summary><pre>\n'
        yield from (FileGap(file.digest, file.size_bytes, "text"), "</pre></details>\n")
    else:
        saved = mime_type if mime_type in _LINK_TYPES else _OCTETS
        name = safe_file_name(filename) or "file"
        yield f'<figure><a download="{_escape_attribute(name)}" href="data:{saved};base64,'
        yield from (file, f'">Save {escape_text(filename)}</a>{caption}')


def _describe_medium(medium: Medium) -> str:
    """Return a line about a medium, not escaped."""
    hints = medium.hints
    facts = [
        medium.filename or "",
        medium.mime_type,
        "" if medium.size_bytes is None else format_size(medium.size_bytes),
        f"{hints.width} by {hints.height} pixels" if hints.width and hints.height else "",
        "" if hints.duration_seconds is None else f"{hints.duration_seconds:.1f} s",
        f"as {medium.claimed_type} in the message" if medium.claimed_type else "",
        "" if medium.damage is None else medium.damage.detail,
    ]
    return " · ".join(filter(None, facts))


def _write_call(call: TurnCall) -> str:
    return (
        f'<div class="call"><p class="label">calls <b>{escape_text(call.name)}</b> '
        f"<code>{escape_text(call.call_id)}</code></p>{_write_json(call.arguments)}</div>\n"
    )


def _write_label(label: BlockLabel | None) -> str:
    named = [] if label is None else [name for name in (label.name, label.uri) if name]
    return f'<p class="label">{escape_text(" · ".join(named))}</p>\n' if named else ""


def _write_text(text: str) -> str:
    lines = format_json(text)
    kind = "text" if lines is text else "json"
    # Browsers drop the first line feed of a `pre`, so one is added.
    return f'<pre class="{kind}">\n{escape_text(lines)}</pre>\n'


def _write_json(value: JsonValue) -> str:
    return f'<pre class="json">\n{escape_text(format_json(json_text(value)))}</pre>\n'


def _write_note(text: str) -> str:
    return f'<p class="note">{escape_text(text)}</p>\n'


def _write_name(element: str, name: str | None) -> str:
    return f"<{element}>{escape_text(name)}</{element}>" if name else ""


def _write_time(at: datetime) -> str:
    return f'<time datetime="{rfc3339(at)}">{at:%Y-%m-%d %H:%M:%S} UTC</time>'


def _format_duration(seconds: float) -> str:
    """Return a length of time in its two largest units."""
    rest = max(0, round(seconds))
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[str] = []
    for unit, size in units:
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2]) or "0 s"
