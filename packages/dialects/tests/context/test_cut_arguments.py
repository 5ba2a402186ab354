"""Long arguments of old calls are cut, and the mark of a cut is found in a copy."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagefault_dialects.context.cut_arguments import cut_arguments, is_cut_text, mark_arguments
from pagefault_dialects.context.cut_marks import (
    LONGEST_HANDLE,
    ArgumentHandle,
    cut_arguments_refusal,
    find_blocking_mark,
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


def test_string_is_cut_only_if_that_makes_it_shorter() -> None:
    mark = marked(10, f"{HANDLE}/a")
    longest = "x" * (200 + len(mark))
    assert cut_arguments({"a": longest}, HANDLE) == {"a": longest}
    longer = {"a": f"{longest}x"}
    assert cut_arguments(longer, HANDLE) == {
        "a": "x" * 200 + marked(len(mark) + 1, f"{HANDLE}/a"),
    }
    assert longer == {"a": f"{longest}x"}
    # A grapheme is not divided.
    letters = "x" * 199 + "e\u0301" + "y" * 300
    assert cut_arguments({"a": letters}, HANDLE) == {
        "a": "x" * 199 + marked(302, f"{HANDLE}/a"),
    }


def test_marks_of_calls_outside_of_a_session_name_no_handle() -> None:
    cut = cut_arguments({"a": ["x" * 500]}, None)
    assert cut == {"a": ["x" * 200 + "[... 300 characters left out ...]"]}
    assert cut_arguments(cut, None) is cut
    assert cut_arguments(cut, HANDLE) is cut
    assert mark_arguments({"a": "x" * 500}, None) == {"a": "[... 508 characters left out ...]"}


def test_arguments_are_replaced_by_a_mark_if_that_makes_them_shorter() -> None:
    many = {f"key{number}": "x" * 90 for number in range(9)}
    length = len(json.dumps(many, separators=(",", ":")))
    assert mark_arguments(many, HANDLE) == {"key0": marked(length, HANDLE)}
    assert mark_arguments({"k" * 300: "x" * 300}, HANDLE) == {"k" * 200: marked(607, HANDLE)}
    mark_chars = len(marked(300, HANDLE))
    short = {"a": "x" * (200 + mark_chars - len('{"a":""}'))}
    assert mark_arguments(short, HANDLE) is short
    assert mark_arguments({"a": f"{short['a']}x"}, HANDLE) == {
        "a": marked(201 + mark_chars, HANDLE)
    }


def test_text_is_cut_only_if_it_ends_with_a_mark_behind_a_short_beginning() -> None:
    mark = marked(300, HANDLE)
    texts = [
        *(mark, f"{'x' * 200}{mark}"),
        *(f"{'x' * 201}{mark}", f"{mark}x", "x" * 100, f"{'x' * 200}{mark}{'y' * 900}"),
    ]
    assert [is_cut_text(text) for text in texts] == [True] * 2 + [False] * 4


def test_handle_that_would_be_too_long_is_that_of_the_container() -> None:
    head = f"{HANDLE}/"
    key = "k" * (LONGEST_HANDLE - len(head))
    # Two characters of a key can take six in a handle.
    escaped = "ü" * ((LONGEST_HANDLE - len(head)) // 6 + 1)
    cut = cut_arguments(
        {key: "x" * 900, f"{key}k": "x" * 900, escaped: "x" * 900, "a b": "x" * 900}, HANDLE
    )
    assert [text[200:] for text in cut.values() if isinstance(text, str)] == [
        marked(700, f"{head}{key}"),
        marked(700, HANDLE),
        marked(700, HANDLE),
        marked(700, f"{head}a%20b"),
    ]


def test_call_with_a_mark_is_refused_unless_it_reads_the_text() -> None:
    arguments = {"a": f"x{marked(300, HANDLE)}"}
    names = ("write", "read_text", "mcp__pagefault__read_text", "read_text_2")
    assert [find_blocking_mark(name, arguments) for name in names] == [
        *(HANDLE, None, None, HANDLE),
    ]
    assert cut_arguments_refusal(HANDLE) == (
        "The call was not run: a text in its arguments is only the beginning of one, copied from "
        'where "[... characters left out ...]" stands. Call read_text with ref '
        f'"{HANDLE}" first, then make this call again with the whole text.'
    )
