"""The table of dialects, generated from the corpus of the tests."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

_KINDS = ("messages", "tool_results", "histories")
_HEAD = "|---|---|---|---|---|---|\n"
_AS_OPENAI = ("mistral", "ollama")
"""Dialects in the form of OpenAI, read by its module."""


def update_dialects_table(page: str, corpus: Path) -> str:
    """Return the page with an updated table: the number of objects and the package versions.

    Args:
        page: The text of the page with the earlier table.
        corpus: The folder of the objects, with a file for each kind.
    """
    packages = {kind: _read_packages(corpus / f"{kind}.jsonl") for kind in _KINDS}
    names = dict.fromkeys(name for kind in packages.values() for name in kind)
    rows = [_row(name, [packages[kind].get(name, []) for kind in _KINDS]) for name in names]
    before, _, table = page.partition(_HEAD)
    rest = table.partition("\n\n")[2]
    return f"{before}{_HEAD}{''.join(rows)}\n{rest}"


def _read_packages(file: Path) -> dict[str, list[str]]:
    """Return the package of each object in a file, by dialect."""
    packages: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        case: dict[str, Any] = json.loads(line)
        packages.setdefault(case["name"].rpartition("-")[0], []).append(case["package"])
    return packages


def _row(name: str, packages: list[list[str]]) -> str:
    counts = (str(len(package)) if package else "" for package in packages)
    versions = dict.fromkeys(package for item in packages for package in item)
    return f"| `{name}` | {_title(name)} | {' | '.join(counts)} | {', '.join(versions)} |\n"


def _title(name: str) -> str:
    """Return the first line of the module that reads a dialect."""
    if name in _AS_OPENAI:
        return "In the form of `openai-chat`"
    module = import_module(f"pagefault_dialects.dialects.{name.replace('-', '_')}")
    return (module.__doc__ or "").partition("\n")[0].rstrip(".")
