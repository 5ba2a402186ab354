"""`docs/event-loop.md` lists the folders of code that hand work to threads and processes."""

import ast
import re
from pathlib import Path

import pytest

from app.services.concurrency.large_work import is_quick
from pagefault_dialects.json.large_json import PIECE_CHARS, PIECE_NODES
from tests.kit.process import ROOT

DOCUMENT = ROOT / "docs" / "event-loop.md"
_HOUSES = (ROOT / "app", *ROOT.glob("packages/*/src/*"))
_ROW = re.compile(r"^\| `((?:app|pagefault_[a-z]+)/(?:[a-z_]+/)*)` \|", re.MULTILINE)
# What a call that leaves the loop ends with.
_LEAVING = {"to_thread.run_sync", "run_in_loop_if", "work.run", "resolver.run", "Popen"}


def leaves_the_loop(module: Path) -> bool:
    """Return whether a call inside does."""
    calls = (node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func).endswith(tuple(_LEAVING)) for call in calls)


@pytest.mark.slow
def test_every_folder_whose_work_leaves_the_loop_is_listed_and_no_other() -> None:
    leaving = {
        f"{path.parent.relative_to(house.parent)}/"
        for house in _HOUSES
        for path in house.rglob("*.py")
        if path.relative_to(house).parts[0] not in {"cli", "commands"} and leaves_the_loop(path)
    }
    assert _ROW.findall(DOCUMENT.read_text()) == sorted(leaving)


def test_sizes_are_those_of_the_code() -> None:
    document = DOCUMENT.read_text()
    assert f"above {PIECE_NODES:,} commas and brackets" in document
    assert f"above {PIECE_CHARS:,} characters" in document
    assert "up to 16 KiB of JSON with at most 256 commas and brackets" in document
    assert is_quick(b'"' + b"," * 256 + b"." * (16 * 1024 - 257))
    assert not is_quick(b"," * 257)
    assert not is_quick(b"." * (16 * 1024 + 1))
