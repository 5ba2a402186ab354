"""Repeated keys are recorded only while a text is parsed."""

import gc
import weakref

from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.values import parse_json


def test_nothing_keeps_what_was_noted_of_a_text_that_was_parsed() -> None:
    keys = RepeatedKeys()
    value = parse_json(
        b'{"a":[{"b":1,"b":2}]}', max_depth=9, max_nodes=99, make_object=keys.make_object
    )
    assert [*keys.places(value)] == [("/a/0", "b")]
    reference = weakref.ref(keys)
    del keys
    gc.collect()
    assert reference() is None
