"""Repeated keys are recorded only while a text is parsed."""

import gc
import weakref

from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.values import parse_json


def test_repeated_keys_of_a_parsed_text_are_not_kept() -> None:
    keys = RepeatedKeys()
    value = parse_json(
        b'{"a":[{"b":1,"b":2}]}', max_depth=9, max_nodes=99, make_object=keys.make_object
    )
    assert [*keys.find_pointers(value)] == [("/a/0", "b")]
    reference = weakref.ref(keys)
    del keys
    gc.collect()
    assert reference() is None


def test_repeated_keys_are_found_with_pointers_to_their_objects() -> None:
    texts: list[tuple[bytes, list[tuple[str, str]]]] = [
        (b'{"a":1,"b":2,"a":3,"a":4,"b":5}', [("", "a"), ("", "b")]),
        (b'[{"a/b":[{"c":1}, {"d":1,"d":2}]}]', [("/0/a~1b/1", "d")]),
        (b'{"a":{"b":1,"b":2},"a":{"c":1,"c":2}}', [("", "a"), ("/a", "c")]),
        (b'{"a":1,"b":[1,"a"]}', []),
    ]
    found = []
    for text, _ in texts:
        keys = RepeatedKeys()
        value = parse_json(text, max_depth=9, max_nodes=99, make_object=keys.make_object)
        found.append((text, [*keys.find_pointers(value)]))
    assert found == texts
