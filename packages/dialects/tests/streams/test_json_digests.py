"""A JSON value has one digest in every spelling, and two values have two digests."""

import base64
import hashlib
import json
import tracemalloc
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagefault_dialects.json.numbers import SpelledNumber
from pagefault_dialects.json.pointers import find_first_difference
from pagefault_dialects.json.values import JsonValue, parse_json
from pagefault_dialects.streams.json_digests import (
    NAMED_CHARS,
    json_digest,
    make_name_of_base64,
    make_name_of_text,
)

MIB = 1024 * 1024
TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)
LARGE_DOUBLES = st.one_of(st.floats(1e15, 1e18), st.floats(1e15, 1e308)).map(lambda it: it // 1)
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-9, 9).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    LARGE_DOUBLES,
    LARGE_DOUBLES.map(lambda it: -int(it)),
    st.builds(lambda it, more: int(it) + more, LARGE_DOUBLES, st.integers(-2, 2)),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def parse(text: str | bytes, *, keeps_spelling: bool = False) -> JsonValue:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return parse_json(data, max_depth=1_000, max_nodes=1_000_000, keeps_spelling=keeps_spelling)


def respell(value: JsonValue, chance: Random) -> str:
    """Write a value in another spelling: order of keys, whitespace, escapes, numbers."""

    def blank() -> str:
        return chance.choice(["", "", " ", "\n\t", "  "])

    def text(value: str) -> str:
        spelled = [
            f"\\u{ord(char):04x}"
            if "\ud800" <= char <= "\udfff" or (char < "\uffff" and chance.random() < 0.3)
            else json.dumps(char, ensure_ascii=chance.random() < 0.5)[1:-1]
            for char in value
        ]
        return f'"{"".join(spelled)}"'

    def number(value: float) -> str:
        if isinstance(value, float) and value.is_integer() and abs(value) <= 1e308:
            return chance.choice([repr(value), str(int(value)), f"{int(value)}e0"])
        return repr(value)

    def write(value: JsonValue) -> str:
        if isinstance(value, dict):
            items = chance.sample(list(value.items()), len(value))
            members = (f"{blank()}{text(key)}{blank()}:{write(item)}" for key, item in items)
            return f"{blank()}{{{','.join(members)}{blank()}}}{blank()}"
        if isinstance(value, list):
            return f"{blank()}[{','.join(map(write, value))}{blank()}]"
        if isinstance(value, str):
            return blank() + text(value) + blank()
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return blank() + (number(value) if is_number else json.dumps(value)) + blank()

    return write(value)


@given(value=VALUES, chance=st.randoms(use_true_random=False), keeps_spelling=st.booleans())
@settings(max_examples=60, deadline=None)
def test_value_has_one_digest_in_every_spelling(
    value: JsonValue, chance: Random, *, keeps_spelling: bool
) -> None:
    expected = json_digest(parse(json.dumps(value)))
    again = parse(respell(value, chance), keeps_spelling=keeps_spelling)
    assert json_digest(again) == expected
    assert json_digest(again, body_bytes=0) == expected
    assert find_first_difference(parse(json.dumps(value)), again) is None


