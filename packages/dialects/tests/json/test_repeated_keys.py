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
