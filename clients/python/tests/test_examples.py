"""The examples run as they are, with an interpreter that has the built package and no more."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clients.python.tests.servers import ROOT

EXAMPLES = ROOT / "clients" / "python" / "examples"
PYTHON = os.environ.get("EXAMPLES_PYTHON", sys.executable)
NAMES = ["five_minutes.py", "large_file.py", "tools_that_remember.py"]


def call(name: str, *arguments: str, url: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(  # noqa: S603 - our own examples
        [PYTHON, "-W", "error", str(EXAMPLES / name), *arguments],
        env={**os.environ, "PAGEFAULT_URL": url},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def run(name: str, url: str, folder: Path) -> list[str]:
    status, printed, complaint = call(name, url=url, folder=folder)
    assert status == 0, complaint
    return printed.splitlines()


@pytest.mark.parametrize("again", [False, True])
def test_five_minutes(url: str, tmp_path: Path, again: bool) -> None:
    printed = run("five_minutes.py", url, tmp_path)
    roles = [line.partition(" |")[0] for line in printed[:4]]
    assert roles == ["user", "assistant", "tool", "user"]
    assert printed[4:] == [
        "['image']",
        "1 message:created",
        "2 message:created",
        "3 llmservice:toolResult",
        "2 messages deleted",
    ]


def test_large_file(url: str, tmp_path: Path) -> None:
    printed = run("large_file.py", url, tmp_path)
    assert [line.split()[0] for line in printed[:2]] == ["69", "100"]
    assert printed[2].startswith("blob:")
    assert printed[3] == "['noise.bin', 'report.txt']"
    assert printed[4].startswith(f"{url}/api/resources/")


def test_tools_that_remember(url: str, tmp_path: Path) -> None:
    summary, found = run("tools_that_remember.py", url, tmp_path)
    assert int(summary.split()[0]) < 6_000
    assert re.search(r"\[text @blob:[0-9a-f]{32} 21,599 characters\]$", summary)
    assert found == "10 lines of 900"


@pytest.mark.parametrize("name", NAMES)
def test_help_of_an_example_says_what_it_needs(name: str, tmp_path: Path) -> None:
    status, printed, complaint = call(name, "--help", url="http://127.0.0.1:9", folder=tmp_path)
    assert (status, complaint) == (0, "")
    assert printed.startswith(f"usage: {name} ")
    assert "PAGEFAULT_URL" in printed


@pytest.mark.parametrize("name", NAMES)
def test_example_says_that_no_service_runs(name: str, tmp_path: Path) -> None:
    status, _, complaint = call(name, url="http://127.0.0.1:9", folder=tmp_path)
    assert status == 1
    assert "Traceback" not in complaint
    last = complaint.splitlines()[-1]
    assert re.match(r"APIConnectionError: .* no connection to http://127.0.0.1:9 ", last)
    assert last.endswith("Start the service, or set PAGEFAULT_URL to the URL of a running one")


def test_example_says_that_a_file_is_missing_or_no_zip(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ten sheep.")
    for name, words in {"no.zip": "FileNotFoundError: .*'no.zip'", "a.txt": "BadZipFile: "}.items():
        status, _, complaint = call("large_file.py", name, url=url, folder=tmp_path)
        assert status == 1
        assert re.fullmatch(rf"{words}.*\n", complaint)


def test_there_are_no_other_examples() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == NAMES
