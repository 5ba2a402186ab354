"""Bodies made up around long base64 strings, in all the spellings that JSON and base64 have.

Everything is raw JSON, since how a string is spelled is what matters. A body is known by its seed.
"""

import base64
import re
from dataclasses import dataclass
from random import Random

from tests.security.both_ways import Piecing

SHORT_STRINGS = 240
"""For strings of a few hundred characters: quick, and none is long enough for a placeholder."""
LONG_STRINGS = 2_000
"""For strings of ten thousand, which placeholders are made for."""

_SIGNATURES = (
    bytes.fromhex("89504e470d0a1a0a0000000d4948445200000280000001400802000000"),
    b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom",
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    b"GIF89a",
    b"\xff\xd8\xff\xe0\x00\x10JFIF",
    b"",
)
_SLASHES = b"\xff\xef\xbe\xfb"
_LINES = b"The order is open, and nobody has paid.\n"

_HEADS = (
    b"",
    b"",
    b"",
    b"data:image/png;base64,",
    b"data:image\\/png;base64,",
    b"data:image\\u002fpng;base64,",
    b"DATA:video/mp4;name=a%20clip.mp4;Base64,",
    b"data:;base64,",
    b"data:text/plain;charset=utf-8;base64,",
    b"data:image/png;name=\xf0\x9f\x98\x80.png;base64,",
    b"data:image/png;name=C:\\\\temp\\\\new.png;base64,",
)
_ODD_HEADS = (
    b"data:image/png;name=C:\\\\Users\\\\r\\\\b.png;base64,",
    b"data:image/png;name=b\xc3\xbccher.png;base64,",
    b"data:image/png;name=b\\u00fccher.png;base64,",
    b"data:image/png;name=\\ud83d\\ude00.png;base64,",
    b"data:image/png;name=\\ud83d\\ud83d\\ude00.png;base64,",
    b"data:image/png;name=\\ud800.png;base64,",
    b"data:image/png;name=\\udc00\\u00e9\\/.png;base64,",
    b"data:image/png;name=a\\u005cn.png;base64,",
    b"data:image/png;name=a\\u000ab.png;base64,",
    b'data:image/png;name=\\"a.png\\";base64,',
    b"data:image/png;name=\\u0022a.png\\u0022;base64,",
    b"data:image/png;name=a\\u0000b.png;base64,",
    b"data:image/png;name=a\\tb.png;base64,",
    b"data:image/png;name=a\tb.png;base64,",
    b"data:image/png;name=\xffa.png;base64,",
    b"data:image/png;name=\\x.png;base64,",
    b"data:image/png; base64,",
    b"data:image/png;\\nbase64,",
    b"data%3aimage/png%3bbase64%2C",
    b"data:image/svg%2Bxml;base64,",
    b"data:image/svg\\u002bxml;base64,",
    b"\\u0064ata:image/png;base64,",
    b"data\\u003aimage/png;base64\\u002c",
    b"data:image/png,",
    b"see data:image/png;base64,",
    b"\\n",
    b" ",
    b"/9j/",
)
_TAILS = (b"", b"", b"", b"", b"\\n", b"\\r\\n")
_ODD_TAILS = (
    *(b"\\n", b"\\r\\n", b"\\r", b"\\u000a", b"\\u000d\\u000a", b"\\n\\n", b"\\\\n", b"\\\\r\\\\n"),
    *(
        b"=",
        b"==",
        b"===",
        b"=\\n",
        b"\\u003d",
        b"\\u003D=",
        b"=\\u003d",
        b"\\u003d\\r\\n",
        b"=\\n=",
    ),
    *(
        b"\\u0000",
        b"\\u0022",
        b"\\u0022,\\u0022",
        b"\\u005c",
        b"\\\\",
        b'\\"',
        b"\\/",
        b"%3D%3D",
        b" ",
    ),
)
_ODD = (
    *(
        b"\\\\n",
        b"\\\\r\\\\n",
        b"\\\\/",
        b"\\\\u002b",
        b"\\\\",
        b"\\\\\\\\",
        b"\\\\\\n",
        b"\\\\\\\\n",
    ),
    *(
        b"\\n",
        b"\\r\\n",
        b"\\r",
        b"\\n\\n",
        b"\\n\\r",
        b"\\u000a",
        b"\\u000d\\u000a",
        b"\\n\\u000d",
    ),
    *(b"\\u0022", b"\\u0022,\\u0022", b"\\u0000", b"\\u005c", b"\\u005cn", b"\\u005Cu0041"),
    *(b'\\"', b"\\t", b"\\b", b"\\f", b"\\/", b"\\u002f", b"\\u002F", b"\\u002b", b"\\u002B"),
    *(b"\\u003d", b"\\u0041", b"\\u0061\\u002b", b"\\u002d", b"-", b"_", b"+", b"/", b"=", b","),
    *(b"\\ud83d\\ude00", b"\\uD83D", b"\\ude00", b"\\ude00\\ud83d", b"\\ud83d\\n", b"\\ufeff"),
    *(
        b"\xc3\xa9",
        b"\xf0\x9f\x98\x80",
        b"\xe2\x80\xa8",
        b"\xef\xbb\xbf",
        b"\xff",
        b"\xc3",
        b"\xa9",
    ),
    *(
        b"\xed\xa0\x80",
        b"\x00",
        b"\x1f",
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b"\x7f",
        b" ",
        b"%2B",
        b"%2f",
    ),
    *(b"\\x", b"\\u00", b"\\u00g0", b"\\", b"\\'", b"\\N", b"\\U0041", b'"', b'","', b'":"', b"*"),
    *(b"\\u2028", b"\\u00A0", b"\\u0020", b"%0A", b"<", b"[{", b"}]", b"iVBORw0KGgo"),
)
_ESCAPES: tuple[dict[bytes, tuple[bytes, ...]], ...] = (
    {},
    {},
    {b"/": (b"\\/",)},
    {b"+": (b"\\u002B",)},
    {b"+": (b"\\u002b",), b"/": (b"\\u002f",), b"=": (b"\\u003d",)},
    {b"=": (b"\\u003D",), b"/": (b"\\u002F",)},
)
_ODD_ESCAPES: tuple[dict[bytes, tuple[bytes, ...]], ...] = (
    {},
    {},
    {b"/": (b"\\/", b"/")},
    {b"+": (b"\\u002B", b"\\u002b", b"+")},
    {b"/": (b"\\/", b"\\u002f"), b"=": (b"=", b"\\u003d")},
    {b"A": (b"A", b"\\u0041")},
)
_LINES_OF = ((), (), (), (76, 76), (64, 64), (56, 76), (100, 400))
_ODD_LINES_OF = ((), (), (40, 40), (76, 75), (36, 36), (76, 76), (1, 4))
_BREAKS = (b"\\n", b"\\r\\n")
_ODD_BREAKS = (b"\\n", b"\\u000a", b"\\r", b"\\n ", b"\n", b"\\\\n")

