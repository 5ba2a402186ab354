"""`docs/security.md` and `docs/durability.md` list the promises that tests carry, and no others.

A promise is a marker on the test that shows it:

    @pytest.mark.promise(
        "durability.md#the-power-goes",           the page and the heading it stands under
        "A blob's file is synced, then renamed",  the promise, in words that need no context
        kept_by="app/stores/blobs/temporary_file.py", the file or folder that keeps it
        tried="the recorded order of calls",      how much the test tries
    )

The tables are generated from these: `make promises` writes them, the tests here compare.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.contract.test_requirements import functions_of, marked
from tests.kit.process import ROOT

PAGES = ("durability.md", "security.md")
_HEAD = "| promise | kept by | test | tried |\n|---|---|---|---|\n"
_SECTION = re.compile(r"^## (.+)\n(?:(?!## ).*\n)*?(?P<table>\| promise \|.*\n(?:\|.*\n)*)", re.M)


@dataclass(frozen=True, order=True)
class Promise:
    """A row of a table; rows about the same module stand together."""

    section: str
    kept_by: str
    path: str
    line: int
    test: str
    words: str
    tried: str

    def row(self) -> str:
        """Return the promise as a line of Markdown."""
        return f"| {self.words} | `{self.kept_by}` | `{self.path}::{self.test}` | {self.tried} |\n"


def promises() -> Iterator[Promise]:
    """Yield what the markers of all tests say, without importing any of them."""
    for path in marked("promise"):
        for function in functions_of(path):
            for decorator in function.decorator_list:
                match decorator:
                    case ast.Call(func=ast.Attribute(attr="promise"), args=[section, words]):
                        named = {
                            str(keyword.arg): ast.literal_eval(keyword.value)
                            for keyword in decorator.keywords
                        }
                        yield Promise(
                            section=ast.literal_eval(section),
                            words=ast.literal_eval(words),
                            path=str(path.relative_to(ROOT)),
                            line=function.lineno,
                            test=function.name,
                            **named,
                        )


PROMISES = sorted(promises())


def anchor(heading: str) -> str:
    """Return the anchor that a heading gets on a page."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def tables(page: str) -> dict[str, str]:
    """Return the tables of promises of a page, by the heading each stands under."""
    text = (ROOT / "docs" / page).read_text()
    return {f"{page}#{anchor(match[1])}": match["table"] for match in _SECTION.finditer(text)}


def written(page: str) -> str:
    """Return the text of a page with its tables made anew."""

    def section(match: re.Match[str]) -> str:
        name = f"{page}#{anchor(match[1])}"
        rows = "".join(promise.row() for promise in PROMISES if promise.section == name)
        return match[0].removesuffix(match["table"]) + _HEAD + rows

    return _SECTION.sub(section, (ROOT / "docs" / page).read_text())


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_made_of_the_markers(page: str, pytestconfig: pytest.Config) -> None:
    text = written(page)
    if pytestconfig.getoption("write_documents"):
        (ROOT / "docs" / page).write_text(text)
    assert text == (ROOT / "docs" / page).read_text(), "run `make promises`, read the difference"


def test_every_promise_has_a_table_and_every_table_has_promises() -> None:
    assert {promise.section for promise in PROMISES} == {
        name for page in PAGES for name in tables(page)
    }


def test_no_promise_is_made_twice() -> None:
    assert len({promise.words for promise in PROMISES}) == len(PROMISES) > 0


def test_promises_are_kept_by_modules_that_exist() -> None:
    lost = {
        promise.words: promise.kept_by
        for promise in PROMISES
        if not (ROOT / promise.kept_by).exists()
    }
    assert lost == {}


def test_rows_of_promises_have_words_in_each_of_four_columns() -> None:
    odd = [
        promise.words
        for promise in PROMISES
        if promise.row().count("|") != 5 or not promise.words or not promise.tried
    ]
    assert odd == []
