"""Base64 of files is found inside texts, on one line or in lines of any width."""

import base64
import re
from urllib.parse import unquote_to_bytes

from pagefault_dialects.media.base64_runs import (
    EncodedRun,
    decode_undeclared,
    find_run_end,
    find_runs,
    has_long_run,
    has_signature_at,
)
from pagefault_dialects.text_windows import WINDOW_CHARS
from tests.kit.media import b64

# The base64 of this has both other characters of the alphabet, and needs no padding.
DATA = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(index * 89 % 256 for index in range(134))
RUN = b64(DATA)
ONE_MORE, TWO_MORE = b64(DATA + b"\xff"), b64(DATA + b"\xff\xee")
URL_SAFE = RUN.replace("+", "-").replace("/", "_")
SHORT = b64(DATA[:90])
LONG = b64(DATA + DATA)
# Base64 without a signature.
OTHER = b64(DATA[::-1])
LINE = OTHER[:44]
JPEG = b64(b"\xff\xd8\xff\xe0\0\x10")


def lines(text: str, columns: int, separator: str = "\n") -> str:
    return separator.join(re.findall(f".{{1,{columns}}}", text))


def decode(spelled: str) -> bytes:
    """Decode base64 with the standard library."""
    unescaped = re.sub(r"\\u003[dD]|\\[rn]|\s", "", spelled).replace("\\/", "/")
    text = unquote_to_bytes(unescaped).rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    return base64.b64decode(text + b"=" * (-len(text) % 4))


def read(marked: str) -> tuple[str, list[EncodedRun]]:
    """Return a text in which runs stand between marks, and these runs."""
    text, runs = "", []
    for index, piece in enumerate(re.split("[«»]", marked)):
        if index % 2:
            runs.append(EncodedRun(len(text), len(text) + len(piece), decode(piece)))
        text += piece
    return text, runs


def check_runs(marked_texts: list[str]) -> None:
    expected = [read(marked) for marked in marked_texts]
    assert [(text, [*find_runs(text, 0, len(text))]) for text, _ in expected] == expected


PLACES = [
    "",
    "no base64",
    f"«{RUN}»",
    f"see «{RUN}»",
    f"«{RUN}», the image",
    f"a: «{RUN}»\n\nb: «{ONE_MORE}» and «{TWO_MORE}»",
    f"(«{URL_SAFE}»)",
    f"«{ONE_MORE.rstrip('=')}».",
    f"img=«{RUN}»&x=1",
    f"some-name_«{URL_SAFE}»",
    # The longest name before a run, and a longer one.
    f"/{'x' * 251}/«{RUN}»",
    f"/{'x' * 252}/{RUN}",
    f"{LINE}/«{RUN}»",
    # A letter that belongs to an escape.
    f'"\\n«{RUN}»"',
    f"n{RUN}",
    # The characters that only one alphabet has end the run.
    f"«{RUN}»-{RUN}",
    f"«{URL_SAFE}»/{LINE}",
    # A run that was cut inside of a group.
    f"«{RUN[:-1]}»…",
    f"«{RUN[:-2]}»…",
    f"«{RUN[:-4]}»{RUN[-4]}…",
    f"«{RUN[:-4]}»\\/…",
    f"«{RUN[:-4]}»%2F…",
    # Other base64, and base64 that is too short.
    OTHER,
    f"{OTHER} «{RUN}»",
    RUN[:60],
    f"«{RUN[:64]}»",
    f"{RUN[:39]} {RUN[:40]}",
    f"{RUN[:60]}= «{RUN}»",
]


def test_runs_are_found_at_their_places() -> None:
    check_runs(PLACES)


ESCAPED = [
    f"«{RUN}»".replace("/", "\\/"),
    f"«{RUN}» %2F".replace("+", "%2B"),
    f"«{RUN}»".replace("/", "%2f").replace("+", "%2b"),
    *(f"«{ONE_MORE[:-2]}{sign * 2}» a" for sign in ("=", "%3D", "%3d", "\\u003d", "\\u003D")),
    f"«{ONE_MORE}»= a",
    f"«{lines(RUN, 60)}»".replace("/", "\\/"),
    f"«{lines(RUN, 60)}»".replace("/", "%2F"),
    '{\\"a\\": \\"«' + lines(ONE_MORE, 60, "\\n") + '»\\"}',
]