_BACKSLASH = re.compile(rb"\\\\")
_CALL = b'{"toolName":"t","toolCallId":"c","result":%b}'
_MEDIA = (
    b'{"content":[{"type":"image","data":"%b","mimeType":"image/png"}]}',
    b'{"content":[{"type":"video","data":"%b","mimeType":"video/mp4"},{"type":"text","text":"a"}]}',
    b'{"content":[{"type":"resource","resource":{"uri":"f:///a","blob":"%b"}}]}',
    b'[{"type":"image_url","image_url":{"url":"%b"}}]',
)
# As SDKs dump them and as messages carry them; two places are the same string twice.
_DUMPS = (
    b'{"content":[{"type":"image","data":"%b","mime_type":"image/png","annotations":null,'
    b'"meta":null}],"structured_content":null,"is_error":false,"meta":null}',
    b'{"content":[],"structured_content":{"result":"%b"},"data":"%b","is_error":false}',
    b'{"content":[{"type":"resource","resource":{"uri":"f:///a","blob":"%b"}}],'
    b'"structuredContent":{"a":"%b","n":null}}',
    b'{"content":[{"type":"image","data":"%b"}],"structuredContent":{"filename":"a","data":"%b"}}',
    b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","data":"%b"}],"isError":true}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"%b","data":"%b"}}',
    b'{"toolResult":{"toolUseId":"t","content":[{"image":{"format":"png","source":'
    b'{"bytes":"%b"}}}],"status":"error"}}',
    b'{"type":"tool","tool_call_id":"c","content":"%b","artifact":{"image":"%b"},"status":"error"}',
    b'{"data":{"image/png":["%b\\n"]},"metadata":{}}',
    b'{"data":{"image/png":["%b\\n","%b"]}}',
    b'{"type":"image","data":["%b"],"mimeType":"image/png"}',
    b'{"data":"%b","media_type":"image/png","kind":"binary","identifier":"a"}',
    b'{"content":[{"type":"text","text":"%b","meta":null}],"is_error":true}',
    b'{"content":[{"type":"image","data":"%b"}],"structuredContent":{"a":["b","see %b"]}}',
    b'{"toolResult":{"toolUseId":"%b","content":[{"text":"%b"}]}}',
    b'{"lc":1,"type":"constructor","id":["ToolMessage"],"kwargs":{"tool_call_id":"%b",'
    b'"content":"a"}}',
)
_RESULTS = (
    *_DUMPS,
    *_MEDIA,
    *_MEDIA,
    *_MEDIA,
    b'{"type":"text","text":"%b"}',
    b'"%b"',
    b'["%b"]',
    b'["a","%b","b"]',
    b'{"screenshot":"%b","note":"kept"}',
    b'{"base64":"%b","filename":"a.bin","size":7}',
    b'{"%b":1}',
    b'{"a":{"%b":{"image":"x"}}}',
    b'{"data":"short","data":"%b"}',
    b'{"data":"%b","data":"short"}',
    b'"{\\"screenshot\\":\\"%b\\"}"',
)
_BODIES = (
    b'{"toolName":"%b","toolCallId":"c","result":1}',
    b'{"toolName":"t","toolCallId":"c","result":1,"%b":2}',
    b'{"toolName":"t","toolCallId":"c","sessionId":"%b","result":1}',
    b'{"toolName":"t","toolCallId":"c","result":"x","result":"%b"}',
    b'"%b"',
    b'["%b"',
    b'\xef\xbb\xbf{"toolName":"t","toolCallId":"c","result":"%b"}',
    b'{"toolName":"t","toolCallId":"c","result":"%b"}}',
    b'{"toolName":"t","toolCallId":"c","result":"%b"}\n{}',
    b'{"toolName":"t","toolCallId":"c","result":"%b"}\x00',
    b'{"toolName":"t","toolCallId":"c","result":"%b",}',
)


