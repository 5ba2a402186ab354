"""Data URIs (RFC 2397) as tools and clients write them: any case, any parameters, blanks.

One grammar defines their head. `parse_data_uri` and `find_data_uris` decode them, alone or in a
sentence; `split_data_uri` splits one so that it can be restored.
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

# Bounded and unambiguous: a text full of half-written heads must not take quadratic time. A
# sentence that begins with "Data: in 2024, …" does not match.
# Inside of a URL the punctuation is percent-encoded. Only base64 is searched there, since other
# content would be encoded twice. Blanks around `base64` are accepted: some programs write them, and
# they are never ambiguous.
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
# Python knows many more, among them codecs that are no charsets, and slow ones.
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
class DataUriText:
    """A split data URI: `head` ends with its comma, and `data` is `None` for invalid base64."""

    head: str
    payload: str
    mime_type: str
    data: bytes | None
    filename: str | None
    is_base64: bool

    @property
    def text(self) -> str:
        """The data URI as it was written."""
        return self.head + self.payload

    @property
    def declared_type(self) -> str | None:
        """The declared type, if there is one: by RFC 2397 the default is plain text."""
        is_typed = self.head.strip()[5:].lstrip()[:1] not in ("", ",", ";")
        return self.mime_type if is_typed and self.mime_type != OCTET_STREAM else None

    @property
    def is_plain(self) -> bool:
        """True for the usual spelling: a type, standard base64, nothing else."""
        return is_plain_head(self.head) and not _NOT_PLAIN.search(self.payload)


def is_data_uri(text: str) -> bool:
    """Return whether the text begins like a data URI; a sentence about "data: …" does not."""
    return _head(text) is not None


def announces_media(text: str) -> bool:
    """Return whether the text begins like a data URI of anything but readable text."""
    head = _head(text)
    if head is None:
        return False
    mime_type = _mime_type(head)
    return bool(head["base64"]) or (mime_type is not None and not is_textual(mime_type))


def parse_data_uri(text: str) -> DataUri | None:
    """Return the data URI that is the whole text; `None` for other texts and for plain text.

    Text without base64 and without a file name (`data:,hello`) is left to `parse_text_uri`.
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
    """Return the type and the text of a percent-encoded data URI that is the whole text.

    Return `None` for base64, for bytes that are no text, and for characters that are not allowed in
    URIs, such as blanks.
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
    """Return the charset of a body; a body with characters outside of ASCII is UTF-8 already."""
    named = _CHARSET.search(unquote(_described(head))) if body.isascii() else None
    charset = named.group(1).strip().lower() if named else ""
    return charset if charset in _CHARSETS else "utf-8"


def split_data_uri(text: str) -> DataUriText | None:
    """Return the data URI that is the whole text, split; `None` for other texts."""
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
    """Return a medium written as bare base64, recognised by its signature; `None` for others."""
    if len(text) < CERTAIN_BASE64_CHARS:
        return None
    data = decode_base64(text)
    mime_type = sniff(data[:512]) if data and is_strong_signature(data[:512]) else None
    if data is None or mime_type is None:
        return None
    return DataUriText("", text, mime_type, data, None, is_base64=True)


def _decoded(payload: str) -> bytes | None:
    data = decode_percent_encoded_base64(payload)
    if data is None or "%" in payload or len(without_blanks(payload)) % 4 == 0:
        return data
    # Nearly every word is valid base64 without padding, so the bytes need a known signature.
    return data if sniff(data[:512]) else None


def is_plain_head(head: str) -> bool:
    """Return whether a head has the usual spelling: a type, base64, nothing else."""
    return _PLAIN_HEAD.fullmatch(head) is not None


def base64_head_end(text: str) -> int:
    """Return where the base64 of a leading data URI begins; 0 if the text has none."""
    head = _HEAD.match(text)
    return head.end() if head and head["base64"] else 0


def has_scheme(text: str) -> bool:
    """Return whether a text may contain a data URI, in a fifth of the time of finding one.

    Only ASCII letters match, whatever the bytes of other characters are.
    """
    for start in range(0, len(text), WINDOW_CHARS):
        window = text[start : start + WINDOW_CHARS + _SCHEME_CHARS]
        lower = window.encode("utf-8", "surrogatepass").lower()
        if b"data:" in lower or b"data%3a" in lower:
            return True
    return False


def find_data_uris(text: str) -> Iterator[DataUriSpan]:
    """Yield the data URIs inside a text that have usable content, in order."""
    if not has_scheme(text):
        return
    position = 0
    # A new search for each head, so that a text full of heads is not one long step.
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
    # Short or broken ones are examples in a text about data URIs.
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
    # In a sentence only obvious files count: "use data:image/png,… for pixels" is none. The first
    # bytes decide, so a text full of heads is not read to its end for each.
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
    """Return the part between the scheme and the comma, without the declaration of base64."""
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
