"""Errors of arguments: the argument, its expected form, and an example."""

import pytest

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import Level
from pagefault_dialects.tools.tool_arguments import (
    PageFaultArguments,
    WrongArgumentsError,
    read_call,
)

TAKEN = {
    "page_fault": "page_fault takes page_id, target_level.",
    "search_pages": "search_pages takes query, modality, limit.",
    "read_text": "read_text takes ref, offset, limit, lines, grep, pointer.",
    "save_page": "save_page takes content, ref, caption, page_type, pinned.",
    "list_media": "list_media takes session, kind.",
}
CUT = "its arguments are no JSON object, they were cut off. Send them again, whole."
NO_OBJECT = (
    "its arguments are no JSON object. Send one and nothing else, with names and texts in double "
    'quotes, as in {"query": "red sunset", "limit": 5}.'
)
LEVELS = "a whole number (0 full, 1 reduced, 2 abstract (default), 3 reference)"


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        (
            "page_fault",
            {},
            "page_id is missing, which has to be a text (As listed, such as img_001).",
        ),
        (
            "page_fault",
            {"page_id": 5, "target_level": 7},
            "page_id has to be a text (As listed, such as img_001); target_level has to be "
            f"{LEVELS}.",
        ),
        ("page_fault", {"page_id": "x", "level": 1}, '"level" is no argument of page_fault.'),
        (
            "search_pages",
            {"query": "", "modality": "film", "limit": "many"},
            "query has to be a text of 1 to 1000 characters (A few words); modality has to be one "
            "of text, image, audio, video, structured; limit has to be a whole number from 1 to 20 "
            "(Hits, 5 by default).",
        ),
        (
            "read_text",
            {"ref": "a", "offset": -1, "limit": 0},
            "offset has to be a whole number from 0 on (First character); limit has to be a whole "
            "number from 1 on (Characters, 6000 at most).",
        ),
        (
            "save_page",
            {"content": "", "page_type": "note", "caption": 4, "pinned": "maybe"},
            "content has to be a text that is not empty (The text to remember); caption has to be "
            "a text (One line to find it by); page_type has to be one of transcript, summary, "
            "artifact, claim, procedure, index; and 1 more.",
        ),
        (
            "list_media",
            {"session": "my chat"},
            "session has to be a name that starts with a letter or digit and has up to 128 of A-Z "
            "a-z 0-9 . _ : - (Another session's; null: this).",
        ),
        ("page_fault", '{"page_id": "img', CUT),
        ("page_fault", "img_001", NO_OBJECT),
        ("page_fault", "{'page_id': 'img_001'}", NO_OBJECT),
        ("page_fault", "[" * 100 + "]" * 100, "its arguments are nested too deep, or too many."),
    ],
)
def test_error_names_the_wrong_argument_and_its_expected_form(
    tool: str, arguments: JsonValue, reason: str
) -> None:
    with pytest.raises(WrongArgumentsError) as error:
        read_call(tool, arguments)
    assert str(error.value) == f"The call was not run: {reason} {TAKEN[tool]}"


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}```", " ```JSON {} ``` \n"])
def test_json_in_a_fence_is_read(fence: str) -> None:
    text = fence.replace("{}", '{"page_id": "img_001", "target_level": 0}')
    expected = PageFaultArguments(page_id="img_001", target_level=Level.FULL)
    assert read_call("page_fault", text) == expected


def test_call_with_very_many_arguments_is_refused_with_one_line() -> None:
    with pytest.raises(WrongArgumentsError) as refused:
        read_call("list_media", {f"a{number}": 1 for number in range(101)})
    expected_arguments = TAKEN["list_media"]
    assert str(refused.value) == f"The call was not run: it has 101 arguments. {expected_arguments}"