def test_escapes_of_json_and_of_urls_belong_to_a_run() -> None:
    check_runs(ESCAPED)


WRAPPED = [
    *(f"a:\n  «{lines(RUN, columns)}»\n\nb" for columns in (40, 50, 57, 64, 76, 100, 199)),
    *(
        f"«{lines(RUN, 76, separator)}» (a)"
        for separator in ("\r\n", "\\n", "\\r\\n", "\n\t ", " ")
    ),
    f"«{lines(ONE_MORE, 76)}»\nText below",
    f"«{lines(ONE_MORE, 102)}»\nText below",
    f"«{lines(ONE_MORE[:202], 101)}==»\nText below",
    # Two blanks are no line break, and no other kind of line break is one in the same run.
    f"«{RUN[:100]}»  {RUN[100:]}",
    f"«{RUN[:76]}\n{RUN[76:152]}» {RUN[152:]} a",
    # Another file begins on the next line.
    f"«{lines(RUN, 76)}»\n«{lines(RUN, 76)}»",
    f"«{RUN}»\n«{RUN}»",
    f"«{RUN}»\n«{SHORT}»",
    # The lines of a run that is wrapped irregularly are left as text.
    f"{RUN[:76]}\n{RUN[76:156]}\n{RUN[156:]}",
    f"{RUN[:76]}\n{RUN[76:152]}\n{RUN[152:]}{LINE}",
    f"{RUN[:64]}\n{RUN[64:114]}\n{RUN[114:178]}\n{RUN[178:]}",
    f"{RUN[:76]}\n{RUN[76:152]}\n{RUN[152:172]}\n{RUN[:76].lower()}",
    # One below them is shorter, or is separated in another way.
    f"«{RUN[:76]}\n{RUN[76:152]}\n{RUN[152:172]}»\n{RUN[172:]}",
    f"«{RUN[:76]}\n{RUN[76:152]}\n{RUN[152:]}»\n\n{LINE}",
    # The next line ends the run if it is too long for a second and last one.
    f"«{RUN[:256] + LONG[200:256]}\n{LONG[256:300]}»",
    f"«{RUN[:256] + LONG[200:260]}»\n{LONG[260:300]}",
    f"«{RUN[:256] + LONG[200:260]}\n{LONG[260:340]}==»",
]


def test_lines_of_equal_length_are_one_run() -> None:
    check_runs(WRAPPED)


EXACT = lines(RUN, 100)
LAST_LINES = [
    # A word of the text behind the base64.
    f"«{EXACT}»\nDone and dusted",
    f"«{EXACT}»\nabcd and dusted",
    f"«{EXACT}\nabc4» and dusted",
    f"«{EXACT}\nAbCd» and dusted",
    f"«{EXACT}\nDone»",
    *(f"«{EXACT}\nDone»{closing}" for closing in (")", '"', "'", "`", "<", '\\"')),
    f"«{EXACT}»\nDone.",
    # Its letters complete the last group.
    f"«{lines(RUN[:198], 66)}\nab» and",
    f"«{lines(RUN[:198], 66)}»\nabc and",
    # No text ends inside of a group.
    f"«{EXACT}»\nA1B2C",
    f"«{EXACT}\nA1B2C3» and",
    # After a single line, a short line has nothing else on it.
    f"«{RUN}»\nA1B2 is the id",
    *(f"«{RUN}\nA1B2»{end}" for end in ("", "\n", " \r\n", "\\n", "\\r\\n", '"', "'", "`", "<")),
    f'«{RUN}\nA1B2»\\"',
    f"«{RUN}»\nA1B2)",
    f"«{RUN}»\nA1B2== is the id",
    f"«{RUN}\nA1A=»\nid",
    f"«{RUN}\n{OTHER[:40]}» is the id",
    f"«{RUN}»\n{OTHER[:39]} is the id",
    f"{RUN}\n{OTHER[:40]}\n{OTHER[:40]}",
    f"«{EXACT}\nA1A=» is the id",
]


def test_last_line_is_base64_or_text() -> None:
    check_runs(LAST_LINES)


