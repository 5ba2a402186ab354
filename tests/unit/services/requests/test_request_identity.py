"""A request is known by its JSON: however it is written, below a mebibyte and above."""

import base64
import hashlib
import json
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.services.requests.json_stream import JsonStream
from app.services.requests.request_identity import (
    NAMED_CHARS,
    RequestIdentity,
    identity_of_body,
    json_digest,
)
from app.services.requests.streamed_bodies import HeldDraft
from app.services.tool_results.tool_result_requests import (
    ReadToolResult,
    normalize_streamed,
    read_tool_result_request,
)
from app.stores.blobs.filesystem import FilesystemBlobStore
from pagefault_dialects.json.pointers import first_difference
from pagefault_dialects.json.values import JsonValue, parse_json
from tests.unit.services.requests.received import Outcome, outcome_of

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
BINARY = hashlib.shake_128(b"medium").digest(MIB)


def parsed(text: str | bytes, *, spelled: bool = False) -> JsonValue:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return parse_json(data, max_depth=1_000, max_nodes=1_000_000, spelled=spelled)


def written(value: JsonValue, chance: Random) -> str:
    """Write a value as some other program would: its keys, its blanks, its escapes, its numbers."""

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
            members = (f"{blank()}{text(key)}{blank()}:{write(each)}" for key, each in items)
            return f"{blank()}{{{','.join(members)}{blank()}}}{blank()}"
        if isinstance(value, list):
            return f"{blank()}[{','.join(map(write, value))}{blank()}]"
        if isinstance(value, str):
            return blank() + text(value) + blank()
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return blank() + (number(value) if is_number else json.dumps(value)) + blank()

    return write(value)


@given(value=VALUES, chance=st.randoms(use_true_random=False), spelled=st.booleans())
@settings(max_examples=60, deadline=None)
def test_value_has_one_digest_however_it_is_written(
    value: JsonValue, chance: Random, *, spelled: bool
) -> None:
    expected = json_digest(parsed(json.dumps(value)))
    again = parsed(written(value, chance), spelled=spelled)
    assert json_digest(again) == expected
    assert json_digest(again, body_bytes=0) == expected
    assert first_difference(parsed(json.dumps(value)), again) is None


@given(one=VALUES, other=VALUES)
@settings(max_examples=60, deadline=None)
def test_two_values_have_two_digests(one: JsonValue, other: JsonValue) -> None:
    is_same = first_difference(one, other) is None
    digests = [{json_digest(each), json_digest(each, body_bytes=0)} for each in (one, other)]
    assert [len(each) for each in digests] == [1, 1]
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
        json_digest(parsed(text, spelled=spelled), body_bytes=size)
        for text in (one, other)
        for spelled in (False, True)
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
    values = parsed(one), parsed(other)
    for size in (None, 0):
        assert len({json_digest(each, body_bytes=size) for each in values}) == 2
    assert first_difference(*values) is not None


