"""Dumps of real packages are read once and correctly, and equal those of the corpus."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.dialects.tests.dialects import conversations, corpus

_FOLDER = Path(__file__).parent
_PYTHON = _FOLDER.parents[1] / ".venv" / "peers-dialects" / "bin" / "python"


def _dialects(file: Path) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        name = json.loads(line)["name"]
        kept.setdefault(name.rpartition("-")[0], []).append(line)
    return kept


_KEPT = {file.stem: _dialects(file) for file in (corpus.FILE, *conversations.FILES)}


def _wrong(kind: str, built: str) -> Iterator[str]:
    if kind == corpus.FILE.stem:
        results = corpus.read_cases(built)
        yield from (
            result.name for result in results if corpus.observe(result.value) != result.expect
        )
    else:
        for case in conversations.read_cases(built):
            if faults := conversations.faults_of(case):
                yield f"{case.name}: {'; '.join(faults)}"


@pytest.mark.parametrize(
    ("kind", "dialect"), [(kind, dialect) for kind in _KEPT for dialect in _KEPT[kind]]
)
def test_what_a_package_dumps_is_told_once_and_truly(kind: str, dialect: str) -> None:
    built = subprocess.run(  # noqa: S603 - the package, as it is
        [_PYTHON, _FOLDER / "build.py", kind, dialect], check=True, capture_output=True, text=True
    ).stdout
    package = json.loads(built.partition("\n")[0])["package"]
    wrong = [*_wrong(kind, built)]
    assert not wrong, f"{dialect} of {package}: {', '.join(wrong)}"
    assert built.splitlines() == _KEPT[kind][dialect], (
        f"{dialect} of {package} is dumped in other ways now: make dialects-corpus"
    )
