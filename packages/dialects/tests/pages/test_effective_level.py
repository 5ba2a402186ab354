"""The level that a page reports, whether a fuller one exists, and the language of code."""

from typing import Any

import pytest

from packages.dialects.tests.pages.page_factory import URL, make_page, text
from pagefault_dialects.model.page import Body, Level, Page
from pagefault_dialects.pages.effective_level import EffectiveLevel, effective_level
from pagefault_dialects.pages.languages import fenced, language_of

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
    assert [effective_level(page, level) for level in Level] == expected


def test_transcript_is_less_than_a_recording_at_full() -> None:
    page = make_page("p", Body("url", "https://x/y.mp3"), **RECORDED)
    assert effective_level(page, Level.REDUCED, with_recordings=True) == EffectiveLevel(
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
    ids=str,
)
def test_language_comes_from_metadata_type_or_name(
    fields: dict[str, Any], language: str | None
) -> None:
    assert language_of(make_page("p", text("x"), **fields)) == language


def test_fence_is_longer_than_any_run_of_backticks_in_the_code() -> None:
    assert fenced("a````b\n", "r") == "`````r\na````b\n`````"
    assert fenced("", "r") == "```r\n```"


@pytest.mark.parametrize(("mime_type", "language"), [("text/plain", None), (None, "javascript")])
def test_id_of_a_page_is_no_file_name_where_its_text_is_prose(
    mime_type: str | None, language: str | None
) -> None:
    page = make_page("notes-on-node.js", text("x"), mime_type=mime_type)
    assert language_of(page) == language
