import base64
import hashlib
import io
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import ValidationError

from packages.dialects.tests.pages.page_factory import BASE64, DATA_URI
from pagefault_dialects.model.page import LONGEST_SECONDS, PageFields
from pagefault_dialects.pages.line_formats import (
    escape_bracketed_name,
    escape_line_breaks,
    format_clock,
    format_duration,
    parse_timecode,
    quote,
    quote_short,
    without_base64,
)

NEW_LINE, CR_INDENTED, ESCAPED_BREAK = "\n", "\r\n  ", "\\n"
WRAPPED = NEW_LINE.join(BASE64[:64] for _ in range(3))

NOISE = base64.b64encode(hashlib.sha512(b"noise").digest()).decode()
SILENCE = base64.b64encode(bytes(2_000) + b"end").decode()
# Texts as long as base64 and of its alphabet.
ORDINARY = (
    "a" * 90,
    "A" * 3_000,
    "=" * 90,
    hashlib.sha512(b"text").hexdigest(),
    hashlib.sha512(b"text").hexdigest().upper(),
    "0xDEADBEEFdeadbeef" * 5,
    "1234567890" * 20,
    "ACGT" * 100,
    "/usr/local/lib/Python/site-packages/SomePackage/InnerModule/AnotherModule/TheTest_Case",
    "src/main/java/org/example/project/service/implementation/DefaultUserAccountServiceFactory",
    "AVeryLongIdentifierThatSomebodyHasMadeOutOfManyWordsAndNobodyWillEverTypeItAgain2026",
    "/Users/Ada/Work/Client/Acme/Repo/Source/Main/Java/Com/Acme/Foo",
    "/home/user/Dev/Repo/App/Http/Controllers/Api/V1/Admin/UserController",
    "testThatItDoesNotFailIfTheListIsEmptyOrHasOneItemOnlyOnceMore",
    "C:/Users/Bob/Desktop/Work/New/Acme/Src/Api/V2/Web/Ui/Main/App/Foo/BarView",
    "/Users/Bob/Desktop/My/Own/Dir/On/It/A/B/C1/Foo/Bar/Baz/Qux",
    "TheNameOfAVariableThatIsLongEnoughToBeBase64ByItsLength=4",
    "20261123T044733Z-20261124T044733Z-20261125T044733Z-20261126T044733Z",
)

ANY_TEXT = st.text(max_size=300)

ESCAPED = {
    "line breaks": ("a\r\nb\u2028c\u2029d\u0085e\x0bf", "a\\r\\nb\\u2028c\\u2029d\\u0085e\\u000bf"),
    "bidi": ("a\u202eb\u2066c\u200fd", "a\\u202eb\\u2066c\\u200fd"),
    "invisible": ("a\u200bb\ufeffc\U000e0041d", "a\\u200bb\\ufeffc\\udb40\\udc41d"),
    "terminal": ("\x1b[31mred\x9b", "\\u001b[31mred\\u009b"),
    "half a pair": ("a\ud800b", "a\\ud800b"),
    "joiners": ("👨\u200d👩 क्\u200cष", "👨\u200d👩 क्\u200cष"),
    "quotation marks": ('say "a\\b"', 'say "a\\b"'),
}


@pytest.mark.parametrize(("text", "expected"), ESCAPED.values(), ids=ESCAPED)
def test_characters_that_break_or_hide_a_line_are_escaped(text: str, expected: str) -> None:
    assert escape_line_breaks(text) == expected


@given(text=ANY_TEXT)
def test_one_line_is_one_line(text: str) -> None:
    assert len(f".{escape_line_breaks(text)}.".splitlines()) == 1


@given(text=ANY_TEXT)
def test_quoted_text_is_a_json_string_on_one_line(text: str) -> None:
    assert json.loads(quote(text)) == text
    assert len(quote(text).splitlines()) == 1


@given(text=st.text(st.characters(categories=["Cc", "Cf", "Cs"]), max_size=20))
@settings(max_examples=20)
def test_characters_that_hide_are_json_escapes(text: str) -> None:
    assert escape_line_breaks(text.translate({0x200C: None, 0x200D: None})).isascii()
    assert [json.loads(quote(character)) for character in text] == [*text]


