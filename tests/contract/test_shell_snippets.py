"""The commands of the documentation run as they stand, each page from top to bottom.

Each page has a service and a folder of its own. Its reader has followed the README and the
quickstart before, so their requests run first. A snippet that does not run is marked on its page by
a comment, `<!-- not run: why -->`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from app.config.settings import Settings
from tests.kit.media import pdf
from tests.kit.process import ROOT, environment
from tests.kit.servers import serving

pytestmark = pytest.mark.engines("embedded")

PAGES = [
    page
    for pattern in (
        "README.md",
        "docs/*.md",
        "docs/start/*.md",
        "docs/clients/*.md",
        "clients/**/README.md",
    )
    for page in sorted(ROOT.glob(pattern))
    if "node_modules" not in page.parts
]
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n+)?"
    r"(?P<indent> *)```(?P<language>[\w-]*)\n(?P<text>.*?)\n(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
SHELL = {"sh", "bash"}
# Without a language, a block is commands, settings, or what something prints.
COMMAND = re.compile(
    r"(aws|claude|curl|dd|docker|export|granian|make|npm|prometheus|python3|umask|"
    r"(\.venv/bin/)?(pagefault|pip)) |[A-Z]+=\$\("
)
# What is sent to port 8000 arrives at the service of the test. A stream has no end, so only its
# first line is read. `pagefault doctor` has status 1 if something is wrong, as its page says.
PRELUDE = """
set -E -o pipefail
curl() {{
  local options=(--silent --show-error --fail-with-body --noproxy '*')
  options+=(--connect-to localhost:8000:{address} --connect-to 127.0.0.1:8000:{address})
  case "$*" in
    "-sN "*) [[ $(command curl "${{options[@]}}" "$@" | head -n 1) == @(id|retry):* ]] ;;
    *) command curl "${{options[@]}}" "$@" ;;
  esac
}}
trap 'status=$?; [[ $status == 1 && $BASH_COMMAND == "pagefault doctor "* ]] || exit $status' ERR
"""
REFUSED_HISTORY = """{"messages": [
  {"role": "user", "content": "What time is it?"},
  {"role": "assistant", "content": null, "tool_calls": [
    {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]},
  {"role": "user", "content": "Well?"}]}"""


def snippets(page: Path) -> list[tuple[str, str | None]]:
    """The commands of a page, each with the reason why it does not run, if there is one."""
    blocks = [
        (found["language"], dedent(found["text"]), found["why"])
        for found in FENCE.finditer(page.read_text())
    ]
    return [
        (text, why)
        for language, text, why in blocks
        if language in SHELL or (not language and COMMAND.match(text))
    ]


NAMED = {str(page.relative_to(ROOT)): snippets(page) for page in PAGES}
RUN = {name: [text for text, why in found if why is None] for name, found in NAMED.items()}
# The pages that a reader has followed before any other.
FIRST = ("README.md", "docs/quickstart.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the pages name."""
    for name in (".venv", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "report.pdf").write_bytes(pdf())
    (tmp_path / "talk.mp4").write_bytes(b"Ten sheep.")
    (tmp_path / "request.json").write_text(REFUSED_HISTORY)
    (tmp_path / ".cursor").mkdir()
    servers = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'
    (tmp_path / ".cursor" / "mcp.json").write_text(servers)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name, texts in RUN.items() if texts))
def test_commands_of_a_page_run_as_they_stand(name: str, folder: Path) -> None:
    settings = Settings(_env_file=None, data_dir=folder / "data", auth="none", log_level="error")
    pages_before = FIRST[: FIRST.index(name)] if name in FIRST else FIRST
    before = [text for page in pages_before for text in RUN[page] if "pagefault" not in text]
    with serving(settings) as service:
        prelude = PRELUDE.format(address=service.base_url.removeprefix("http://"))
        program = "\n".join([prelude, *before, *RUN[name]])
        variables = {
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PAGEFAULT_DATA_DIR": str(folder / "data"),
        }
        done = subprocess.run(  # noqa: S603 - our own pages
            ["/bin/bash", "-xc", program],
            cwd=folder,
            env=environment(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, f"{done.stderr[-2000:]}\n{done.stdout[-2000:]}"


def test_most_commands_run() -> None:
    run = sum(map(len, RUN.values()))
    fragments = sum(map(len, NAMED.values())) - run
    print(f"blocks of commands: {run} run, {fragments} not")  # noqa: T201 - shown by `-rP`
    assert run > fragments
