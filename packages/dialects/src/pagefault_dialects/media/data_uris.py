"""Parse data URIs (RFC 2397), also with unusual case, parameters and white space.

The *head* of a data URI is its beginning, up to and including the comma. `parse_data_uri` decodes a
text that is a data URI, and `find_data_uris` decodes those inside a longer text. `split_data_uri`
splits one into head and payload, from which it can be restored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from pagefault_dialects.media.base64_runs import find_run_end
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
# Inside of a URL, the punctuation of a data URI is percent-encoded (the group `encoded`). Only
# base64 is accepted there, since other content would be encoded twice. Some programs write white
# space around `base64`.
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
# Parameters that no data URI has, in sentences such as "data:text/plain;-) it works, and …".
_ODD_PARAMETER = re.compile(r'(?:"[^"]*"|[^"])*?;(?![\w.+!#$&^-]{1,127}(?:[;=]|\Z))')
_NAME = re.compile(r";\s*(?:file)?name=\"?([^;\"]+)", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset=([^;]+)", re.IGNORECASE)
# Python also has codecs that are slow, or are not charsets, so only these are used.
_CHARSETS = frozenset(
    (
        *("utf-8", "utf-16", "utf-16le", "utf-16be", "us-ascii", "latin1", "koi8-r", "koi8-u"),
        *("shift_jis", "euc-jp", "euc-kr", "gb2312", "gbk", "gb18030", "big5"),
        *(f"iso-8859-{number}" for number in range(1, 17) if number != 12),
        *(f"windows-125{number}" for number in range(9)),
    )
)
_MIN_PAYLOAD_CHARS = 16
_MIN_CERTAIN_CHARS = 64
_DEFAULT_TYPE = "text/plain"
# The first 512 bytes are enough for a signature. Each may be percent-encoded in three characters.
_SNIFFED_CHARS = 1_536
_BLANK = re.compile(r"\s")
_PLAIN_HEAD = re.compile(r"data:[\w.+!#$&^-]{1,127}/[\w.+!#$&^-]{1,127};base64,")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9+/=]")
_URI_CHARS = re.compile(r"[^\s\"'<>`()\[\]{}|\\^]*+")


@dataclass(frozen=True, slots=True)
class DataUri:
    """A decoded data URI."""

    mime_type: str | None
    """The declared type; `None` if there is none."""
    data: bytes | None
    """The content; `None` if it is declared as base64 but is not."""
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class DataUriSpan:
    """A decoded data URI at `text[start:end]`."""

    start: int
    end: int
    mime_type: str | None
    data: bytes
    filename: str | None


@dataclass(frozen=True, slots=True)
class SplitDataUri:
    """A data URI as head and payload."""

    head: str
    payload: str
    """The characters behind the head."""
    mime_type: str
    data: bytes | None
    """The decoded payload; `None` for invalid base64."""
    filename: str | None
    is_base64: bool

    @property
    def text(self) -> str:
        """Return the original data URI."""
        return self.head + self.payload

    @property
    def declared_type(self) -> str | None:
        """Return the declared type; `None` for none and for `application/octet-stream`."""
        is_typed = self.head.strip()[5:].lstrip()[:1] not in ("", ",", ";")
        return self.mime_type if is_typed and self.mime_type != OCTET_STREAM else None

    @property
    def is_plain(self) -> bool:
        """Return whether the data URI has only a type and standard base64."""
        return is_plain_head(self.head) and not _NOT_PLAIN.search(self.payload)


def is_data_uri(text: str) -> bool:
    """Return whether the text begins with the head of a data URI."""
    return _match_head(text) is not None


def declares_media(text: str) -> bool:
    """Return whether a text begins with the head of a data URI of base64 or of a media type."""
    head = _match_head(text)
    if head is None:
        return False
    mime_type = _declared_mime_type(head)
    return bool(head["base64"]) or (mime_type is not None and not is_textual(mime_type))


def parse_data_uri(text: str) -> DataUri | None:
    """Return the data URI that a text consists of; `None` for other texts.

    Return `None` also for readable text without base64 and without a file name, which
    `parse_text_uri` parses.
    """
    head = _match_head(text)
    if head is None:
        return None
    mime_type = _declared_mime_type(head)
    if head["base64"]:
        data = decode_percent_encoded_base64(text[head.end() :])
        return DataUri(mime_type, data, _declared_filename(head))
    body = text[head.end() :].strip()
    is_text = mime_type is None or is_textual(mime_type)
    if is_text and (_declared_filename(head) is None or _has_white_space(body)):
        return None
    # Markup is often not percent-encoded, as in "data:image/svg+xml;utf8,<svg".
    data = percent_decoded(body.encode("utf-8", "replace"))
    return DataUri(mime_type, data or None, _declared_filename(head))


def parse_text_uri(text: str) -> tuple[str | None, str] | None:
    """Return the MIME type and the content of a text that is a percent-encoded data URI.

    Return `None` for other texts, for base64, for content that is not text, and for content with
    white space, which URIs do not have.
    """
    head = _match_head(text)
    if head is None or head["base64"] or _declared_filename(head) is not None:
        return None
    mime_type = _declared_mime_type(head)
    if mime_type is not None and not is_textual(mime_type):
        return None
    body = text[head.end() :].strip()
    if _has_white_space(body):
        return None
    try:
        return mime_type, percent_decoded(body.encode()).decode(_text_charset(head, body))
    except UnicodeError:
        return None


def _has_white_space(body: str) -> bool:
    return search_windows(_BLANK, body, 0, len(body), reach=0) is not None


def _text_charset(head: re.Match[str], body: str) -> str:
    """Return the charset of a percent-encoded body: the declared one if the body is ASCII."""
    declared = _CHARSET.search(unquote(_spelled_media_type(head))) if body.isascii() else None
    charset = declared.group(1).strip().lower() if declared else ""
    return charset if charset in _CHARSETS else "utf-8"


def split_data_uri(text: str) -> SplitDataUri | None:
    """Split a text that is a data URI; return `None` for other texts."""
    head = _match_head(text)
    if head is None or head["encoded"] or _ODD_PARAMETER.match(head["of_text"] or ""):
        return None
    payload, is_base64 = text[head.end() :], head["base64"] is not None
    data = (
        _decode_payload(payload)
        if is_base64
        else percent_decoded(payload.encode("utf-8", "replace"))
    )
    name = _NAME.search(_spelled_media_type(head))
    return SplitDataUri(
        head=text[: head.end()],
        payload=payload,
        mime_type=canonical_mime_type(unquote(_spelled_media_type(head))) or _DEFAULT_TYPE,
        data=data,
        filename=name.group(1) if name else None,
        is_base64=is_base64,
    )


def recognize_base64(text: str) -> SplitDataUri | None:
    """Return a text that is base64 of a file with a known signature, as a data URI without a head.

    Return `None` for other texts.
    """
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
    # Without padding, nearly every word is valid base64, so the bytes need a known signature.
    return data if sniff(data[:512]) else None


def is_plain_head(head: str) -> bool:
    """Return whether a head is `data:TYPE;base64,` without parameters."""
    return _PLAIN_HEAD.fullmatch(head) is not None


def find_base64_start(text: str) -> int:
    """Return where the base64 begins in a text that begins with a data URI; otherwise 0."""
    head = _HEAD.match(text)
    return head.end() if head and head["base64"] else 0


def may_contain_data_uri(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return whether `text[start:end]` may contain a data URI.

    This takes a fifth of the time of finding it.
    """
    end = len(text) if end is None else end
    for window_start in range(start, end, WINDOW_CHARS):
        window_end = min(window_start + WINDOW_CHARS, end) + _SCHEME_CHARS
        window = text[window_start:window_end]
        # In UTF-8, the bytes of other characters are never ASCII letters.
        lower = window.encode("utf-8", "surrogatepass").lower()
        if b"data:" in lower or b"data%3a" in lower:
            return True
    return False


