"""Shapes of text that try to keep a reader busy: truncated, nested and repetitive.

Each is made in any length. A reader that looks at some of its text again and again, from every
place where something could begin, shows it on one of them.
"""

from collections.abc import Callable
from itertools import islice, product

Shape = Callable[[int], str]

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/"
PNG_START = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
"""Base64 of the first bytes of an image, by which undeclared base64 is known."""


def repeated(piece: str, *, before: str = "", after: str = "") -> Shape:
    """A shape of one piece over and over, between others that stand once."""

    def shape(chars: int) -> str:
        times = max(1, (chars - len(before) - len(after)) // len(piece))
        return before + piece * times + after

    return shape


def nested(opening: str, closing: str, *, inside: str = "") -> Shape:
    """A shape of things in one another, all of them closed."""

    def shape(chars: int) -> str:
        times = max(1, (chars - len(inside)) // (len(opening) + len(closing)))
        return opening * times + inside + closing * times

    return shape


def _json_in_json(chars: int) -> str:
    """A string that is JSON of a string that is JSON, as deep as it goes: escapes double."""
    text = "data:,"
    while len(text) * 2 < chars:
        text = '["' + text.replace("\\", "\\\\").replace('"', '\\"') + '"]'
    return text.ljust(chars)


def _rising_lines(chars: int) -> str:
    """Lines of base64, each a little longer than the one before."""
    lines: list[str] = []
    width, left = 40, chars
    while left > 0:
        lines.append("A" * width)
        left -= width + 1
        width = 40 + (width - 39) % 217
    return "\n".join(lines)


def _numbered(chars: int) -> str:
    """Words of which no two are alike."""
    words = map("".join, product(_DIGITS[10:36].lower(), repeat=6))
    return " ".join(islice(words, max(1, chars // 7)))


SHAPES: dict[str, Shape] = {
    # Strings of JSON, and what ends them too early or never.
    "escaped quotes in a key, never closed": repeated('\\"', before='{"toolName":"'),
    "escaped quotes with a head, never closed": repeated('\\"', before='["data:,', after="]"),
    "escaped quotes in an array, closed": repeated('\\"', before='["data:,', after='"]'),
    "escaped quotes alone": repeated('\\"'),
    "escaped quotes in arguments, cut": repeated('{\\"a\\": ', before='{"command": "'),
    "backslashes": repeated("\\"),
    "an odd number of backslashes in a string": repeated("\\\\", before='["', after='\\"]'),
    "backslashes before a quote": repeated('\\\\"'),
    "quotation marks": repeated('"'),
    "empty strings": repeated('"",', before="[", after='""]'),
    "open strings": repeated('["', after="data:,"),
    "short strings": repeated('"a",', before="[", after='"data:,"]'),
    "strings with an escape": repeated('"\\n",', before="[", after='"data:,"]'),
    "strings without commas": repeated('"a" '),
    "apostrophes": repeated("'"),
    "NUL escapes": repeated("\\u0000", before='["', after='"]'),
    "half surrogate escapes": repeated("\\ud800", before='["', after='"]'),
    "half surrogate escapes, never closed": repeated("\\ud800", before='["data:,'),
    "surrogate pairs": repeated("\\ud83d\\ude00", before='["', after='"]'),
    "cut escapes": repeated("\\u", before='["', after='"]'),
    "control escapes": repeated("\\n\\t", before='{"a":"', after='"}'),
    # Arrays, objects and numbers.
    "open arrays": repeated("["),
    "arrays in arrays": nested("[", "]"),
    "open objects": repeated('{"a":'),
    "objects in objects": nested('{"a":', "}", inside="1"),
    "objects and arrays": repeated('[{"a":'),
    "closing brackets": repeated("]}"),
    "commas": repeated(",", before="[", after="]"),
    "colons": repeated(":", before="{", after="}"),
    "empty arrays": repeated("[],", before="[", after="[]]"),
    "one digit": repeated("1"),
    "one digit in an array": repeated("1", before='["data:,",', after="]"),
    "decimals": repeated("1.10,", before="[", after='"data:,"]'),
    "a long fraction": repeated("0", before='["data:,",1.', after="1]"),
    "minus signs": repeated("-"),
    "exponents": repeated("1e1", before="["),
    "repeated keys": repeated('"a":1,', before="{", after='"a":"data:,"}'),
    "literals": repeated("null,", before="[", after='"data:,"]'),
    "JSON in JSON": _json_in_json,
    "JSON in JSON, open": repeated('[\\"', before='["data:,'),
    "Python's brackets": repeated("{'a': ["),
    # Pieces of files.
    "empty boxes": repeated("\0\0\0\x08free"),
    "empty chunks": repeated("abcd\0\0\0\0"),
    "small blocks": repeated("\x01a"),
    # Bytes as Python writes them.
    "starts of literals": repeated("b'%P "),
    "small literals": repeated("b'%PDF-1.7' "),
    "literals in each other's marks": repeated("b'\\x89PNG\\r\\n\\x1a\\nb\"\\x89PNG\\r\\n\\x1a\\n"),
    "a literal, open": repeated("\\\\", before="b'\\x89PNG\\r\\n\\x1a\\n"),
    "a literal of letters, open": repeated("a", before="b'\\x89PNG\\r\\n\\x1a\\n"),
    # Data URIs.
    "heads": repeated("data:a/b;"),
    "heads without a type": repeated("data:"),
    "heads of text": repeated("data:,"),
    "heads of base64": repeated("data:;base64,"),
    "heads of an image": repeated("data:image/png;base64,"),
    "heads of an image with a little": repeated("data:image/png;base64,AAAA "),
    "heads of markup": repeated("data:image/svg+xml,<svg "),
    "heads of a file": repeated("data:application/pdf,%25PDF-1.7"),
    "heads in upper case": repeated("DATA:A/B;C=D;"),
    "encoded heads": repeated("data%3Aimage%2Fpng%3Bbase64%2C"),
    "encoded heads without an end": repeated("data%3Aa%2Fb%3B"),
    "a head and parameters": repeated(";a=b", before="data:image/png"),
    "a head and semicolons": repeated(";", before="data:a/b"),
    "a head and blanks": repeated(" ", before="data:a/b;", after="base64,AAAA"),
    "a head and a name": repeated("a", before="data:a/b;name=", after=";base64,AAAA"),
    "a head of letters": repeated("a", before="data:"),
    "a head of slashes": repeated("a/", before="data:"),
    "a quoted parameter, open": repeated("a", before='data:a/b;name="'),
    "base64 marks": repeated(";base64,", before="data:a/b"),
    "base64 marks alone": repeated(";base64,"),
    "names of files": repeated(";name=a", before="data:a/b"),
    "blanks before a head": repeated(" ", after="data:image/png;base64,AAAA"),
    "breaks before heads": repeated("\n data:a/b"),
    "images of Markdown": repeated("![](data:image/png;base64,"),
    "markup": repeated("<svg "),
    "image elements": repeated('<img src="data:image/png;base64,'),
    "links of style sheets": repeated("url(data:font/woff2;base64,"),
    # Base64.
    "one letter": repeated("A"),
    "letters of both alphabets": repeated("A+/_-"),
    "hexadecimal digits": repeated("0123456789abcdef"),
    "an image's start, again and again": repeated(PNG_START),
    "an image's start behind slashes": repeated("/" + PNG_START),
    "an image's start in words": repeated(PNG_START + "AAAAAAAAAAAAAAAAAAAAAAAAAA "),
    "an image in a data URI, wrapped": repeated(
        "A" * 76 + "\n", before="data:image/png;base64," + PNG_START + "A" * 10 + "\n"
    ),
    "an image, wrapped": repeated("A" * 76 + "\r\n", before=PNG_START + "A" * 32 + "\r\n"),
    "an image, wrapped with escapes": repeated(
        "A" * 76 + "\\n", before=PNG_START + "A" * 32 + "\\n"
    ),
    "an image, wrapped with blanks": repeated("A" * 64 + " ", before=PNG_START + "A" * 20 + " "),
    "an image, in short lines": repeated("A" * 39 + "\n", before=PNG_START + "\n"),
    "starts of images, a line each": repeated(PNG_START + "\n"),
    "starts of images in equal groups": repeated(PNG_START + "A" * 20 + "\n\n"),
    "escaped slashes": repeated("\\/"),
    "an image with escaped slashes": repeated("A\\/", before=PNG_START),
    "encoded plus signs": repeated("%2B", before=PNG_START),
    "half encoded plus signs": repeated("%2", before=PNG_START),
    "rising lines": _rising_lines,
    "equals signs": repeated("="),
    "equals signs behind letters": repeated("A="),
    "padded groups": repeated("AAA="),
    "runs of forty": repeated("A" * 40 + " "),
    "runs of thirty-nine": repeated("A" * 39 + "."),
    "runs of sixty-four": repeated("Aa0" * 21 + "z-"),
    "underscores": repeated("_"),
    "signatures behind slashes": repeated("/iVBO"),
    "paths": repeated("/usr/lib/python3/dist-packages"),
    # References, URLs, percent signs.
    "references": repeated("@blob:" + "0" * 32 + " "),
    "open references": repeated("@blob:"),
    "URLs": repeated("https://a.example/b?c=d&"),
    "a long URL": repeated("a/", before="https://a.example/"),
    "encoded letters": repeated("%41"),
    "percent signs": repeated("%"),
    "half encoded": repeated("%4"),
    "ampersands": repeated("a=b&"),
    "JSON pointers": repeated("/~0~1"),
    "tildes": repeated("~"),
    # White space, lines and control characters.
    "blanks": repeated(" "),
    "blanks around a bracket": repeated(" ", before="[", after="]"),
    "blanks behind a letter": repeated(" ", before="a", after="."),
    "tabs": repeated("\t"),
    "line feeds": repeated("\n"),
    "carriage returns": repeated("\r"),
    "CRLFs": repeated("\r\n"),
    "blank lines with blanks": repeated("a\n \t \t "),
    "form feeds": repeated("\f\v"),
    "NULs": repeated("\0"),
    "control characters": repeated("\x01\x1b\x7f"),
    "line separators": repeated("\u2028\u2029\x85"),
    "short lines": repeated("ab\n"),
    "lines of a table": repeated("| a | b |\n"),
    "a long line between short ones": repeated("x", before="a\n", after="\nb"),
    "quotes of quotes": repeated("> "),
    "full stops": repeated("."),
    "full stops and marks": repeated('.")'),
    "Chinese full stops": repeated("\u3002\u300d"),
    "code fences": repeated("```\n"),
    "emphasis": repeated("*_"),
    # Words and scripts.
    "words": repeated("word "),
    "words, no two alike": _numbered,
    "letters": repeated("ab"),
    "capitals": repeated("AbCd "),
    "accents": repeated("\u00e9"),
    "Chinese": repeated("\u4e2d\u6587"),
    "Thai": repeated("\u0e01\u0e34"),
    "Hangul in pieces": repeated("\u1100\u1161"),
    "a tower of marks": repeated("\u0301", before="e"),
    "marks of two classes": repeated("\u0315\u0300", before="e"),
    "towers of marks": repeated("e" + "\u0301" * 29),
    "marks of Indic scripts": repeated("\u0915\u094d"),
    "joiners": repeated("\u200d"),
    "families": repeated("\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d"),
    "flags": repeated("\U0001f1e9\U0001f1ea"),
    "one half of flags": repeated("\U0001f1e9"),
    "skin tones": repeated("\U0001f44b\U0001f3fd"),
    "variation selectors": repeated("\ufe0f"),
    "sharp s": repeated("\u00df"),
    "dotted capital I": repeated("\u0130"),
    "ligatures": repeated("\ufdfa"),
    "right to left": repeated("\u202e\u05d0"),
    "soft hyphens": repeated("a\u00ad"),
    "replacement characters": repeated("\ufffd"),
    "letters beyond the first plane": repeated("\U00010400"),
    # Headers.
    "ranges": repeated("0-0,", before="bytes="),
    "open ranges": repeated("0-,", before="bytes="),
    "ranges of many digits": repeated("9", before="bytes=0-"),
    "entity tags": repeated('"a",', after='"a"'),
    "entity tags, open": repeated('"a", ', after='"'),
    "weak entity tags": repeated('W/"a" , '),
    "gaps of a list": repeated(", \t", before='"a"', after="x"),
    "parameters of a type": repeated("; a=b", before="text/plain"),
    "parameters of a type, quoted": repeated('; a="b', before="text/plain"),
    "blanks in a type": repeated(" ", before="text/plain;", after=";"),
    "members of a dictionary": repeated("a=?1, ", after="sha-256=:AAAA:"),
    "parameters of a member": repeated("; a", before="sha-256=:AAAA:", after="="),
    "bytes of a member": repeated("A", before="sha-256=:"),
    "an open string of a member": repeated('\\"', before='a="'),
    "metadata of an upload": repeated("a YQ==,"),
    "cookies": repeated("a=b; "),
    "languages": repeated("en;q=0.5,"),
    "media ranges": repeated("a/b;q=0.1, "),
    "multipart boundaries": repeated("--b\r\n"),
    "dashes": repeated("-", before="--"),
    "dots": repeated("a.", before="http://"),
    "at signs": repeated("@", before="http://a"),
}
"""Texts that a reader must read in linear time."""