@pytest.mark.parametrize("number", ["1e308", "1e15", "-0.0", "1.0", "10000000000000000"])
def test_digest_takes_a_few_times_the_memory_of_the_text(number: str) -> None:
    text = f"[{','.join([number] * 20_000)}]"
    most = 24 * len(text)
    for spelled, size, most_bytes in (
        (False, len(text), most),
        (True, len(text), most),
        (True, None, MIB // 2),
    ):
        value = parsed(text, spelled=spelled)
        tracemalloc.start()
        try:
            json_digest(value, body_bytes=size)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < most_bytes, (spelled, size)


def test_depth_and_length_of_integers_do_not_matter() -> None:
    deep = "[" * 900 + "7" * 5_000 + "," + "8" * 4_200 + "]" * 900
    assert json_digest(parsed(deep), body_bytes=len(deep)) == json_digest(parsed(f" {deep}"))
    assert isinstance(parsed("7" * 5_000), Decimal)


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
    assert first_difference(one, other) == pointer


def body(**members: object) -> bytes:
    return json.dumps({"toolName": "t", "toolCallId": "c", **members}).encode()


def identity(text: bytes, *, piece_bytes: int = 256 * 1024, long_chars: int = NAMED_CHARS) -> str:
    """What a body is known by that arrives in pieces; above the size of one it is streamed."""
    outcome = outcome_of([text], long_chars=long_chars, piece_bytes=piece_bytes)
    assert isinstance(outcome, Outcome)
    return outcome.digest


def identity_in_one_piece(text: bytes) -> RequestIdentity:
    """What a body is known by of which the media are held in memory."""
    blobs = FilesystemBlobStore(Path("nothing-is-stored"))
    json_stream = JsonStream(lambda: HeldDraft(blobs, "p", limit_bytes=MIB), lambda _: None)
    json_stream.take(text)
    json_stream.finish()
    assert json_stream.long_strings

    def read(body: bytes) -> ReadToolResult:
        return read_tool_result_request(body, max_depth=1_000, max_nodes=1_000_000)

    return normalize_streamed(json_stream, read, lambda _: None).identity


@pytest.mark.parametrize("piece_bytes", [256 * 1024, 4 * MIB], ids=["streamed", "in one piece"])
def test_media_above_a_mebibyte_are_known_by_their_text(piece_bytes: int) -> None:
    medium = base64.b64encode(BINARY).decode()
    result = {"b": {"type": "image", "data": medium, "mimeType": "image/png"}, "a": medium[:-4]}
    as_sent = body(result=result)
    expected = identity(as_sent, piece_bytes=4 * MIB, long_chars=4 * MIB)
    value = json.loads(as_sent)
    reordered = json.dumps(
        {key: value[key] for key in sorted(value)}, indent=1, sort_keys=True
    ).replace("/", "\\/")
    mixed = as_sent.replace(b"/", b"\\/", 5)
    for text in (as_sent, reordered.encode(), mixed, as_sent + b"\n"):
        assert identity(text, piece_bytes=piece_bytes) == expected
    changed = as_sent.replace(medium[40:44].encode(), b"AAAA", 1)
    assert identity(changed, piece_bytes=piece_bytes) != expected


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: text.replace("+", "-").replace("/", "_"),
        lambda text: text.rstrip("="),
        lambda text: "\n".join(text[start : start + 76] for start in range(0, len(text), 76)),
        lambda text: f"data:image/png;base64,{text}",
    ],
    ids=["url-safe", "unpadded", "lines", "data URI"],
)
def test_base64_in_another_spelling_is_another_value(spell: Callable[[str], str]) -> None:
    text = base64.b64encode(BINARY[: MIB - 2]).decode()
    plain, spelled = body(result=text), body(result=spell(text))
    whole = [identity(each, piece_bytes=4 * MIB, long_chars=4 * MIB) for each in (plain, spelled)]
    assert [identity(each, piece_bytes=4 * MIB) for each in (plain, spelled)] == whole
    assert [identity(each) for each in (plain, spelled)] == whole
    assert len(set(whole)) == 2


def test_digest_of_bytes_that_was_stored_is_still_known() -> None:
    text = body(result=1)
    known = identity_of_body(parsed(text), text)
    assert known.is_that_of(hashlib.sha256(text).hexdigest())
    assert known.is_that_of(known.digest)
    assert not known.is_that_of(hashlib.sha256(text + b"\n").hexdigest())
    assert not RequestIdentity(known.digest).is_that_of("")


def test_digest_of_bytes_of_a_body_in_one_piece_is_that_of_all_of_them() -> None:
    medium = base64.b64encode(BINARY[:NAMED_CHARS]).decode()
    text = body(result={"image": f"data:image/png;base64,{medium}", "text": "a" * NAMED_CHARS})
    for spelled in (text, text.replace(b"/", b"\\/"), text.replace(b"=", b"\\u003d")):
        known = identity_in_one_piece(spelled)
        assert known.is_that_of(hashlib.sha256(spelled).hexdigest())
        assert not known.is_that_of(hashlib.sha256(spelled + b" ").hexdigest())
        assert not known.is_that_of(f"json:{hashlib.sha256(spelled).hexdigest()}")
