"""Long arguments of old calls are cut, and the mark of a cut is found in a copy."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.context.cut_arguments import cut_arguments
from pagefault_dialects.context.cut_marks import (
    ArgumentHandle,
    find_cut_mark,
    parse_argument_handle,
)
from pagefault_dialects.json.pointers import follow
from pagefault_dialects.json.values import iterate_values

HANDLE = "@entry:12/arguments/1"

any_text = st.text(st.characters(), max_size=30)
texts = any_text | st.builds(lambda text, times: text * times, any_text, st.sampled_from([60, 400]))
keys = st.text(st.sampled_from('ab/~%"\\[] \n\ud800ü0'), max_size=4)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
values = st.recursive(
    texts | scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, max_size=5)


def marked(left_out: int, handle: str) -> str:
    """Return the mark behind the beginning of a string."""
    return f"[... {left_out} characters left out; read_text {handle} shows all of it ...]"


def shape(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a value in which each string is replaced by its type."""
    if isinstance(value, dict):
        return {key: shape(member) for key, member in value.items()}
    if isinstance(value, list):
        return list(map(shape, value))
    return str if isinstance(value, str) else value


def strings(value: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Return the strings of a value, in order."""
    return [node for node, _ in iterate_values(value) if isinstance(node, str)]


def test_long_string_keeps_its_beginning_and_names_the_call_that_reads_it() -> None:
    arguments = {"path": "a.py", "content": "x" * 12_000, "edits": [{"old/new": "y" * 1_000}]}

    assert cut_arguments(arguments, HANDLE) == {
        "path": "a.py",
        "content": "x" * 200 + marked(11_800, f"{HANDLE}/content"),
        "edits": [{"old/new": "y" * 200 + marked(800, f"{HANDLE}/edits/0/old~1new")}],
    }


@pytest.mark.slow
@given(objects)
def test_cut_arguments_keep_their_shape_and_never_grow(arguments: dict[str, Any]) -> None:
    cut = cut_arguments(arguments, HANDLE)

    assert shape(cut) == shape(arguments)
    for old, new in zip(strings(arguments), strings(cut), strict=True):
        assert new == old or (len(new) < len(old) and new[:150] == old[:150])
    assert json.loads(json.dumps(cut)) == cut


@pytest.mark.slow
@given(objects)
def test_cutting_again_changes_nothing(arguments: dict[str, Any]) -> None:
    cut = cut_arguments(arguments, HANDLE)

    assert cut_arguments(cut, HANDLE) is cut
    assert cut_arguments(cut, "@entry:7/arguments/0") is cut


@pytest.mark.slow
@given(objects)
def test_mark_in_a_copy_resolves_to_the_string_that_was_cut(arguments: dict[str, Any]) -> None:
    cut = cut_arguments(arguments, HANDLE)

    found = find_cut_mark(cut)
    if cut is arguments:
        assert found is None
        return
    pairs = zip(strings(arguments), strings(cut), strict=True)
    first = next(old for old, new in pairs if old != new)
    assert found is not None
    named = parse_argument_handle(f'read_text("{found}")')
    assert named is not None
    assert (named.seq, named.call_index) == (12, 1)
    assert follow(arguments, named.names).value == first


@given(values)
def test_ordinary_arguments_have_no_mark(value: Any) -> None:  # noqa: ANN401 - JSON
    assert find_cut_mark(value) is None


@pytest.mark.parametrize(
    "text",
    [
        f'read_text("{HANDLE}/content")',
        f"The whole text is read by read_text {HANDLE}/content.",
        "[... 12 characters left out ...]",
        f"[... 12 characters left out; read_text {HANDLE}",
        "[... 12 characters left out; read_text @blob:12 shows all of it ...]",
        "[… 12 characters left out; the whole text is blob:9a0e04717cce2431260284cf548150ee …]",
    ],
)
def test_text_that_mentions_handles_has_no_mark(text: str) -> None:
    assert find_cut_mark({"content": text}) is None


@pytest.mark.parametrize(
    "copy",
    [
        lambda mark: {"content": f"x{mark}"},
        lambda mark: {"edits": [{"new": f"{mark} and more"}]},
        lambda mark: json.dumps({"content": f"ü{mark}"}),
        lambda mark: {"input": json.dumps({"body": json.dumps({"content": f'"\n{mark}'})})},
    ],
)
def test_mark_is_found_in_every_kind_of_copy(copy: Callable[[str], Any]) -> None:
    assert find_cut_mark(copy(marked(11_800, f"{HANDLE}/content"))) == f"{HANDLE}/content"


def test_string_too_deep_for_a_handle_is_named_by_its_container() -> None:
    key = "k" * 300
    arguments = {"a": {key: {key: "x" * 2_000}}}

    cut = cut_arguments(arguments, HANDLE)

    assert cut["a"][key][key] == "x" * 200 + marked(1_800, f"{HANDLE}/a/{key}")
    assert find_cut_mark(cut) == f"{HANDLE}/a/{key}"


def test_string_of_ten_megabytes_and_a_deep_value_are_read_once() -> None:
    deep: Any = "x" * 1_000
    for _ in range(20_000):
        deep = [deep]
    content = "[... " * 2_000_000

    cut = cut_arguments({"content": content, "deep": deep}, HANDLE)

    assert len(cut["content"]) < 400
    assert find_cut_mark(content) is None
    assert find_cut_mark(cut) == f"{HANDLE}/content"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("entry:12/arguments/0", ArgumentHandle(12, 0, ())),
        ('read_text("@entry:12/arguments/0/a~1b/0")', ArgumentHandle(12, 0, ("a/b", "0"))),
        ("[@entry:12/arguments/0/größe%20x]", ArgumentHandle(12, 0, ("größe x",))),
        ("@entry:12", None),
        ("@entry:12/9a0e04717cce", None),
        ("@entry:12/arguments/0/~2", None),
    ],
)
def test_handle_of_an_argument_is_parsed_with_surrounding_text(
    text: str, named: ArgumentHandle | None
) -> None:
    assert parse_argument_handle(text) == named