def find_data_uris(text: str, position: int = 0, end: int | None = None) -> Iterator[DataUriSpan]:
    """Yield the data URIs of media that begin in `text[position:end]`, in order."""
    end = len(text) if end is None else end
    if not may_contain_data_uri(text, position, end):
        return
    # Each search is bounded: a single search of a long text would block other threads.
    while scheme := search_windows(_SCHEME, text, position, end, reach=_SCHEME_CHARS):
        head = _HEAD.match(text, scheme.start())
        decode = _decode_base64_span if head and head["base64"] else _decode_percent_encoded_span
        span = decode(text, head) if head else None
        if span:
            yield span
        position = span.end if span else head.end() if head else scheme.end()


def _decode_base64_span(text: str, head: re.Match[str]) -> DataUriSpan | None:
    """Return the data URI of base64 with a head; `None` for examples and for invalid base64."""
    end = find_run_end(text, head.end(), label_chars=head.end() - head.start())
    if end is None:
        return None
    length = end - head.end()
    # Short payloads, also before "…", are examples in texts about data URIs.
    is_example = length < _MIN_CERTAIN_CHARS and text.startswith(("...", "…"), end)
    if is_example or length < _MIN_PAYLOAD_CHARS:
        return None
    data = decode_base64(without_blanks(without_escapes(text[head.end() : end])))
    if data is None:
        return None
    return DataUriSpan(head.start(), end, _declared_mime_type(head), data, _declared_filename(head))


def _decode_percent_encoded_span(text: str, head: re.Match[str]) -> DataUriSpan | None:
    """Return the percent-encoded data URI with a head, if its content begins like a file."""
    mime_type = _declared_mime_type(head)
    if mime_type is None or is_textual(mime_type):
        return None
    # A sentence such as "use data:image/png,… for pixels" is no data URI. Only the first bytes are
    # checked, so that a text full of heads takes linear time.
    first_bytes = _decode_unquoted(text, head.end(), head.end() + _SNIFFED_CHARS)
    is_markup = mime_type == "image/svg+xml" and first_bytes.lstrip().startswith(b"<")
    if not (is_markup or sniff(first_bytes[:512])):
        return None
    end = match_end(_URI_CHARS, text, head.end(), len(text))
    data = _decode_unquoted(text, head.end(), end)
    return DataUriSpan(head.start(), end, mime_type, data, _declared_filename(head))


def _decode_unquoted(text: str, start: int, end: int) -> bytes:
    """Return the decoded bytes of a percent-encoded body up to a quotation mark or white space."""
    body = text[start : match_end(_URI_CHARS, text, start, end)]
    return percent_decoded(body.encode("utf-8", "replace"))


def _match_head(text: str) -> re.Match[str] | None:
    start = _START.match(text)
    return _HEAD.match(text, start.end()) if start else None


def _spelled_media_type(head: re.Match[str]) -> str:
    """Return the media type with its parameters, without `;base64`."""
    media_type: str = head["of_text"] if head["base64"] is None else head["of_base64"]
    return media_type


def _declared_mime_type(head: re.Match[str]) -> str | None:
    media_type = unquote(_spelled_media_type(head))
    declared = media_type.partition(";")[0].strip().lower()
    if not canonical_mime_type(declared):
        return None
    return declared + "".join(f";{match.strip()}" for match in _KEPT_PARAMETER.findall(media_type))


def _declared_filename(head: re.Match[str]) -> str | None:
    name = _NAME.search(_spelled_media_type(head))
    return unquote(name.group(1)) if name else None