@given(one=VALUES, other=VALUES)
@settings(max_examples=60, deadline=None)
def test_two_values_have_two_digests(one: JsonValue, other: JsonValue) -> None:
    is_same = find_first_difference(one, other) is None
    digests = [{json_digest(item), json_digest(item, body_bytes=0)} for item in (one, other)]
    assert [len(digest) for digest in digests] == [1, 1]
    assert (digests[0] == digests[1]) == is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("[1]", "[1e0]"),
        ("[1e2]", "[100]"),
        ("[0]", "[-0]"),
        ("[0]", "[-0.0]"),
        ("[1.10]", "[1.1]"),
        ("[1e300]", "[1E+300]"),
        ("[1e21]", "[1000000000000000000000]"),
        ('{"a":[10000000000000000]}', '{"a":[1e16]}'),
        ("[-9007199254740992.0,7]", "[-9007199254740992,7.0]"),
        ("[-10000000000000000]", "[-1e+16]"),
        ("[9999999999999998.0]", "[9999999999999998]"),
        ("[0.1]", "[0.1000000000000000055]"),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a/\\u0062":[]}', ' {"a\\/b" : [ ] }\n'),
        ('["\\ud83d\\ude00"]', '["\N{GRINNING FACE}"]'),
    ],
)
def test_spellings_of_one_value(one: str, other: str) -> None:
    digests = {
        json_digest(parse(text, keeps_spelling=keeps_spelling), body_bytes=size)
        for text in (one, other)
        for keeps_spelling in (False, True)
        for size in (None, len(text))
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[1]", "[true]"),
        ("[0]", "[false]"),
        ("[0]", "[null]"),
        ("[1]", '["1"]'),
        ("[9007199254740992]", "[9007199254740993]"),
        ("[10000000000000000]", "[10000000000000001]"),
        ("[1e16]", "[10000000000000001]"),
        ("[1e308]", "[1" + "0" * 308 + "]"),
        ('["10000000000000000"]', '["1e+16"]'),
        ('[",10000000000000000,"]', '[",1e+16,"]'),
        ('["a\\",-0.0]"]', '["a\\",0]"]'),
        ("[" + "1" * 5_000 + "]", "[" + "1" * 4_999 + "2]"),
        ('["\\u0000text:0"]', '["text:0"]'),
        ('["\\u0000"]', '["\\u0000\\u0000"]'),
        ('["\\ud800"]', '["\\ufffd"]'),
        ('["a,1.0,b"]', '["a,1,b"]'),
        ("[[1],2]", "[[1,2]]"),
        ('{"a":{}}', '{"a":[]}'),
        ('{"a":null}', "{}"),
    ],
)
def test_spellings_of_two_values(one: str, other: str) -> None:
    values = parse(one), parse(other)
    for size in (None, 0):
        assert len({json_digest(item, body_bytes=size) for item in values}) == 2
    assert find_first_difference(*values) is not None


