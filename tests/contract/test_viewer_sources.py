"""The sources of the viewer: what is shown there is text, and never markup or a program."""

import re

import pytest

from tests.kit.process import ROOT

PACKAGES = ROOT / "clients" / "typescript"
# The viewer is made of its own sources and of the packages that everybody can use.
SOURCES = (ROOT / "web" / "src", PACKAGES / "client" / "src", PACKAGES / "react" / "src")
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|setHTML|document\.write"
    r"|DOMParser|createContextualFragment|srcDoc|\beval\(|new Function\(",
    re.IGNORECASE,
)


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "The viewer never makes markup of a text (no `innerHTML` or the like)",
    kept_by="web/src",
    tried="every source file",
)
def test_viewer_makes_no_markup_and_no_program_of_a_text() -> None:
    paths = [path for folder in SOURCES for path in sorted(folder.rglob("*"))]
    read = [path for path in paths if path.suffix in (".ts", ".tsx", ".css")]
    assert len(read) > 50
    found = {
        str(path.relative_to(ROOT)): MARKUP.findall(text)
        for path in read
        if MARKUP.search(text := path.read_text())
    }
    assert found == {}
