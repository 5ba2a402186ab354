"""Results that real packages dump are told once and truly, and equal those of the corpus."""

import subprocess
from pathlib import Path

import pytest

from packages.dialects.tests.dialects.corpus import FILE, observe, read_cases

_FOLDER = Path(__file__).parent
_PYTHON = _FOLDER.parents[1] / ".venv" / "peers-dialects" / "bin" / "python"
_KEPT: dict[str, list[str]] = {}
for _line in FILE.read_text().splitlines():
    _KEPT.setdefault(read_cases(_line)[0].name.rpartition("-")[0], []).append(_line)


@pytest.mark.parametrize("dialect", _KEPT)
def test_what_a_package_dumps_is_told_once_and_truly(dialect: str) -> None:
    built = subprocess.run(  # noqa: S603 - the package, as it is
        [_PYTHON, _FOLDER / "build.py", dialect], check=True, capture_output=True, text=True
    ).stdout
    cases = read_cases(built)
    wrong = [case.name for case in cases if observe(case.value) != case.expect]
    assert not wrong, f"{dialect} of {cases[0].package}: {', '.join(wrong)}"
    assert built.splitlines() == _KEPT[dialect], (
        f"{dialect} of {cases[0].package} is dumped in other ways now: make dialects-corpus"
    )