@dataclass(frozen=True)
class SpelledBody:
    """A body, how it is cut, and the same with something small written in another way."""

    body: bytes
    sibling: bytes
    piecing: Piecing


def spelled_body(seed: int) -> SpelledBody:
    """Return the body of this number, the same in every run."""
    random = Random(seed)  # noqa: S311
    piecing = _piecing(random)
    first = _string(random, piecing.long_chars)
    if random.random() < 0.15:
        other = first if random.random() < 0.3 else _string(random, piecing.long_chars)
        values = b'["%b","%b"]' % (first, other)
        body, at = _CALL % values, random.randrange(len(first))
    elif random.random() < 0.15:
        body, at = random.choice(_BODIES).replace(b"%b", first), 0
    else:
        body, at = _CALL % random.choice(_RESULTS).replace(b"%b", first), 0
    body = _moved(random, body, body.find(first) + at, piecing.piece_bytes)
    if random.random() < 0.05:
        body = _damaged(random, body)
    return SpelledBody(body, _respelled(random, body), piecing)


def _piecing(random: Random) -> Piecing:
    if random.random() < 0.55:
        return Piecing(SHORT_STRINGS, random.choice((1, 7, 31, 60, 61, 100, 149, 251, 300)))
    return Piecing(LONG_STRINGS, random.choice((997, 1_024, 2_500, 4_096)))