@pytest.mark.slow
@pytest.mark.parametrize("number", ["1e308", "1e15", "-0.0", "1.0", "10000000000000000"])
def test_digest_takes_a_few_times_the_memory_of_the_text(number: str) -> None:
    text = f"[{','.join([number] * 20_000)}]"
    most = 24 * len(text)
    for keeps_spelling, size, max_bytes in (
        (False, len(text), most),
        (True, len(text), most),
        (True, None, MIB // 2),
    ):
        value = parse(text, keeps_spelling=keeps_spelling)
        tracemalloc.start()
        try:
            json_digest(value, body_bytes=size)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < max_bytes, (keeps_spelling, size)


def test_depth_and_length_of_integers_do_not_matter() -> None:
    deep = "[" * 900 + "7" * 5_000 + "," + "8" * 4_200 + "]" * 900
    assert json_digest(parse(deep), body_bytes=len(deep)) == json_digest(parse(f" {deep}"))
    assert isinstance(parse("7" * 5_000), Decimal)


@pytest.mark.parametrize(
    ("one", "other", "pointer"),
    [
        ({"a": 1, "b": [1, {"c/d": True}]}, {"b": [1, {"c/d": 1}], "a": 1}, "/b/1/c~1d"),
        ([1, 2], [1, 2, 3], "/2"),
        ([1, 2], [1, 3, 3], "/1"),
        ({"a": 1}, {"a": 1, "b": None}, "/b"),
        ({"a": 1, "~": 2}, {"a": 1}, "/~0"),
        ("a", ["a"], ""),
        ({"a": 1.0}, {"a": 1}, None),
    ],
)
def test_first_difference_is_a_pointer(
    one: JsonValue, other: JsonValue, pointer: str | None
) -> None:
    assert find_first_difference(one, other) == pointer


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


LONG_TEXT = "é" * NAMED_CHARS
LONG_DATA = bytes(index * 89 % 256 for index in range(60_000))
LONG_BASE64 = base64.b64encode(LONG_DATA).decode()
HEAD = "data:image/png;base64,"


def base64_name(head: str, spelling: str, data: bytes = LONG_DATA) -> str:
    identity = f"{len(head)} {head}{spelling} {sha256(data)}"
    return f"\\u0000base64:{sha256(identity.encode())}"


def text_name(text: str) -> str:
    return f"\\u0000text:{sha256(text.encode('utf-8', 'surrogatepass'))}"


# Values with their canonical texts.
CANONICAL: list[tuple[JsonValue, str]] = [
    (None, "null"),
    (True, "true"),
    (1.0, "1"),
    ("é\n/", '"é\\n/"'),
    ("\0a", '"\\u0000\\u0000a"'),
    ({"b": [1, 2.50, -0.0], "a": {"\0": None}}, '{"a":{"\\u0000\\u0000":null},"b":[1,2.5,0]}'),
    (
        [10**16, 1e16, 10**16 + 1, -(10**16), 1e15],
        "[1e+16,1e+16,10000000000000001,-1e+16,1000000000000000]",
    ),
    ([9_999_999_999_999_999, 12345678901234567168], "[9999999999999999,1.2345678901234567e+19]"),
    (
        [int("1" * 400), Decimal("7" * 4_400), SpelledNumber("1.10")],
        f"[{'1' * 400},{'7' * 4_400},1.1]",
    ),
    ({"a": "1.0,1e16", "b": ["x.0]", 1.0]}, '{"a":"1.0,1e16","b":["x.0]",1]}'),
    (["\ud800"], '["\ud800"]'),
    # Many values, many of them nested.
    ([*range(2_500)], f"[{','.join(map(str, range(2_500)))}]"),
    ([1.0] * 100 + ["\0"], "[" + "1," * 100 + '"\\u0000\\u0000"]'),
    (
        [[number, {"a": 1.0}] for number in range(100)],
        json.dumps([[number, {"a": 1}] for number in range(100)], separators=(",", ":")),
    ),
    (
        {f"k{number:03}": [] for number in range(99, -1, -1)},
        json.dumps({f"k{number:03}": [] for number in range(100)}, separators=(",", ":")),
    ),
    # Long strings and keys are replaced by names.
    (LONG_TEXT, f'"{text_name(LONG_TEXT)}"'),
    ([LONG_TEXT[1:]], f'["{LONG_TEXT[1:]}"]'),
    ([LONG_TEXT, 1.0], f'["{text_name(LONG_TEXT)}",1]'),
    (
        {LONG_TEXT: 1, "a": LONG_BASE64},
        f'{{"{text_name(LONG_TEXT)}":1,"a":"{base64_name("", "standard one-line ")}"}}',
    ),
    ("\ud800" * NAMED_CHARS, f'"{text_name(chr(0xD800) * NAMED_CHARS)}"'),
    ([LONG_BASE64], f'["{base64_name("", "standard one-line ")}"]'),
    (HEAD + LONG_BASE64, f'"{base64_name(HEAD, "standard one-line ")}"'),
    ("D" + HEAD[1:] + LONG_BASE64, f'"{base64_name("D" + HEAD[1:], "standard one-line ")}"'),
    ("x" + HEAD + LONG_BASE64, f'"{text_name("x" + HEAD + LONG_BASE64)}"'),
    (LONG_BASE64[:-1] + "é", f'"{text_name(LONG_BASE64[:-1] + chr(0xE9))}"'),
    (LONG_BASE64 + "!", f'"{text_name(LONG_BASE64 + "!")}"'),
]


@pytest.mark.parametrize("prefix", [b"", b"before"])
def test_digest_is_that_of_the_canonical_text(prefix: bytes) -> None:
    different = []
    for value, text in CANONICAL:
        expected = "json:" + sha256(prefix + text.encode("utf-8", "surrogatepass"))
        sizes = (None, 0, 2 * MIB)
        found = {json_digest(value, prefix=prefix, body_bytes=size) for size in sizes}
        if found != {expected}:
            different.append(text[:100])
    assert different == []


def test_placeholders_have_the_names_that_are_given_for_them() -> None:
    placeholder, other = "A" * 4_096, "B" * 4_096
    value = {"a": [placeholder, other, "A"], "A": 1.0, "b": placeholder}
    names = {placeholder: "\0base64:1", "A": "never"}
    expected = f'{{"A":1,"a":["\\u0000base64:1","{other}","A"],"b":"\\u0000base64:1"}}'
    digest = "json:" + sha256(expected.encode())
    assert {json_digest(value, names=names, body_bytes=size) for size in (None, 99)} == {digest}


def test_names_are_digests_of_long_strings() -> None:
    def written(name: str) -> str:
        return name.replace("\\u0000", "\0")

    texts = [
        (LONG_TEXT, written(text_name(LONG_TEXT))),
        (LONG_TEXT[1:], LONG_TEXT[1:]),
        ("", ""),
        (LONG_BASE64 * 11, written(base64_name("", "standard one-line ", LONG_DATA * 11))),
    ]
    assert [(text, make_name_of_text(text)) for text, _ in texts] == texts
    assert make_name_of_base64("\ud800", "a", "b") == (
        f"\0base64:{sha256(b'1 ' + chr(0xD800).encode('utf-8', 'surrogatepass') + b'a b')}"
    )
