"""Frozen JSON is immutable, and thaws to the original value."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.base import freeze_json, thaw_json

LEVELS = 1_000
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


def nodes(value: object) -> Iterator[object]:
    """Yield the value and everything in it."""
    stack = [value]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Mapping):
            stack.extend(node.values())
        elif isinstance(node, list | tuple):
            stack.extend(node)


@pytest.mark.slow
@hypothesis.given(value=JSON)
def test_thawed_value_is_equal_to_the_frozen_one(value: object) -> None:
    assert json_text(thaw_json(freeze_json(value))) == json_text(value)
    assert json_text(thaw_json(value)) == json_text(value)
    assert json_text(thaw_json(freeze_json(freeze_json(value)))) == json_text(value)


@hypothesis.given(value=JSON)
def test_frozen_value_contains_no_mutable_value(value: object) -> None:
    kinds = {type(node) for node in nodes(freeze_json(value))}
    assert kinds <= {MappingProxyType, tuple, str, int, float, bool, type(None)}


def test_change_of_the_original_does_not_reach_the_frozen_value() -> None:
    original: dict[str, Any] = {"a": {"b": [1, {"c": 2}]}}
    kept = freeze_json(original)
    original["a"]["b"][1]["c"] = 3
    original["a"]["b"].append(4)
    original["a"]["new"] = 5
    del original["a"]
    assert thaw_json(kept) == {"a": {"b": [1, {"c": 2}]}}


def test_change_of_a_thawed_value_does_not_reach_the_frozen_one() -> None:
    kept = freeze_json({"a": {"b": [1]}})
    copy = thaw_json(kept)
    copy["a"]["b"].append(2)
    copy["a"] = None
    assert thaw_json(kept) == {"a": {"b": [1]}}


def test_frozen_object_and_array_refuse_every_change() -> None:
    kept = freeze_json({"a": [{"b": 1}]})
    with pytest.raises(TypeError):
        kept["a"] = 1
    with pytest.raises(TypeError):
        del kept["a"]
    with pytest.raises(TypeError):
        kept["a"][0] = 1
    with pytest.raises(TypeError):
        kept["a"][0]["b"] = 2
    with pytest.raises(AttributeError):
        kept["a"].append(1)
    with pytest.raises(AttributeError):
        kept.clear()


@pytest.mark.parametrize("kind", ["object", "array"])
def test_thousand_levels_are_frozen_and_thawed(kind: str) -> None:
    value: Any = "deep"
    for _ in range(LEVELS):
        value = {"x": value} if kind == "object" else [value]
    kept = freeze_json(value)
    assert sum(isinstance(node, MappingProxyType | tuple) for node in nodes(kept)) == LEVELS
    assert json_text(thaw_json(kept)) == json_text(value)


def test_wide_value_keeps_the_order_of_its_members() -> None:
    value = {str(number): [number] for number in reversed(range(10_000))}
    assert json_text(thaw_json(freeze_json(value))) == json_text(value)


@pytest.mark.parametrize("value", [{}, [], "", 0, -0.0, None, False, 2**70, {"": [[], {}]}])
def test_small_values_are_returned_unchanged(value: object) -> None:
    assert json_text(thaw_json(freeze_json(value))) == json_text(value)
