"""JSON is parsed within limits, and written without loss."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from pagefault_dialects.errors import InvalidJsonError, PagefaultError
from pagefault_dialects.json.numbers import SpelledNumber
from pagefault_dialects.json.values import (
    JsonValue,
    MediaSlot,
    check_shape,
    has_content,
    iterate_values,
    join_template,
    json_bytes,
    json_template,
    json_text,
    may_have_surrogates,
    parse_embedded_json,
    parse_json,
    parse_repaired_json,
    parse_stored_json,
    repair_surrogates,
    text_member,
)
from pagefault_dialects.text_windows import WINDOW_CHARS


def parse(text: str) -> JsonValue:
    return parse_embedded_json(text, max_depth=10, max_nodes=100)


@pytest.mark.parametrize(
    "text",
    ["[1.10]", "[1E5]", "[1e-7]", "[-0.0]", "[2.50,2.5]", '{"a":[0.30000000000000000001]}'],
)
def test_numbers_keep_their_spelling(text: str) -> None:
    assert json_text(parse(text)) == text


def test_numbers_with_kept_spelling_are_plain_numbers() -> None:
    values = parse("[1.5,7,-0.25]")
    assert (values, [type(value) for value in values]) == ([1.5, 7, -0.25], [float, int, float])


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', '[{"b":{"a":1,"\\u0061":1}}]', "[1e999]", "[NaN]", "[1"]
)
def test_unrepresentable_values_are_refused(text: str) -> None:
    with pytest.raises(InvalidJsonError):
        parse(text)


def outcome(read: Callable[..., object], text: object, **options: object) -> object:
    """Return the value of a text that is read, or the code and the detail of the error."""
    try:
        return read(text, max_depth=3, max_nodes=6, **options)
    except PagefaultError as error:
        return error.problem_code, error.detail


DEEP = "The JSON is nested deeper than 3 levels. Flatten it, or send it as a string."
MANY = "The JSON holds more than 6 values. Send large data as a file or as text."
INFINITE = "A number is too large for any JSON reader. Send it as a string."
ANY_VALUES: list[tuple[bytes, Any]] = [
    (b'{"a":[2.50,-0,null],"a":"\\ud800"}', {"a": "\ud800"}),
    ('["ü😀"]'.encode(), ["ü😀"]),
    (b"[" + b"7" * 5_000 + b"]", [Decimal("7" * 5_000)]),
    (b'["\xff"]', ("invalid-json", "The body is not UTF-8 text (byte 2).")),
    (b'[1,\n2,\n  "a" 3]', ("invalid-json", "The body is not JSON (line 3, column 7).")),
    (b"", ("invalid-json", "The body is not JSON (line 1, column 1).")),
    (b"[1e999]", ("invalid-json", INFINITE)),
    (b"[NaN]", ("invalid-json", "NaN is not a JSON value. Send null or a string instead.")),
    (b"[[[1]]]", [[[1]]]),
    (b"[[[[1]]]]", ("json-too-deep", DEEP)),
    (b"[1,2,3,4,5,6]", [1, 2, 3, 4, 5, 6]),
    (b"[1,2,3,4,5,6,7]", ("json-too-large", MANY)),
]


def test_body_is_parsed_within_limits() -> None:
    found = [(body, outcome(parse_json, body)) for body, _ in ANY_VALUES]
    assert found == ANY_VALUES


def test_numbers_of_a_body_keep_their_spelling_if_that_is_asked_for() -> None:
    body = b"[1.10,-0," + b"7" * 5_000 + b"]"
    values = parse_json(body, max_depth=1, max_nodes=4, keeps_spelling=True)
    assert (json_text(values), json_text(parse_stored_json(body))) == (body.decode(),) * 2
    assert json_text(parse_json(b"[1.10,-0]", max_depth=1, max_nodes=4)) == "[1.1,0]"


def test_objects_are_made_by_the_function_of_the_caller() -> None:
    def make(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {"pairs": pairs}

    value = parse_json(b'{"a":1,"a":{}}', max_depth=2, max_nodes=9, make_object=make)
    assert value == {"pairs": [("a", 1), ("a", {"pairs": []})]}


REPAIRED: list[tuple[bytes, Any]] = [
    (b'{"\\ud800":["\\udFFf","\\uD83d\\uDe00"]}', {"\ufffd": ["\ufffd", "😀"]}),
    (b'{"a":1,"a":2}', {"a": 2}),
    (b'{"\\ud800":1,"\\ud801":2}', ("invalid-json", "A key of an object is repeated.")),
    (b"[[[[]]]]", ("json-too-deep", DEEP)),
]


def test_lone_surrogates_of_a_body_are_replaced() -> None:
    found = [(body, outcome(parse_repaired_json, body)) for body, _ in REPAIRED]
    assert found == REPAIRED
    body = b'["\\ud800",1.10]'
    spelled = parse_repaired_json(body, max_depth=1, max_nodes=9, keeps_spelling=True)
    plain = parse_repaired_json(body, max_depth=1, max_nodes=9)
    assert (json_text(spelled), json_text(plain)) == ('["\ufffd",1.10]', '["\ufffd",1.1]')
    assert json_text(repair_surrogates(["\udfff", SpelledNumber("1.10")])) == '["\ufffd",1.1]'
    texts = [rb"\ud800", rb"\uDFFF", rb"\uDcaf", rb"\ud7ff", rb"\ue000", b"ud800"]
    assert [may_have_surrogates(text) for text in texts] == [True] * 3 + [False] * 3


EMBEDDED: list[tuple[str, object]] = [
    ('{"a":1,"a":2}', ("invalid-json", "A key of an object is repeated.")),
    ("[1", ("invalid-json", "The text is not JSON.")),
    ("[1e999]", ("invalid-json", INFINITE)),
    ("[[[[]]]]", ("json-too-deep", DEEP)),
    ("[1,2,3,4,5,6,7]", ("json-too-large", MANY)),
    ("-0", 0),
]


def test_embedded_json_that_would_change_is_refused() -> None:
    found = [(text, outcome(parse_embedded_json, text)) for text, _ in EMBEDDED]
    assert found == EMBEDDED


QUOTED = '"[{,\\"[[["'
SHAPES = [
    ("[[[]]]", None),
    ("[[[{}]]]", "json-too-deep"),
    ("[[],[],[]]", None),
    ("[[],[],[],[]]", "json-too-large"),
    ("{" + f"{QUOTED}:{QUOTED}," * 5 + "}", None),
    ("{" + f"{QUOTED}:{QUOTED}," * 6 + "}", "json-too-large"),
    # A closing bracket too many ends the check, and an unclosed string the text.
    ("][[[[", None),
    ("[]][[[[", None),
    ('[1,"[[[[[,,,,,,,', None),
    ("[1,[[[" + '"a\\', "json-too-deep"),
    (f'"{"[" * WINDOW_CHARS}"', None),
    (f'"{"[" * WINDOW_CHARS}",[[[[', "json-too-deep"),
    (f'{" " * (WINDOW_CHARS - 2)}"[[\\"[["[[[', None),
    (f'{" " * (WINDOW_CHARS - 2)}"[[\\"[["[[[[', "json-too-deep"),
    (f"{' ' * WINDOW_CHARS}[[[[", "json-too-deep"),
]


def test_shape_of_a_text_is_checked_without_its_strings() -> None:
    found = []
    for text, _ in SHAPES:
        result = outcome(check_shape, text)
        found.append((text, result[0] if isinstance(result, tuple) else result))
    assert found == SHAPES


SLOT = MediaSlot(0)
TEMPLATES: list[tuple[Any, tuple[Any, ...]]] = [
    ({"a": [1, 2.5, None, True], "ü": "\n\ud800"}, ('{"a":[1,2.5,null,true],"ü":"\\n\ud800"}',)),
    ([SLOT], ('["', SLOT, '"]')),
    ({'"': SLOT, "b": {"c": []}}, ('{"\\"":"', SLOT, '","b":{"c":[]}}')),
    ([("a\n", SLOT, MediaSlot(1), '"')], ('["a\\n', SLOT, MediaSlot(1), '\\""]')),
    (SLOT, ('"', SLOT, '"')),
    ([(), {}, [], SLOT], ('["",{},[],"', SLOT, '"]')),
    ([SpelledNumber("1.10"), Decimal("1E+2"), "é", 1e300], ('[1.10,100,"é",1e+300]',)),
]


def test_value_is_written_with_its_slots() -> None:
    assert [(value, json_template(value)) for value, _ in TEMPLATES] == TEMPLATES
    assert json_text(["a", SLOT]) == '["a",""]'
    assert json_bytes(["é\ud800", 1]) == '["é\\ud800",1]'.encode()
    for value in (float("nan"), [float("inf"), SLOT]):
        with pytest.raises(ValueError, match="Out of range"):
            json_template(value)


def test_depth_does_not_matter() -> None:
    deep: Any = [1]
    for _ in range(2_000):
        deep = {"a": deep, "b": 2}
    assert json_text(deep) == '{"a":' * 2_000 + "[1]" + ',"b":2}' * 2_000
    assert max(depth for _, depth in iterate_values(deep)) == 2_002


def test_values_are_iterated_in_order_with_their_depths() -> None:
    value = {"a": [1, {"b": None}], "c": "d", "e": []}
    found = [*iterate_values(value)]
    assert found == [
        *((value, 1), (value["a"], 2), (1, 3), ({"b": None}, 3), (None, 4), ("d", 2), ([], 2))
    ]
    assert [*iterate_values("a")] == [("a", 1)]


def test_texts_of_a_template_are_joined() -> None:
    assert join_template(["", "a", "b", SLOT, SLOT, "", SLOT, "c", ""]) == (
        *("ab", SLOT, SLOT, SLOT, "c"),
    )
    assert join_template(["", ""]) == ()


def test_members_and_content_are_those_of_sdks() -> None:
    values: list[JsonValue] = [{"a": "b"}, {"a": 1}, {"a": None}, {}, ["a"], "a", None]
    assert [text_member(value, "a") for value in values] == ["b", *[""] * 6]
    contents: list[JsonValue] = [None, False, "", [], {}, 0, True, " ", [None], {"a": None}]
    assert [has_content(value) for value in contents] == [False] * 5 + [True] * 5


def test_large_body_with_a_long_integer_is_parsed() -> None:
    text = f"[{'1,' * 30_100}{'8' * 4_301}]"
    assert json_text(parse_json(text.encode(), max_depth=1, max_nodes=50_000)) == text
