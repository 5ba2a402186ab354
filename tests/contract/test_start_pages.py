"""The pages of `docs/start/`, one for each door: short, listed, and run.

Three runners take the snippets of a page by their language, each page from top to bottom:

| language | runner | environment |
|---|---|---|
| `sh` | `tests/contract/test_shell_snippets.py` | the tests of the service |
| `python` | `clients/python/tests/test_documents.py` | `clients/python/requirements-test.lock` |
| `ts` | `clients/typescript/test/documents.test.ts` | `clients/typescript/package.json` |

So a page for a framework has no runner of its own: its package is in one of these environments. A
block of another language, such as the configuration of a host, has a test with the program that
reads it. Only a line that installs something may have the mark `<!-- not run: it installs -->`.
"""

import re
from pathlib import Path

import pytest

from tests.kit.process import ROOT

pytestmark = pytest.mark.engines("embedded")

MAX_LINES = 40
PAGES = sorted((ROOT / "docs" / "start").glob("*.md"))
FENCE = re.compile(r"^(<!-- not run: [^\n]+ -->\n\n)?```(\w*)\n(.*?)^```$", re.M | re.S)
RUN = {"sh", "python", "ts"}
# Read by a host and not run: the test of its page reads them.
CONFIGURATION = {"json", "toml"}
INSTALLATION = re.compile(r"(pip|npm|uv) \S+ .+|uvx .+|pipx .+")


def snippets(page: Path) -> list[tuple[str, str, str]]:
    """Return the mark, the language and the text of each snippet of a page."""
    return FENCE.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_of_a_door_is_short_and_listed(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= MAX_LINES
    assert f"(start/{page.name})" in (ROOT / "docs" / "README.md").read_text()
    assert f'"docs/start/{page.name}"' in (ROOT / "website" / "zensical.toml").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_snippet_of_a_door_is_run(page: Path) -> None:
    found = snippets(page)
    run = [language for mark, language, _ in found if not mark]
    left_out = [line for mark, _, text in found if mark for line in text.splitlines()]
    assert set(run) <= RUN | CONFIGURATION
    assert set(run) & RUN
    assert [line for line in left_out if not INSTALLATION.fullmatch(line)] == []
