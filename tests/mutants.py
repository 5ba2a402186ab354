"""Changes the code in small ways, and counts the changes that tests notice: `make mutants`.

    python -m tests.mutants [MODULE…]     such as `json/pointers` or `stores/records/scope`

A module is tried with the tests beside it: the files in the folder of its tests that import it, or
else all of that folder. mutmut works in a copy of the tree, and chooses the tests of each function
among these. Tests of stores run on SQLite. `docs/architecture.md` shows the figures.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.kit.process import ROOT

LIBRARY = ROOT / "packages" / "dialects" / "src" / "pagefault_dialects"
RECORDS = ROOT / "app" / "stores" / "records"
WORK = ROOT / "build" / "mutants"
TOOL = ROOT / ".venv" / "mutants"
FIGURES = ROOT / "tests" / "data" / "mutants.json"
LEAST_PERCENT = 85
_TESTS_OF_RECORDS = [ROOT / "tests" / "unit" / "stores", ROOT / "tests" / "integration"]
_KILLED = {1, 3, 24, 36, 152, 255}
"""Of tests: failed, interrupted, or ended since they took too long."""

_CONFIG = """
[tool.mutmut]
source_paths = ["src", "app"]
only_mutate = ["{module}"]
also_copy = ["packages", "migrations", "openapi", "alembic.ini"]
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-p", "no:cacheprovider", "-k", "not server"]
use_git_change_detection = false
timeout_constant = 5.0
"""


def modules(names: Sequence[str]) -> Iterator[Path]:
    """Yield the files of modules by the ends of their paths; without names, all."""
    for path in sorted([*LIBRARY.rglob("*.py"), *RECORDS.rglob("*.py")]):
        is_named = any(f"/{path.with_suffix('')}".endswith(f"/{name}") for name in names)
        if path.name != "__init__.py" and (is_named or not names):
            yield path


def find_tests(module: Path) -> list[str]:
    """Return the files of tests in the folder of a module's tests which import it, or all."""
    if module.is_relative_to(LIBRARY):
        folders = [ROOT / "packages" / "dialects" / "tests" / module.parent.relative_to(LIBRARY)]
        name = ".".join(["pagefault_dialects", *module.relative_to(LIBRARY).with_suffix("").parts])
    else:
        folders = _TESTS_OF_RECORDS
        name = f"app.stores.records.{module.stem}"
    files = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    importers = [path for path in files if f"from {name} import" in path.read_text()]
    return [str(path.relative_to(ROOT)) for path in importers or files]


def prepare(module: Path) -> None:
    """Copy the tree in which a module is changed."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    unused = shutil.ignore_patterns("node_modules", "__pycache__", "src", "data")
    for folder in ("app", "packages", "tests", "migrations", "openapi"):
        shutil.copytree(ROOT / folder, WORK / folder, ignore=unused)
    for package in (ROOT / "packages").glob("*/src/*"):
        shutil.copytree(package, WORK / "src" / package.name)
    shutil.copy(ROOT / "alembic.ini", WORK)
    is_record = module.is_relative_to(RECORDS)
    in_copy = module.relative_to(ROOT if is_record else LIBRARY.parent.parent)
    config = _CONFIG.format(module=in_copy, tests=json.dumps(find_tests(module)))
    (WORK / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + config)


def run(module: Path) -> dict[str, int]:
    """Run mutmut for a module; return the exit status of the tests of each mutant."""
    prepare(module)
    (packages,) = TOOL.glob("lib/python*/site-packages")
    env = {**os.environ, "PYTHONPATH": str(packages)}
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1"]
    with (WORK / "log").open("w") as log:
        status = subprocess.call(command, cwd=WORK, env=env, stdout=log)  # noqa: S603
    if status:
        # No test reaches the module, or one fails without a mutant.
        print("".join((WORK / "log").read_text().splitlines(keepends=True)[-20:]))  # noqa: T201
    statuses: dict[str, int] = {}
    for meta in (WORK / "mutants").rglob(f"{module.name}.meta"):
        statuses |= json.loads(meta.read_text())["exit_code_by_key"]
    return statuses


def main(names: Sequence[str]) -> int:
    """Try modules one after the other, and store their figures; fail if one is below 85 %."""
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    weak = False
    for module in modules(names):
        statuses = run(module)
        killed = sum(status in _KILLED for status in statuses.values())
        figures[str(module.relative_to(ROOT))] = [len(statuses), killed]
        FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
        survivors = [name for name, status in statuses.items() if status not in _KILLED]
        print(f"{module.relative_to(ROOT)}: {killed} of {len(statuses)}", *survivors, sep="\n  ")  # noqa: T201
        weak |= 100 * killed < LEAST_PERCENT * len(statuses)
    return 1 if weak else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