@given(text=ANY_TEXT, limit=st.integers(3, 100))
def test_short_quoted_text_fits_and_is_a_json_string(text: str, limit: int) -> None:
    short = quote_short(text, limit)
    assert len(short) <= limit
    assert text.startswith(json.loads(short).removesuffix("…")) or json.loads(short) == text


def test_quoted_text_that_fits_is_not_cut() -> None:
    assert (quote_short("abcde", 7), quote_short("abcdef", 7)) == ('"abcde"', '"abcd…"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"see {DATA_URI} there", "see […] there"),
        (f"see {BASE64}.", "see […]."),
        ("data:text/html,%3Cb%3E x", "[…] x"),
        ("A" * 64, "A" * 64),
        (NOISE, "[…]"),
        (NOISE.rstrip("="), "[…]"),
        (NOISE.replace("+", "-").replace("/", "_"), "[…]"),
        (SILENCE, "[…]"),
        (f"/srv/my-data/{NOISE}", "[…]"),
        ("words only", "words only"),
        (f"see\n{WRAPPED}\nthere", "see\n[…]\nthere"),
        (f"see\r\n  {WRAPPED.replace(NEW_LINE, CR_INDENTED)}.", "see\r\n  […]."),
        (f'"{WRAPPED.replace(NEW_LINE, ESCAPED_BREAK)}"', '"[…]"'),
        (f"{WRAPPED}\nSGVsbG8=\nThe end", "[…]\nThe end"),
        (f"icon data:image/png;base64,{WRAPPED}", "icon […]"),
        (f"{BASE64[:48]}", "[…]"),
        (f"{BASE64[:47]}", BASE64[:47]),
        (f"sha-256 {'0f' * 32}", f"sha-256 {'0f' * 32}"),
        ("test_a_function_with_a_very_long_name_stays_as_it_is",) * 2,
        (f"{'-' * 60}\ntitle", f"{'-' * 60}\ntitle"),
        *((ordinary, ordinary) for ordinary in ORDINARY),
    ],
)
def test_base64_is_left_out(text: str, expected: str) -> None:
    assert without_base64(text) == expected


# The parts of a run of 60 characters, and whether it is base64.
RUNS = {
    "words of one case": ("alpha/beta/gamma/delta/epsilon/zeta/eta/theta/iota/kappa/42", False),
    "words of one case and capitals": (
        "ALPHA-BETA-GAMMA-DELTA-EPSILON-ZETA-ETA-THETA-IOTA-42",
        False,
    ),
    "hexadecimal digits with padding": (
        "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789==",
        False,
    ),
    "long words with padding": ("AVeryLongNameThatIsMadeOfManyWordsAndThenSomeMoreOfThem=", True),
    "long words with padding of no whole group": (
        "AVeryLongNameThatIsMadeOfManyWordsAndThenSomeMoreOfThe=",
        False,
    ),
    "signature of a picture and then words": (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQAndManyLongWords",
        True,
    ),
    "few words": ("ThePathOfTheFirstOfThemAndTheNameOfTheSecondOfThemToo", False),
    "many words": ("aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9dE1fG3hI5", True),
    "path with a short part like base64": (
        "My-Own/aB3dE5fG7hI9jK1lM3nO5pQ7/TheRestOfThePath/AndMore",
        False,
    ),
    "path with a long part like base64": (
        "My-Own/aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9dE1fG3hI5",
        True,
    ),
}


def test_run_is_base64_if_it_has_a_signature_padding_or_many_words() -> None:
    found = {name: without_base64(run) == "[…]" for name, (run, _) in RUNS.items()}
    assert found == {name: is_base64 for name, (_, is_base64) in RUNS.items()}


