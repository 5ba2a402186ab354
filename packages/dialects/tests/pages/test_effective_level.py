"""The level that a page reports, whether a fuller one exists, and the language of code."""

from typing import Any

import pytest

from packages.dialects.tests.pages.page_factory import (
    IMAGE,
    INLINE_IMAGE,
    RECORDING,
    SMALL_IMAGE,
    URL,
    make_page,
    media,
    text,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import Body, Level, Page
from pagefault_dialects.pages.effective_level import (
    EffectiveLevel,
    find_attached_image,
    find_effective_level,
    read_whole_text,
)
from pagefault_dialects.pages.languages import add_fences, language_of, visible_language

LONG = "One sentence. " * 100
RECORDED: dict[str, Any] = {
    "modality": "audio",
    "transcript": "So the key insight is locality, we found.",
}

CASES: dict[str, tuple[Page, list[tuple[int, bool]]]] = {
    "short text": (make_page("p", text("Hi")), [(0, False)] * 4),
    "long text": (
        make_page("p", text(LONG)),
        [(0, False), (0, False), (2, True), (3, True)],
    ),
    "small data": (
        make_page("p", Body("json", {"a": 1}), modality="structured"),
        [(0, False)] * 4,
    ),
    "recording": (
        make_page("p", Body("url", "https://x/y.mp3"), **RECORDED),
        [(0, False), (0, False), (0, False), (3, True)],
    ),
    "image at an address": (
        make_page("p", Body("url", URL), modality="image", caption="A pond with three sheep and a"),
        [(0, False), (1, False), (2, True), (3, True)],
    ),
    "image that is words": (
        make_page("p", text("A sunset"), modality="image"),
        [(0, False)] * 4,
    ),
    "nothing": (make_page("p", Body("none")), [(0, False)] * 3 + [(3, False)]),
    "content that was compressed before it came": (
        make_page("p", text("A sunset"), modality="image", compression_level=2),
        [(0, False), (0, False), (2, False), (2, False)],
    ),
}


@pytest.mark.parametrize(("page", "levels"), CASES.values(), ids=CASES)
def test_effective_level_is_the_fullest_one_with_the_same_content(
    page: Page, levels: list[tuple[int, bool]]
) -> None:
    expected = [EffectiveLevel(Level(level), has_more) for level, has_more in levels]
    assert [find_effective_level(page, level) for level in Level] == expected


def test_transcript_is_less_than_a_recording_at_full() -> None:
    page = make_page("p", Body("url", "https://x/y.mp3"), **RECORDED)
    assert find_effective_level(page, Level.REDUCED, with_recordings=True) == EffectiveLevel(
        Level.REDUCED, True
    )


@pytest.mark.parametrize(
    ("fields", "language"),
    [
        ({"mime_type": "text/x-python"}, "python"),
        ({"mime_type": "application/javascript; charset=utf-8"}, "javascript"),
        ({"mime_type": "text/x-c++src"}, "cpp"),
        ({"metadata": {"language": " TypeScript"}}, "typescript"),
        ({"metadata": {"language": "rust"}, "mime_type": "text/x-python"}, "rust"),
        ({"metadata": {"filename": "src/main.go"}}, "go"),
        ({"metadata": {"language": "cs"}}, None),
        ({"metadata": {"language": "en"}}, None),
        ({"metadata": {"language": ["python"]}}, None),
        ({"mime_type": "text/plain"}, None),
        ({"mime_type": "text/x-log"}, None),
        ({"metadata": {"language": "ts"}}, None),
        ({"metadata": {"language": "sh"}}, None),
        ({"metadata": {"path": "C:\\My Files\\run.sh"}}, "bash"),
        ({"metadata": {"filename": "a.ts"}}, "typescript"),
        ({"metadata": {"name": "Introduction to Node.js"}}, None),
        ({"metadata": {"path": "/home/My Files/Introduction to Node.js"}}, None),
        ({"metadata": {"name": "node.js"}, "mime_type": "text/markdown"}, None),
        ({"metadata": {"name": "node.js"}, "mime_type": "Text/Plain; charset=utf-8"}, None),
        ({"metadata": {"language": "python"}, "mime_type": "text/plain"}, "python"),
        ({"modality": "structured", "mime_type": "text/x-python"}, None),
    ],
)
def test_language_comes_from_metadata_type_or_name(
    fields: dict[str, Any], language: str | None
) -> None:
    assert language_of(make_page("p", text("x"), **fields)) == language


LONGEST = "a" * 4_093 + ".go"


@pytest.mark.parametrize(
    ("stored_name", "metadata", "page_id", "language"),
    [
        ("a.go", {"filename": "b.py"}, "c.rs", "go"),
        ("a.unknown", {"filename": "b", "file_name": "b.py", "name": "x.rs"}, "c.js", "python"),
        (None, {"name": 3, "path": "/src/b.RS "}, "c.js", "rust"),
        (None, {"filename": LONGEST}, "p", "go"),
        (None, {"filename": "a" + LONGEST}, "p", None),
        (None, {}, "src\\c.js", "javascript"),
        # One letter is too little for an id.
        (None, {}, "chapter.c", None),
        (None, {"filename": "chapter.c"}, "p", "c"),
        (None, {}, "no name.js", None),
    ],
)
def test_first_name_with_a_known_extension_decides(
    stored_name: str | None, metadata: dict[str, Any], page_id: str, language: str | None
) -> None:
    body = Body("text", "x", media("application/octet-stream", filename=stored_name))
    assert language_of(make_page(page_id, body, metadata=metadata)) == language


def test_type_of_the_stored_file_decides_after_the_declared_one() -> None:
    def language(declared: str | None, stored: str, name: str = "a.rs") -> str | None:
        body = Body("text", "x", media(stored, filename=name))
        return language_of(make_page("p", body, mime_type=declared))

    assert [
        language(None, "text/x-python"),
        language("text/x-go", "text/x-python"),
        language("text/x-log", "text/x-python"),
        language("text/x-log", "text/x-log"),
        # A name says nothing beside a type of prose.
        language("text/plain", "text/x-log"),
        language("text/x-log", " Text/Markdown ;charset=utf-8"),
        language("text/x-markdown", "text/x-log"),
    ] == ["python", "go", "python", "rust", None, None, None]


def test_language_is_visible_at_levels_that_are_the_code_or_derived_from_it() -> None:
    code = text("x = 1\n" * 2_000)
    fields: dict[str, Any] = {"mime_type": "text/x-python"}
    pages = [
        make_page("p", code, **fields),
        make_page("p", code, supplied={Level.ABSTRACT: text("Ones.")}, **fields),
        make_page("p", Body("none"), **fields),
    ]
    assert [[visible_language(page, level) for level in Level] for page in pages] == [
        ["python", "python", "python", None],
        ["python", "python", None, None],
        [None] * 4,
    ]


def test_fence_is_longer_than_any_run_of_backticks_in_the_code() -> None:
    assert add_fences("a````b\n", "r") == "`````r\na````b\n`````"
    assert add_fences("", "r") == "```r\n```"
    assert add_fences("`a``", "r") == "```r\n`a``\n```"
    assert add_fences("```", "r") == "````r\n```\n````"


@pytest.mark.parametrize(("mime_type", "language"), [("text/plain", None), (None, "javascript")])
def test_id_of_a_page_is_no_file_name_where_its_text_is_prose(
    mime_type: str | None, language: str | None
) -> None:
    page = make_page("notes-on-node.js", text("x"), mime_type=mime_type)
    assert language_of(page) == language


@pytest.mark.parametrize(
    ("body", "levels"),
    [
        (IMAGE, [Level.FULL]),
        (SMALL_IMAGE, [Level.FULL, Level.REDUCED]),
        (INLINE_IMAGE, [Level.FULL, Level.REDUCED]),
        (Body("url", URL), [Level.FULL, Level.REDUCED]),
        # An image that was not read is attached as it was sent.
        (Body("data", "data:image/png;base64,xx"), [Level.FULL]),
        (Body("data", "DATA:image/png;base64,xx"), [Level.FULL]),
        (Body("data", "data:text/plain,xx"), []),
        (Body("data", "data:imagery/x,xx"), []),
        (RECORDING, []),
        (text("data:image/png;base64,xx"), []),
        (Body("none"), []),
    ],
)
def test_image_is_attached_at_the_levels_that_have_one(body: Body, levels: list[Level]) -> None:
    page = make_page("p", body, modality="image")
    assert [level for level in Level if find_attached_image(page, level)] == levels
    assert all(find_attached_image(page, level) == body for level in levels)
    page = make_page("p", body, modality="text")
    assert [level for level in Level if find_attached_image(page, level)] == []


def test_smaller_image_is_attached_at_reduced() -> None:
    page = make_page("p", IMAGE, modality="image", reduced=SMALL_IMAGE)
    assert [find_attached_image(page, level) for level in Level] == [IMAGE, SMALL_IMAGE, None, None]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (make_page("p", text(LONG)), LONG),
        (make_page("p", text("A sunset"), modality="image"), "A sunset"),
        (make_page("p", IMAGE, modality="image", caption="A pond"), "A pond"),
        (make_page("p", Body("url", URL)), URL),
        (make_page("p", Body("none")), None),
        (make_page("p", Body("json", {"a": 1}), modality="structured"), '{"a":1}'),
        (make_page("p", Body("url", "https://x/y.mp3"), **RECORDED), RECORDED["transcript"]),
    ],
)
def test_whole_text_is_that_of_the_fullest_level(page: Page, words: str | None) -> None:
    assert read_whole_text(page) == words


