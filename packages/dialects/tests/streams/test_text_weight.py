"""The memory of a JSON text is estimated by its characters, containers and members."""

import pytest

from pagefault_dialects.streams.text_weight import TextWeight

CONTAINER, MEMBER = 320, 96
CASES = [
    (b"", 5, 0),
    (b'"[{,"', 5, 0),
    (b'{"a": [1, 2, {}], "b": 1}', 5, 3 * CONTAINER + 3 * MEMBER),
    (b'["\\"[", "\\\\", [], "\\\\\\",{"]', 5, 2 * CONTAINER + 3 * MEMBER),
    ('["é ÿ"]'.encode(), 5, CONTAINER),
    (b'["\\n \\\\u"]', 7, CONTAINER),
    (b'["u20ac \\n"]', 5, CONTAINER),
    ('["Ā"]'.encode(), 7, CONTAINER),
    ('["€", "\uffff"]'.encode(), 7, CONTAINER + MEMBER),
    (b'["\\u20ac"]', 7, CONTAINER),
    ('["😀", "€"]'.encode(), 11, CONTAINER + MEMBER),
    (b'["\\ud83d\\ude00", "\\u20ac"]', 11, CONTAINER + MEMBER),
    (b'["\\uDBFF"]', 11, CONTAINER),
    (b'["\\uD7FF"]', 7, CONTAINER),
]


def weigh(*pieces: bytes, text_bytes: int = 1_000) -> int:
    weight = TextWeight()
    for piece in pieces:
        weight.add(piece)
    return weight.estimate_bytes(text_bytes)


@pytest.mark.parametrize(("text", "copies", "value_bytes"), CASES)
def test_text_is_weighed_by_its_widest_character_and_its_values(
    text: bytes, copies: int, value_bytes: int
) -> None:
    expected = 1_000 * copies + value_bytes
    cuts = [[text[:cut], text[cut:]] for cut in range(len(text) + 1)]
    pieces = [[text], [text[i : i + 1] for i in range(len(text))]]
    assert [parts for parts in (*cuts, *pieces) if weigh(*parts) != expected] == []


def test_long_piece_is_weighed_as_its_parts() -> None:
    text = b'["%b", [], "\\"%b\\\\", {}]' % (b"[" * 70_000, b"{" * 70_000)
    assert weigh(text) == 1_000 * 5 + 3 * CONTAINER + 3 * MEMBER
    assert weigh(text, text_bytes=0) == 3 * CONTAINER + 3 * MEMBER
