"""The Python of the documentation runs as it stands: each page is a program, top to bottom.

Each runs in an interpreter of its own, beside a service of its own, in a folder with the files that
it names. A snippet that does not run is marked on its page by a comment, `<!-- not run: why -->`.
"""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.python.tests.providers import ANSWER, ARGUMENTS, answer_as_model
from clients.python.tests.rendered import lines_of
from clients.python.tests.servers import ROOT, ScriptedService, serving
from pagefault_client import Pagefault

PAGES = [
    page
    for pattern in ("*.md", "docs/**/*.md", "clients/*/README.md", "clients/*/*/README.md")
    for page in sorted(ROOT.glob(pattern))
]
SNIPPET = re.compile(r"^(<!-- not run: [^\n]+ -->\n+)?```python\n(.*?)^```$", re.M | re.S)
NAMED = {str(page.relative_to(ROOT)): SNIPPET.findall(page.read_text()) for page in PAGES}
RUN = {name: [code for mark, code in found if not mark] for name, found in NAMED.items()}
# Pages with endless programs, which another test runs.
NOT_RUN_HERE = {"docs/events.md"}
# Calls of functions that a page only defines.
AFTERWARDS = {
    "docs/results.md": """
import asyncio, json
from mcp import Client
from mcp.server import MCPServer

server = MCPServer("browser")
server.add_tool(lambda url: f"OpenedSource {url}.", name="browser.record")

async def main():
    async with Client(server) as client:
        print(json.dumps(await call_and_store(client)))

asyncio.run(main())
""",
}


AGENTS = ["langchain", "openai-agents", "pydantic-ai"]


def run(name: str, url: str, folder: Path, **variables: str) -> str:
    program = "\n".join(RUN[name]).replace("http://localhost:8000", url)
    path = folder / "page.py"
    path.write_text(program + AFTERWARDS.get(name, ""))
    done = subprocess.run(  # noqa: S603 - our own pages
        [sys.executable, "-W", "error", str(path)],
        env={**os.environ, "PAGEFAULT_URL": url, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, png: bytes) -> Path:
    """A folder with the files that the pages name."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("report.txt", "Ten sheep.")
    (tmp_path / "reports.zip").write_bytes(made.getvalue())
    (tmp_path / "shop.png").write_bytes(png)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    sorted(
        {name for name, code in RUN.items() if code}
        - NOT_RUN_HERE
        - {f"docs/start/{name}.md" for name in AGENTS}
    ),
)
def test_python_of_a_page_runs_as_it_stands(name: str, folder: Path) -> None:
    with serving(folder / "data") as url, Pagefault(url) as pf:
        pf.session("demo").append({"role": "user", "content": "What is the time?"})
        printed = run(name, url, folder)
        if name == "docs/clients/python.md":
            assert "['report.txt']" in printed
            tools = [item["toolName"] for item in pf.tool_results.list("demo")]
            assert sorted(tools) == ["shot", "time"]
        if name == "docs/results.md":
            (record,) = pf.tool_results.list("demo")
            assert json.loads(printed)["id"] == record["id"]


@pytest.mark.parametrize("name", AGENTS)
def test_agent_of_a_page_runs_with_a_provider_that_answers(
    name: str, folder: Path, scripted: Callable[..., ScriptedService]
) -> None:
    provider = scripted(answer_as_model)
    with serving(folder / "data") as url, Pagefault(url) as pf:
        printed = run(
            f"docs/start/{name}.md",
            url,
            folder,
            OPENAI_BASE_URL=f"{provider.url}/v1",
            OPENAI_API_KEY="stub",
            OPENAI_AGENTS_DISABLE_TRACING="1",
        )
        assert printed == f"{ANSWER}\n"
        question, call, result, *_, answer = lines_of(pf.session("shop"))
        assert (question, call) == (
            "user: What does the shop sell?",
            f"call_1: shot{ARGUMENTS}",
        )
        assert result.startswith("call_1: ")
        assert answer == f"assistant: {ANSWER}"
        assert [item["kind"] for item in pf.resources.list()] == ["image"]
    assert "page_fault" in str(json.loads(provider.requests[0].body)["tools"])
    assert "image/png;base64" in provider.requests[-1].body.decode()


def test_pages_and_their_snippets_are_found() -> None:
    run_snippets = sum(map(len, RUN.values()))
    fragments = sum(map(len, NAMED.values())) - run_snippets
    print(f"Python snippets: {run_snippets} run, {fragments} not")  # noqa: T201 - shown by `-rP`
    assert len(RUN["docs/clients/python.md"]) == 11
    assert run_snippets >= 14
    assert fragments == 0
