"""Data URIs (RFC 2397), also with unusual case, parameters and white space.

The *head* is all up to the comma. `parse_data_uri` decodes a text that is a data URI,
`find_data_uris` decodes those within a text, and `split_data_uri` splits one so that it can be
restored.
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

# All repetitions are bounded and possessive, so that a text full of incomplete heads does not take
# quadratic time. A sentence that begins with "Data: in 2024, …" does not match.
# Inside of a URL the punctuation is percent-encoded. Only base64 is searched there, since other
# content would be encoded twice. White space around `base64` is accepted, as some programs write
# it.
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
# For sentences that begin like a data URI without base64: "data:text/plain;-) it works, and …".
_ODD_PARAMETER = re.compile(r'(?:"[^"]*"|[^"])*?;(?![\w.+!#$&^-]{1,127}(?:[;=]|\Z))')
_NAME = re.compile(r";\s*(?:file)?name=\"?([^;\"]+)", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset=([^;]+)", re.IGNORECASE)
# An allow-list: Python also has codecs that are slow, or not character sets.
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
# Up to three characters for each of the 512 bytes of a signature.
_SNIFFED_CHARS = 1_536
_BLANK = re.compile(r"\s")
_PLAIN_HEAD = re.compile(r"data:[\w.+!#$&^-]{1,127}/[\w.+!#$&^-]{1,127};base64,")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9+/=]")
_URI_CHARS = re.compile(r"[^\s\"'<>`()\[\]{}|\\^]*+")


@dataclass(frozen=True, slots=True)
class DataUri:
    """A decoded data URI.

    `data` is `None` if base64 was declared and the content is not base64. `mime_type` is the
    declared type, `None` without one.
    """

    mime_type: str | None
    data: bytes | None
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class DataUriSpan:
    """A data URI with bytes, at `text[start:end]`."""

    start: int
    end: int
    mime_type: str | None
    data: bytes
    filename: str | None


@dataclass(frozen=True, slots=True)
class SplitDataUri:
    """A data URI as head and payload. `data` is `None` for invalid base64."""

    head: str
    payload: str
    mime_type: str
    data: bytes | None
    filename: str | None
    is_base64: bool

    @property
    def text(self) -> str:
        """Return the original data URI."""
        return self.head + self.payload

    @property
    def declared_type(self) -> str | None:
        """Return the declared type, without the default type of RFC 2397."""
        is_typed = self.head.strip()[5:].lstrip()[:1] not in ("", ",", ";")
        return self.mime_type if is_typed and self.mime_type != OCTET_STREAM else None

    @property
    def is_plain(self) -> bool:
        """Return whether it has the usual spelling: a type and standard base64."""
        return is_plain_head(self.head) and not _NOT_PLAIN.search(self.payload)


def is_data_uri(text: str) -> bool:
    """Return whether the text begins with the head of a data URI."""
    return _head(text) is not None


def declares_media(text: str) -> bool:
    """Return whether the text begins with the head of a data URI that is not readable text."""
    head = _head(text)
    if head is None:
        return False
    mime_type = _mime_type(head)
    return bool(head["base64"]) or (mime_type is not None and not is_textual(mime_type))


def parse_data_uri(text: str) -> DataUri | None:
    """Return the data URI that is the whole text; `None` for other texts and for plain text.

    `parse_text_uri` parses data URIs of text without base64 and without a file name.
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
    # Markup is often unescaped (";utf8,<svg"), so only percent-encodings are decoded.
    data = percent_decoded(body.encode("utf-8", "replace"))
    return DataUri(mime_type, data or None, _filename(head))


