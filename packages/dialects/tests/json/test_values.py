"""JSON inside of strings: written back unchanged, or refused."""

import pytest

from pagefault_dialects.errors import InvalidJsonError
from pagefault_dialects.json.values import JsonValue, json_text, parse_embedded_json


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
