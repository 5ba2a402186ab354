"""Data URIs (RFC 2397) as tools and clients write them: any case, any parameters, blanks.

One grammar says what the head of one is. `parse_data_uri` and `find_data_uris` read what they hold,
alone or in a sentence; `split_data_uri` takes one apart so that it can be put together again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from pagefault_dialects.media.base64_runs import run_end
from pagefault_dialects.media.base64_text import (
    CERTAIN_BASE64_CHARS,
    decode_base64,
    decode_percent_encoded_base64,
    without_blanks,
    without_escapes,
)
from pagefault_dialects.media.types import (
    OCTET_STREAM,
    canonical_mime_type,
    is_strong_signature,
    is_textual,
    sniff,
)
from pagefault_dialects.text_windows import WINDOW_CHARS, match_end, percent_decoded, search_windows

# Bounded, and without two ways to read anything: a text full of half-written heads must not cost
# quadratic time. A sentence that begins with "Data: in 2024, …" is none.
# Inside of a URL the punctuation is percent-encoded; only base64 is looked for there, since
# anything else would be encoded twice. Where base64 is announced blanks are passed over, which
# some programs write and none misreads.
_WORD = r"(?:[\w.+!#$&^-]|%2[bB]){1,127}+"
_TYPE = rf"(?:{_WORD}(?:/|%2[fF]){_WORD})?+"
_SEMICOLON = r"(?:;|%3[bB])"
_PARAMETER_CHARACTER = r"(?:[^;,%\s\"]|%(?!3[bB]|2[cC])|%2[cC](?(encoded)(?!)))"
_PARAMETER = rf"{_PARAMETER_CHARACTER}{{0,255}}+(?:(?<==)\"[^\"]{{0,255}}+\")?+"
_HEAD = re.compile(
    r"[dD][aA][tT][aA](?::|(?P<encoded>%3[aA]))(?:"
    rf"(?P<of_base64>\s?+{_TYPE}\s?+(?:{_SEMICOLON}\s?+{_PARAMETER}\s?+){{0,16}}?)"
    rf"(?P<base64>{_SEMICOLON}\s{{0,4}}+[bB][aA][sS][eE]64\s?+)(?:,|%2[cC])"
    rf"|(?(encoded)(?!))(?P<of_text>{_TYPE}(?:{_SEMICOLON}{_PARAMETER}){{0,16}}+),)"
)
_SCHEME = re.compile(r"[dD][aA][tT][aA](?::|%3[aA])")
_SCHEME_CHARS = 7
_START = re.compile(r"\s*+(?=[dD][aA][tT][aA](?::|%3[aA]))")
_KEPT_PARAMETER = re.compile(r";\s*(?!(?:file)?name=|base64\Z)([\w.+-]+=[^;]+)", re.IGNORECASE)
# In words that begin so, and announce no base64: "data:text/plain;-) it works, and …".
_ODD_PARAMETER = re.compile(r'(?:"[^"]*"|[^"])*?;(?![\w.+!#$&^-]{1,127}(?:[;=]|\Z))')
_NAME = re.compile(r";\s*(?:file)?name=\"?([^;\"]+)", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset=([^;]+)", re.IGNORECASE)
# Python knows many more, among them some that are no charsets, and some that take their time.
_CHARSETS = frozenset(
    (
        *("utf-8", "utf-16", "utf-16le", "utf-16be", "us-ascii", "latin1", "koi8-r", "koi8-u"),
        *("shift_jis", "euc-jp", "euc-kr", "gb2312", "gbk", "gb18030", "big5"),
        *(f"iso-8859-{number}" for number in range(1, 17) if number != 12),
        *(f"windows-125{number}" for number in range(9)),
    )
)
_SHORTEST_CHARS = 16
_LONG_CHARS = 64
_DEFAULT_TYPE = "text/plain"
# Three for each of 512 bytes.
_SHOWN_CHARS = 1_536
_BLANK = re.compile(r"\s")
_PLAIN_HEAD = re.compile(r"data:[\w.+!#$&^-]{1,127}/[\w.+!#$&^-]{1,127};base64,")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9+/=]")
_UNQUOTED = re.compile(r"[^\s\"'<>`()\[\]{}|\\^]*+")


@dataclass(frozen=True, slots=True)
class DataUri:
    """What a data URI holds.

    `data` is `None` where base64 was announced and something else follows. `mime_type` is what the
    URI says, `None` if it says nothing.
    """

    mime_type: str | None
    data: bytes | None
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class DataUriSpan:
    """A data URI that stands at `text[start:end]`, with bytes."""

    start: int
    end: int
    mime_type: str | None
    data: bytes
    filename: str | None


@dataclass(frozen=True, slots=True)
class DataUriText:
    """A data URI: `head` ends with its comma, and `data` is `None` where the base64 is broken."""

    head: str
    payload: str
    mime_type: str
    data: bytes | None
    filename: str | None
    is_base64: bool

    @property
    def text(self) -> str:
        """The whole, as it was written."""
        return self.head + self.payload

    @property
    def declared_type(self) -> str | None:
        """The type that is written in it, if that says anything: none is text by RFC 2397."""
        is_typed = self.head.strip()[5:].lstrip()[:1] not in ("", ",", ";")
        return self.mime_type if is_typed and self.mime_type != OCTET_STREAM else None

    @property
    def is_plain(self) -> bool:
        """Whether it is written as everybody reads it: a type, standard base64, nothing else."""
        return is_plain_head(self.head) and not _NOT_PLAIN.search(self.payload)


def is_data_uri(text: str) -> bool:
    """Return whether the text begins as a data URI does; a sentence about "data: …" does not."""
    return _head(text) is not None


def announces_media(text: str) -> bool:
    """Return whether the text begins as a data URI of anything but readable text."""
    head = _head(text)
    if head is None:
        return False
    mime_type = _mime_type(head)
    return bool(head["base64"]) or (mime_type is not None and not is_textual(mime_type))


def parse_data_uri(text: str) -> DataUri | None:
    """Return the data URI that the whole text is, or `None` if it is none, or one of plain text.

    Text that is neither base64 nor a file with a name (`data:,hello`) is for `parse_text_uri`.
    """
    head = _head(text)
    if head is None:
        return None
    mime_type = _mime_type(head)
    if head["base64"]:
        data = decode_percent_encoded_base64(text[head.end() :])
        return DataUri(mime_type, data, _filename(head))
    body = text[head.end() :].strip()
    is_text = mime_type is None or is_textual(mime_type)
    if is_text and (_filename(head) is None or _has_blanks(body)):
        return None
    # Markup is often left as it is (";utf8,<svg"), so only what is percent-encoded is decoded.
    data = percent_decoded(body.encode("utf-8", "replace"))
    return DataUri(mime_type, data or None, _filename(head))


def parse_text_uri(text: str) -> tuple[str | None, str] | None:
    """Return the type and the text of the percent-encoded data URI that the whole text is.

    `None` for everything else: base64, what is no text, and what no URI has, such as blanks.
    """
    head = _head(text)
    if head is None or head["base64"] or _filename(head) is not None:
        return None
    mime_type = _mime_type(head)
    if mime_type is not None and not is_textual(mime_type):
        return None
    body = text[head.end() :].strip()
    if _has_blanks(body):
        return None
    try:
        return mime_type, percent_decoded(body.encode()).decode(_charset(head, body))
    except UnicodeError:
        return None


def _has_blanks(body: str) -> bool:
    return search_windows(_BLANK, body, 0, len(body), reach=0) is not None


def _charset(head: re.Match[str], body: str) -> str:
    """Return the charset of a body; one that holds more than URIs may is UTF-8 already."""
    named = _CHARSET.search(unquote(_described(head))) if body.isascii() else None
    charset = named.group(1).strip().lower() if named else ""
    return charset if charset in _CHARSETS else "utf-8"


def split_data_uri(text: str) -> DataUriText | None:
    """Return the data URI that the whole text is; `None` if it is none."""
    head = _head(text)
    if head is None or head["encoded"] or _ODD_PARAMETER.match(head["of_text"] or ""):
        return None
    payload, is_base64 = text[head.end() :], head["base64"] is not None
    data = _decoded(payload) if is_base64 else percent_decoded(payload.encode("utf-8", "replace"))
    name = _NAME.search(_described(head))
    return DataUriText(
        head=text[: head.end()],
        payload=payload,
        mime_type=canonical_mime_type(unquote(_described(head))) or _DEFAULT_TYPE,
        data=data,
        filename=name.group(1) if name else None,
        is_base64=is_base64,
    )


def bare_base64(text: str) -> DataUriText | None:
    """Return a medium written as base64 alone, known by its bytes; `None` if it is none."""
    if len(text) < CERTAIN_BASE64_CHARS:
        return None
    data = decode_base64(text)
    shown = sniff(data[:512]) if data and is_strong_signature(data[:512]) else None
    if data is None or shown is None:
        return None
    return DataUriText("", text, shown, data, None, is_base64=True)


def _decoded(payload: str) -> bytes | None:
    data = decode_percent_encoded_base64(payload)
    if data is None or "%" in payload or len(without_blanks(payload)) % 4 == 0:
        return data
    # Nearly every word is base64 without its padding, so then the bytes have to be of a known kind.
    return data if sniff(data[:512]) else None


def is_plain_head(head: str) -> bool:
    """Return whether a head is one that everybody reads: a type, base64, nothing else."""
    return _PLAIN_HEAD.fullmatch(head) is not None


def base64_head_end(text: str) -> int:
    """Return where the base64 of the data URI begins that the text begins with; 0 if it is none."""
    head = _HEAD.match(text)
    return head.end() if head and head["base64"] else 0


def has_scheme(text: str) -> bool:
    """Return whether a data URI may begin in a text, in a fifth of the time that finding one takes.

    Outside of ASCII there are no such letters, whatever their bytes are.
    """
    for start in range(0, len(text), WINDOW_CHARS):
        window = text[start : start + WINDOW_CHARS + _SCHEME_CHARS]
        lower = window.encode("utf-8", "surrogatepass").lower()
        if b"data:" in lower or b"data%3a" in lower:
            return True
    return False


def find_data_uris(text: str) -> Iterator[DataUriSpan]:
    """Yield the data URIs inside a text, in order, passing over those that hold nothing usable."""
    if not has_scheme(text):
        return
    position = 0
    # Each head is a search of its own: a text full of them is not one long step.
    while scheme := search_windows(_SCHEME, text, position, len(text), reach=_SCHEME_CHARS):
        head = _HEAD.match(text, scheme.start())
        span_of = _base64_span if head and head["base64"] else _percent_encoded_span
        span = span_of(text, head) if head else None
        if span:
            yield span
        position = span.end if span else head.end() if head else scheme.end()


def _base64_span(text: str, head: re.Match[str]) -> DataUriSpan | None:
    end = run_end(text, head.end(), label_chars=head.end() - head.start())
    if end is None:
        return None
    length = end - head.end()
    # What is shorter, or breaks off, is an example of a data URI in a text about data URIs.
    is_example = length < _LONG_CHARS and text.startswith(("...", "…"), end)
    if is_example or length < _SHORTEST_CHARS:
        return None
    data = decode_base64(without_blanks(without_escapes(text[head.end() : end])))
    if data is None:
        return None
    return DataUriSpan(head.start(), end, _mime_type(head), data, _filename(head))


def _percent_encoded_span(text: str, head: re.Match[str]) -> DataUriSpan | None:
    mime_type = _mime_type(head)
    if mime_type is None or is_textual(mime_type):
        return None
    # In a sentence only what is plainly a file counts: "use data:image/png,… for pixels" is not.
    # Its beginning shows that, so that a text full of heads is not read to its end for each.
    first = _unquoted(text, head.end(), head.end() + _SHOWN_CHARS)
    is_markup = mime_type == "image/svg+xml" and first.lstrip().startswith(b"<")
    if not (is_markup or sniff(first[:512])):
        return None
    end = match_end(_UNQUOTED, text, head.end(), len(text))
    data = _unquoted(text, head.end(), end)
    return DataUriSpan(head.start(), end, mime_type, data, _filename(head))


def _unquoted(text: str, start: int, end: int) -> bytes:
    body = text[start : match_end(_UNQUOTED, text, start, end)]
    return percent_decoded(body.encode("utf-8", "replace"))


def _head(text: str) -> re.Match[str] | None:
    start = _START.match(text)
    return _HEAD.match(text, start.end()) if start else None


def _described(head: re.Match[str]) -> str:
    """Return what is between the scheme and the comma, without the word that announces base64."""
    described: str = head["of_text"] if head["base64"] is None else head["of_base64"]
    return described


def _mime_type(head: re.Match[str]) -> str | None:
    described = unquote(_described(head))
    claimed = described.partition(";")[0].strip().lower()
    if not canonical_mime_type(claimed):
        return None
    return claimed + "".join(f";{each.strip()}" for each in _KEPT_PARAMETER.findall(described))


def _filename(head: re.Match[str]) -> str | None:
    name = _NAME.search(_described(head))
    return unquote(name.group(1)) if name else None