def parse_text_uri(text: str) -> tuple[str | None, str] | None:
    """Return the type and the content of a percent-encoded data URI that is the whole text.

    Return `None` for base64, for content that is not text, and for white space, which URIs do not
    have.
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
    """Return the charset of a body: the declared one for ASCII text, else UTF-8."""
    named = _CHARSET.search(unquote(_media_type(head))) if body.isascii() else None
    charset = named.group(1).strip().lower() if named else ""
    return charset if charset in _CHARSETS else "utf-8"


def split_data_uri(text: str) -> SplitDataUri | None:
    """Split a text that is a data URI; return `None` for other texts."""
    head = _head(text)
    if head is None or head["encoded"] or _ODD_PARAMETER.match(head["of_text"] or ""):
        return None
    payload, is_base64 = text[head.end() :], head["base64"] is not None
    data = (
        _decode_payload(payload)
        if is_base64
        else percent_decoded(payload.encode("utf-8", "replace"))
    )
    name = _NAME.search(_media_type(head))
    return SplitDataUri(
        head=text[: head.end()],
        payload=payload,
        mime_type=canonical_mime_type(unquote(_media_type(head))) or _DEFAULT_TYPE,
        data=data,
        filename=name.group(1) if name else None,
        is_base64=is_base64,
    )


def recognize_base64(text: str) -> SplitDataUri | None:
    """Return a text that is base64 of a known file format; `None` for other texts."""
    if len(text) < CERTAIN_BASE64_CHARS:
        return None
    data = decode_base64(text)
    mime_type = sniff(data[:512]) if data and is_strong_signature(data[:512]) else None
    if data is None or mime_type is None:
        return None
    return SplitDataUri("", text, mime_type, data, None, is_base64=True)


def _decode_payload(payload: str) -> bytes | None:
    data = decode_percent_encoded_base64(payload)
    if data is None or "%" in payload or len(without_blanks(payload)) % 4 == 0:
        return data
    # Nearly every word is valid base64 without padding, so the bytes need a known signature.
    return data if sniff(data[:512]) else None


def is_plain_head(head: str) -> bool:
    """Return whether a head has only a type and `base64`."""
    return _PLAIN_HEAD.fullmatch(head) is not None


def base64_head_end(text: str) -> int:
    """Return the start of the base64 of a leading data URI; 0 without one."""
    head = _HEAD.match(text)
    return head.end() if head and head["base64"] else 0


def has_scheme(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return whether `text[start:end]` may contain a data URI, in a fifth of the time of a search.

    Bytes of other characters never match ASCII letters in UTF-8.
    """
    end = len(text) if end is None else end
    for at in range(start, end, WINDOW_CHARS):
        window = text[at : min(at + WINDOW_CHARS, end) + _SCHEME_CHARS]
        lower = window.encode("utf-8", "surrogatepass").lower()
        if b"data:" in lower or b"data%3a" in lower:
            return True
    return False


def find_data_uris(text: str, position: int = 0, end: int | None = None) -> Iterator[DataUriSpan]:
    """Yield the data URIs that begin in `text[position:end]` and have usable content, in order."""
    end = len(text) if end is None else end
    if not has_scheme(text, position, end):
        return
    # One bounded search for each head: a text full of heads would be one long search otherwise.
    while scheme := search_windows(_SCHEME, text, position, end, reach=_SCHEME_CHARS):
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
    # Short payloads, or payloads that end with "…", are examples in prose about data URIs.
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
    # Within a text only content with a file signature counts, unlike "use data:image/png,… for
    # pixels". Only its first bytes are checked, so that a text full of heads takes linear time.
    first = _decode_unquoted(text, head.end(), head.end() + _SNIFFED_CHARS)
    is_markup = mime_type == "image/svg+xml" and first.lstrip().startswith(b"<")
    if not (is_markup or sniff(first[:512])):
        return None
    end = match_end(_URI_CHARS, text, head.end(), len(text))
    data = _decode_unquoted(text, head.end(), end)
    return DataUriSpan(head.start(), end, mime_type, data, _filename(head))


def _decode_unquoted(text: str, start: int, end: int) -> bytes:
    body = text[start : match_end(_URI_CHARS, text, start, end)]
    return percent_decoded(body.encode("utf-8", "replace"))


def _head(text: str) -> re.Match[str] | None:
    start = _START.match(text)
    return _HEAD.match(text, start.end()) if start else None


def _media_type(head: re.Match[str]) -> str:
    """Return the media type with its parameters, without `;base64`."""
    media_type: str = head["of_text"] if head["base64"] is None else head["of_base64"]
    return media_type


def _mime_type(head: re.Match[str]) -> str | None:
    media_type = unquote(_media_type(head))
    declared = media_type.partition(";")[0].strip().lower()
    if not canonical_mime_type(declared):
        return None
    return declared + "".join(f";{match.strip()}" for match in _KEPT_PARAMETER.findall(media_type))


def _filename(head: re.Match[str]) -> str | None:
    name = _NAME.search(_media_type(head))
    return unquote(name.group(1)) if name else None