def _string(random: Random, long_chars: int) -> bytes:
    """Return the raw JSON of a string, without its quotation marks."""
    text = base64.b64encode(_data(random, long_chars))
    if random.random() < 0.2:
        text = text.translate(bytes.maketrans(b"+/", b"-_"))
    if random.random() < 0.3:
        text = text.rstrip(b"=")
    if random.random() < 0.15:
        text = text[: random.randrange(long_chars - 3, long_chars + 4)]
    if random.random() < 0.5:
        wrapped = _wrapped(text, random.choice(_LINES_OF), random.choice(_BREAKS))
        raw = _escaped(random, wrapped, random.choice(_ESCAPES))
        return random.choice(_HEADS) + raw + random.choice(_TAILS)
    return _odd_string(random, text, long_chars)


def _odd_string(random: Random, text: bytes, long_chars: int) -> bytes:
    wrapped = _wrapped(text, random.choice(_ODD_LINES_OF), random.choice(_ODD_BREAKS))
    raw = _escaped(random, wrapped, random.choice(_ESCAPES + _ODD_ESCAPES))
    raw = random.choice(_HEADS + _ODD_HEADS) + raw
    for _ in range(random.choice((0, 1, 1, 2))):
        at = _place(random, raw, long_chars)
        raw = raw[:at] + random.choice(_ODD) + raw[at:]
    return raw + random.choice(_TAILS + _ODD_TAILS)


def _data(random: Random, long_chars: int) -> bytes:
    """Return bytes whose base64 is a little shorter than what is long, or longer."""
    if long_chars == SHORT_STRINGS:
        size = random.choice((180, 181, 183, 200, random.randrange(175, 700)))
    else:
        size = random.choice((1_500, 6_500, random.randrange(7_000, 11_000)))
    noise = random.randbytes(size)
    filling = random.choice((noise, noise, noise, _LINES, _SLASHES, b"\0"))
    return (random.choice(_SIGNATURES) + filling * (size // len(filling) + 1))[:size]


def _wrapped(text: bytes, widths: tuple[int, ...], separator: bytes) -> bytes:
    """Return the text in lines, whose breaks are raw JSON already."""
    if not widths:
        return text
    first, others = widths
    lines = [text[:first], *(text[at : at + others] for at in range(first, len(text), others))]
    return separator.join(lines)


def _escaped(random: Random, raw: bytes, escapes: dict[bytes, tuple[bytes, ...]]) -> bytes:
    for char, spellings in escapes.items():
        first, *others = raw.split(char)
        raw = first + b"".join(random.choice(spellings) + other for other in others)
    return raw


def _place(random: Random, raw: bytes, long_chars: int) -> int:
    """Return where something odd is put: mostly where a string becomes long, or ends."""
    near = (long_chars + random.randrange(-8, 9), len(raw), len(raw) - random.randrange(6))
    at = random.choice((*near, random.randrange(len(raw) + 1)))
    return min(max(at, 0), len(raw))


def _moved(random: Random, body: bytes, start: int, piece_bytes: int) -> bytes:
    """Put blanks before the body, so that a piece ends in the middle of one of its escapes."""
    escapes = [found.start() for found in _BACKSLASH.finditer(body, max(start, 0))]
    at = random.choice(escapes) + random.randrange(7) if escapes else random.randrange(len(body))
    return b" " * (-at % piece_bytes) + body


def _damaged(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body))
    return random.choice((body[:at], body[:at] + random.choice(_ODD) + body[at:], body + b"]"))


def _respelled(random: Random, body: bytes) -> bytes:
    """Return a body of which one character is spelled in another way, as often as it is there."""
    one, other = random.choice(
        (
            *((b"/", b"\\/"), (b"\\/", b"/"), (b"+", b"\\u002b"), (b"\\u002B", b"+")),
            *((b"=", b""), (b"\\n", b"\\r\\n"), (b"\\\\n", b"\\n"), (b"-", b"+"), (b"_", b"/")),
            *((b"\\u0022,\\u0022", b'","'), (b"\\n", b""), (b"\\/", b"\\u002f"), (b"A", b"B")),
        )
    )
    return body.replace(one, other)