@pytest.mark.parametrize(
    "data",
    [
        [0] * 3_000,
        ["x" * 3_000],
        {"a": {"b": ["x"] * 3_000}},
        [[]] * 3_000,
        "[" + "1," * 30_000 + "1]",
    ],
)
def test_large_data_has_more_than_its_reduced_form(data: JsonValue) -> None:
    page = make_page("p", Body("json", data), modality="structured")
    assert [find_effective_level(page, level).has_more for level in Level][1:] == [True] * 3
    assert find_effective_level(page, Level.FULL) == EffectiveLevel(Level.FULL, False)


@pytest.mark.parametrize(
    ("fields", "supplied", "levels", "words"),
    [
        ({}, {Level.REDUCED: text("Short.")}, [1, 1, 1, 1], "Short."),
        ({}, {Level.ABSTRACT: text("Abs.")}, [1, 1, 1, 1], "Abs."),
        ({}, {Level.REFERENCE: text("Ref.")}, [0, 0, 0, 3], None),
        (
            {},
            {Level.REDUCED: text("Short."), Level.ABSTRACT: text("Abs.")},
            [1, 1, 2, 2],
            "Short.",
        ),
        ({"modality": "audio"}, {Level.REDUCED: text("Short.")}, [0, 0, 0, 0], "Short."),
        ({"modality": "image"}, {Level.REDUCED: SMALL_IMAGE}, [1, 1, 0, 3], None),
        ({"modality": "image"}, {Level.ABSTRACT: text("Abs.")}, [0, 0, 0, 0], "Abs."),
    ],
)
def test_level_without_content_is_replaced_by_the_nearest_one(
    fields: dict[str, Any], supplied: dict[Level, Body], levels: list[int], words: str | None
) -> None:
    page = make_page("p", Body("none"), supplied=supplied, **fields)
    assert [find_effective_level(page, level).level for level in Level] == levels
    assert read_whole_text(page) == words