ENDS = [
    # The lines are at least 40 characters long; a line is one that is not empty.
    (lines(RUN, 40), 0, 204),
    (lines(RUN, 39), 0, 39),
    (f"{RUN[:40]}\n\n{RUN[40:]}", 0, 40),
    (f" {RUN}", 0, 0),
    (f"\n{OTHER}", 0, 0),
    # Behind a label, the first line is shorter than the others by it, or longer.
    (f"{RUN[:55]}\n{lines(RUN[55:], 77)}", 22, 202),
    (f"{RUN[:77]}\n{lines(RUN[77:], 99)}", 22, 202),
    (f"{RUN[:77]}\n{lines(RUN[77:], 77)}", 22, 202),
    (f"{RUN[:77]}\n{lines(RUN[77:], 50)}", 22, None),
    (f"{RUN[:17]}\n{RUN[17:34]}\n{RUN[34:]}", 22, 17),
    (f"{RUN[:30]}\n{RUN[30:]}", 10, 201),
    (f"{RUN[:30]}\n{RUN[30:60]}", 9, 30),
    (f"\n{lines(OTHER, 76)}", 22, 203),
    (f"\n{lines(RUN, 76)}", 22, 203),
    (f"\n{RUN}", 22, 201),
    (f"\n{RUN}", 0, 0),
    (f" {OTHER}", 22, 0),
    ("", 22, 0),
]


def test_run_ends_with_its_lines() -> None:
    found = [
        (text, label_chars, find_run_end(text, 0, label_chars=label_chars))
        for text, label_chars, _ in ENDS
    ]
    assert found == ENDS


def test_run_begins_at_a_position() -> None:
    assert find_run_end(f"{RUN} {lines(RUN, 76)}", 201) == 403


def test_long_runs_are_read_in_windows() -> None:
    text = b64(DATA[:75] + bytes(120_000) + DATA + b"\xff")
    check_runs([f"«{text}» a"])
    wrapped = [lines(text, columns) for columns in (40, 76, WINDOW_CHARS - 1, WINDOW_CHARS + 4)]
    texts = [" " * place + text.replace("A" * 4, "AA\\/A") for place in range(6)] + wrapped
    found = [find_run_end(text, len(text) - len(text.lstrip())) for text in texts]
    assert found == [len(text) for text in texts]


PARTS = [
    ((0, 199), []),
    ((0, 200), [(0, 200)]),
    ((1, 400), [(201, 321)]),
    ((201, 321), [(201, 321)]),
    ((201, 527), [(201, 321), (322, 526)]),
    ((202, 525), []),
]


def test_only_runs_of_a_part_are_found() -> None:
    text = f"{RUN} {SHORT} {ONE_MORE} a"
    found = [(part, [(run.start, run.end) for run in find_runs(text, *part)]) for part, _ in PARTS]
    assert found == PARTS


SIGNATURES = [
    (RUN, True),
    (RUN.replace("/", "\\/"), True),
    (lines(RUN, 10), True),
    (RUN[:12], True),
    (RUN[:11], False),
    (f"{RUN[:12]}!", True),
    ("", False),
    (OTHER, False),
    (b64(b"RIFF\0\0\0\0WAVE"), True),
    (b64(b"RIFF\0\0\0\0TEXT"), False),
    (JPEG, True),
    (JPEG.replace("/", "_"), True),
    (JPEG.replace("/", "%2f"), True),
    (JPEG.replace("/", "-"), False),
]


def test_signature_is_recognized_in_every_spelling() -> None:
    found = [(text, has_signature_at(f"a{text}", 1)) for text, _ in SIGNATURES]
    assert found == SIGNATURES


UNDECLARED = [
    (RUN, DATA),
    (f" \n{RUN}\n ", DATA),
    (lines(URL_SAFE, 76, "\r\n"), DATA),
    (ONE_MORE.rstrip("="), DATA + b"\xff"),
    (RUN[:64], DATA[:48]),
    (f"{RUN[:63]} ", None),
    (f" {RUN[:63]}", None),
    (RUN[:63], None),
    (f"{RUN} and text", None),
    (f"{RUN[:76]}\n{RUN[76:140]}\n{RUN[140:]}", None),
    (RUN.replace("/", "\\/"), None),
    (RUN + "!", None),
    (OTHER, None),
    ("", None),
]


def test_text_that_is_a_run_is_decoded() -> None:
    assert [(text, decode_undeclared(text)) for text, _ in UNDECLARED] == UNDECLARED


def test_long_run_has_forty_characters_in_a_row() -> None:
    assert [has_long_run(text) for text in (LINE[:40], LINE[:39], "", "a\\/" + LINE[:38])] == [
        *(True, False, False, True)
    ]
