"""The lines of README and quickstart run from top to bottom in one data directory, twice."""

import os
import re
import subprocess
import sys
from pathlib import Path

from app.config.settings import Settings
from tests.kit.process import ROOT
from tests.kit.servers import serving

PAGES = "\n".join((ROOT / name).read_text() for name in ("README.md", "docs/quickstart.md"))
FENCED = re.findall(r"^```(\w*)\n(.*?)\n```$", PAGES, re.MULTILINE | re.DOTALL)
BLOCKS = [text for language, text in FENCED if not language]
SECONDS = 60


def commands() -> list[str]:
    """Return the commands that use a service or its stores, each with its continuation lines."""
    one = r"^(?:\$ )?((?:curl|\.venv/bin/pagefault (?:ingest|page)) (?:[^'\n\\]|\\\n|'[^']*')*)$"
    return [line for block in BLOCKS for line in re.findall(one, block, re.MULTILINE)]


def run(command: str, folder: Path, address: str) -> str:
    """Run a command against the service of the test, and return what it prints."""
    program = (
        command.replace("localhost:8000", address)
        .replace("curl ", "curl --fail-with-body --noproxy '*' ", 1)
        .replace(".venv/bin/pagefault", str(Path(sys.executable).parent / "pagefault"))
    )
    if " -sN " in program:
        # A stream has no end.
        program += " | head -n 3"
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "-ec", program],
        cwd=folder,
        env={**os.environ, "PAGEFAULT_DATA_DIR": str(folder / "data")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_lines_of_the_front_page_run_from_top_to_bottom_twice(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = commands()
    assert len(lines) >= 12
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", auth="none", log_level="error")
    with serving(settings) as service:
        address = service.base_url.removeprefix("http://")
        first, second = ([run(line, tmp_path, address) for line in lines] for _ in range(2))
    assert first[0] == second[0]
    stored = [output for line, output in zip(lines, first, strict=True) if "ingest" in line]
    assert all("was stored before" in output for output in stored)
    assert len(stored) == 1
    page, screenshot = tmp_path / "img_001.png", tmp_path / "screenshot.png"
    assert page.read_bytes() == screenshot.read_bytes()


def test_lines_of_the_front_page_ask_no_other_host() -> None:
    text = "\n".join(commands())
    assert set(re.findall(r"(?<![\w/])(\w[\w.-]*)(?::\d+)?/api/", text)) == {"localhost"}
    assert re.findall(r"https?://[^\s'\"]+", text) == []
