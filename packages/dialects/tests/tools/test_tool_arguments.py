"""Arguments of a model's call are read in every spelling that models use."""

import pytest

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import Level
from pagefault_dialects.tools.tool_arguments import (
    TOOLS,
    ListMediaArguments,
    PageFaultArguments,
    ReadTextArguments,
    SavePageArguments,
    SearchPagesArguments,
    ToolArguments,
    ViewMediaArguments,
    WrongArgumentsError,
    read_arguments,
    read_call,
)

CALLS: list[tuple[str, JsonValue, ToolArguments]] = [
    ("page_fault", {"page_id": "a"}, PageFaultArguments(page_id="a")),
    ("page_fault", {"page_id": "a"}, PageFaultArguments(page_id="a", target_level=Level.ABSTRACT)),
    *(
        (
            "page_fault",
            {"page_id": "a", "target_level": level},
            PageFaultArguments(page_id="a", target_level=Level.REDUCED),
        )
        for level in (1, 1.0, "1", " 1\n", "reduced")
    ),
    ("search_pages", {"query": "a", "limit": None}, SearchPagesArguments(query="a", limit=5)),
    (
        "search_pages",
        {"query": "a" * 1_000, "limit": 20},
        SearchPagesArguments(query="a" * 1_000, limit=20),
    ),
    ("read_text", '{"ref": "a", "lines": "1-2"}', ReadTextArguments(ref="a", lines="1-2")),
    ("view_media", {"ref": "a"}, ViewMediaArguments(ref="a", level=Level.FULL)),
    ("save_page", None, SavePageArguments()),
    ("save_page", " \n", SavePageArguments()),
    ("list_media", {}, ListMediaArguments()),
    ("list_media", {f"{number}": None for number in range(100)}, ListMediaArguments()),
    *(
        (name, {}, ListMediaArguments())
        for name in ("list_media", "memory.list_media", "mcp__memory__list_media")
    ),
    *((name, {}, ListMediaArguments()) for name in ("a/b/list_media", "memory:list_media")),
    ("save_page", '{"caption": "a\\ud800"}', SavePageArguments(caption="a\ufffd")),
    ("save_page", '{"caption": "a\ud800"}', SavePageArguments(caption="a?")),
]


def test_calls_are_read_as_their_arguments() -> None:
    assert [(name, value, read_call(name, value)) for name, value, _ in CALLS] == CALLS


def describe_error(name: str, arguments: JsonValue) -> str:
    with pytest.raises(WrongArgumentsError) as error:
        read_call(name, arguments)
    return str(error.value)


ACCEPTED = "list_media takes session, kind."
CUT = f"its arguments are no JSON object, they were cut off. Send them again, whole. {ACCEPTED}"
NO_JSON = (
    "its arguments are no JSON object. Send one and nothing else, with names and texts in double "
    f'quotes, as in {{"query": "red sunset", "limit": 5}}. {ACCEPTED}'
)
NO_OBJECTS: list[JsonValue] = [[], 1, "[1]", '"a"']
ERRORS: list[tuple[JsonValue, str]] = [
    *((value, f"its arguments are no object. {ACCEPTED}") for value in NO_OBJECTS),
    *((value, CUT) for value in ('{"a', ' {"a": 1', '{"a": {"b": 1} ,', "{ \n")),
    *(
        (value, NO_JSON)
        for value in ("a", '{"a": 1}}', '{"a": 1} b}', "```{}", "{a: 1}", '{"a"} \n')
    ),
    ("[" * 65 + "]" * 65, f"its arguments are nested too deep, or too many. {ACCEPTED}"),
    (f"[{'1,' * 10_000}1]", f"its arguments are nested too deep, or too many. {ACCEPTED}"),
    ("[" * 64 + "]" * 64, f"its arguments are no object. {ACCEPTED}"),
    ({f"{number}": None for number in range(101)}, f"it has 101 arguments. {ACCEPTED}"),
    (
        {"b" * 80: 1, "kind": "film", "session": 5, "a": 1, "c": 2},
        "session has to be a name that starts with a letter or digit and has up to 128 of A-Z a-z "
        "0-9 . _ : - (Another session's; null: this); kind has to be one of image, audio, video, "
        f'binary, text; "{"b" * 61}…" is no argument of list_media; and 2 more. {ACCEPTED}',
    ),
]


def test_error_says_what_is_wrong_and_what_is_accepted() -> None:
    found = [(value, describe_error("list_media", value)) for value, _ in ERRORS]
    assert found == [(value, f"The call was not run: {reason}") for value, reason in ERRORS]


def test_unknown_tool_is_refused_with_the_names_of_all() -> None:
    names = ["other", "list_media_", "list_media.a", "a-list_media", ""]
    assert {describe_error(name, {}) for name in names} == {
        "There is no such tool. There are page_fault, search_pages, read_text, view_media, "
        "save_page, list_media."
    }
    assert ", ".join(TOOLS) in describe_error("other", {})


def test_arguments_are_parsed_for_comparisons_if_that_is_possible() -> None:
    values: list[tuple[JsonValue, JsonValue]] = [
        ('{"a": [1]}', {"a": [1]}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("[1]", [1]),
        (None, {}),
        ("", {}),
        ("no JSON", "no JSON"),
        ('{"a', '{"a'),
        (5, 5),
    ]
    assert [(value, read_arguments(value)) for value, _ in values] == values


def test_number_that_is_no_level_is_refused() -> None:
    for level in (7, 1.5, "high", True):
        assert describe_error("view_media", {"ref": "a", "level": level}) == (
            "The call was not run: level has to be a whole number (0 the medium (default), 2 words "
            "only). view_media takes ref, level."
        )