def test_short_quoted_text_ends_between_characters_and_escapes() -> None:
    whole = '"a\\"b\\n\\u202ee\u0301👨\u200d👩z"'
    ends = {3: 1, 4: 2, 5: 2, 6: 4, 7: 5, 8: 5, 9: 7, 14: 7, 15: 13, 16: 13, 17: 15, 19: 15}
    short = {
        limit: quote_short('a"b\n\u202ee\u0301👨\u200d👩z', limit) for limit in (*ends, 20, 30)
    }
    expected = {limit: f'{whole[:end]}…"' for limit, end in ends.items()}
    assert short == {**expected, 20: whole, 30: whole}


def test_brackets_of_a_name_in_brackets_are_parentheses() -> None:
    assert escape_bracketed_name("a[1]\n(b).png") == "a(1)\\n(b).png"


@given(seed=st.integers(0, 2**32), size=st.integers(150, 2_000), altered=st.booleans())
def test_random_bytes_in_base64_are_left_out(seed: int, size: int, altered: bool) -> None:
    written = base64.b64encode(random.Random(seed).randbytes(size)).decode().rstrip("=")  # noqa: S311
    run = written.translate(str.maketrans("+/", "-_")) if altered else written
    assert without_base64(f"see {run} there") == "see […] there"


@given(side=st.integers(20, 200), is_noise=st.booleans(), kind=st.sampled_from(["PNG", "JPEG"]))
@settings(max_examples=30)
def test_images_in_base64_are_left_out(side: int, is_noise: bool, kind: str) -> None:
    written = base64.b64encode(drawn(side, kind, is_noise=is_noise)).decode()
    for run in (written, written.rstrip("=")):
        assert without_base64(f"see {run} there") == "see […] there"


def drawn(side: int, kind: str, *, is_noise: bool) -> bytes:
    """Return a picture of noise, or of one colour."""
    size = (side, 2 * side)
    picture = Image.effect_noise(size, 80) if is_noise else Image.new("L", size, side)
    written = io.BytesIO()
    picture.save(written, kind)
    return written.getvalue()


@pytest.mark.parametrize(
    ("seconds", "on_the_clock", "in_words"),
    [
        (0.0, "0:00", "0.0 s"),
        (0.001, "0:00", "0.0 s"),
        (59.4, "0:59", "59.4 s"),
        (342.0, "5:42", "5:42 (342.0 s)"),
        (3_725.5, "1:02:05", "1:02:05 (3725.5 s)"),
    ],
)
def test_durations_are_written_as_people_read_them(
    seconds: float, on_the_clock: str, in_words: str
) -> None:
    assert (format_clock(seconds), format_duration(seconds)) == (on_the_clock, in_words)


@pytest.mark.parametrize("seconds", [1e308, 1e9 + 1, float("inf"), float("nan"), -1.0])
def test_duration_of_a_page_is_bounded(seconds: float) -> None:
    with pytest.raises(ValidationError):
        PageFields.model_validate({"duration_seconds": seconds})


def test_longest_duration_is_a_short_text() -> None:
    fields = PageFields.model_validate({"duration_seconds": LONGEST_SECONDS})
    assert format_duration(fields.duration_seconds or 0) == "277777:46:40 (1000000000.0 s)"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        (0.5, 0.5),
        ("0:12", 12),
        ("00:01:02,5", 62.5),
        ("90:00", 5_400),
        (True, None),
        ("5", None),
        ("1:75", None),
        ("soon", None),
        (-1, None),
        (10**400, None),
        (None, None),
        (0, 0),
        (LONGEST_SECONDS, None),
        (LONGEST_SECONDS - 1, LONGEST_SECONDS - 1),
        (" 1:02:03.5 ", 3_723.5),
        ("9999:59:59", 36_000_000 - 1),
        ("1:2:03", None),
        ("1:02:03.1234567890", None),
        ("0" * 26 + "1:02", None),
        ("\t" + "1:02" + " " * 40, 62),
        ("1:02:03" + "0" * 40, None),
    ],
)
def test_numbers_of_seconds_and_the_text_of_a_clock_are_moments(
    value: object, expected: float | None
) -> None:
    assert parse_timecode(value) == expected
