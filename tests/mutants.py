"""Changes the code in small ways, and counts the changes that tests notice: `make mutants`.

    python -m tests.mutants [--share PERCENT] [MODULE…]     such as `json/pointers`

A module is tried with the tests beside it: first the files in the folder of its tests that import
it, without tests marked `slow`, then all of that folder. mutmut works in a copy of the tree, and
chooses the tests of each function among these; modules with the same tests share a run. A share is
a random choice of the mutants of each module, at least one, the same at each run. Tests of stores
run on SQLite.
`docs/architecture.md` shows the figures.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
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
_TESTS_OF_LIBRARY = ROOT / "packages" / "dialects" / "tests"
_TESTS_OF_RECORDS = [ROOT / "tests" / "unit" / "stores", ROOT / "tests" / "integration"]
_KILLED = {1, 3, 36, 152, 255, -signal.SIGXCPU, -signal.SIGPROF}
"""Of tests: failed, interrupted, or ended since they took too long."""

# Processor time is limited by the plugin. mutmut limits the time on the clock, which a busy machine
# may exceed without an error: ten seconds, and the tests' own time, times fifteen.
_CONFIG = """
[tool.mutmut]
source_paths = ["src", "app"]
only_mutate = {modules}
also_copy = ["packages", "migrations", "openapi", "alembic.ini"]
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = [
  "-p", "tests.kit.processor_limit", "-k", "not server and not pgbouncer"{marked}
]
use_git_change_detection = false
track_dependencies = false
timeout_constant = 10.0
"""
# Functions that run while modules are imported are left out: mutmut starts a mutant afterwards.
_PRINT_NAMES = """
import importlib
import sys
from pathlib import Path
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.utils.format_utils import get_mutant_name, make_mutant_key

sys.path[:0] = ["src", "."]
paths = [Path(argument) for argument in sys.argv[1:]]
ran = set()

def note(frame, event, _):
    if event == "call":
        *class_names, name = frame.f_code.co_qualname.split(".")
        key = make_mutant_key(name, ".".join(class_names) or None)
        ran.add((Path(frame.f_code.co_filename).resolve(), key))

sys.setprofile(note)
for path in (*Path("src/pagefault_dialects").rglob("[!_]*.py"), *paths):
    importlib.import_module(".".join(path.with_suffix("").parts).removeprefix("src."))
sys.setprofile(None)
for path in paths:
    names = mutate_file_contents(str(path), path.read_text()).mutant_names
    tried = [name for name in names if (path.resolve(), name.partition("__mutmut_")[0]) not in ran]
    print(*(get_mutant_name(path, name) for name in tried))
"""


def modules(names: Sequence[str]) -> Iterator[Path]:
    """Yield the files of modules by the ends of their paths; without names, all."""
    for path in sorted([*LIBRARY.rglob("*.py"), *RECORDS.rglob("*.py")]):
        is_named = any(f"/{path.with_suffix('')}".endswith(f"/{name}") for name in names)
        if path.name != "__init__.py" and (is_named or not names):
            yield path


def find_tests(module: Path, *, importing: bool = True) -> tuple[str, ...]:
    """Return the files of tests beside a module.

    Args:
        module: The module.
        importing: Return only the files that import it, if there are any. An import of its
            constants alone does not count.
    """
    if module.is_relative_to(LIBRARY):
        folder = _TESTS_OF_LIBRARY / module.parent.relative_to(LIBRARY)
        # A folder without tests has them in the folder above.
        folders = [folder if folder.exists() else folder.parent]
        name = ".".join(["pagefault_dialects", *module.relative_to(LIBRARY).with_suffix("").parts])
    else:
        folders = _TESTS_OF_RECORDS
        name = f"app.stores.records.{module.stem}"
    files = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    statement = re.compile(rf"^from {name} import (\(.*?\)|.*?$)", re.MULTILINE | re.DOTALL)
    importers = [
        path
        for path in files
        if (imported := statement.search(path.read_text())) and re.search("[a-z]", imported[1])
    ]
    chosen = importers if importing and importers else files
    return tuple(str(path.relative_to(ROOT)) for path in chosen)


def group(found: Sequence[Path]) -> list[tuple[tuple[str, ...], list[Path]]]:
    """Group modules by their tests, in a random order that is the same at each run.

    So what a run has tried until it is interrupted is a random choice.
    """
    groups: dict[tuple[str, ...], list[Path]] = {}
    for module in found:
        groups.setdefault(find_tests(module), []).append(module)
    return random.Random(1).sample(list(groups.items()), len(groups))  # noqa: S311


def prepare() -> None:
    """Copy the tree in which modules are changed."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    unused = shutil.ignore_patterns("node_modules", "__pycache__", "src")
    for folder in ("app", "packages", "tests", "migrations", "openapi"):
        shutil.copytree(ROOT / folder, WORK / folder, ignore=unused)
    for package in (ROOT / "packages").glob("*/src/*"):
        shutil.copytree(package, WORK / "src" / package.name)
    shutil.copy(ROOT / "alembic.ini", WORK)


def try_modules(tests: Sequence[str], tried: Sequence[Path], share: float) -> dict[Path, list[int]]:
    """Try a share of the mutants of modules with the same tests, and print those that survive.

    Mutants that survive the tests that import a module are tried with all tests beside it. Returns
    of each module how many there are, were tried and were killed.
    """
    paths = [_path_in_copy(module) for module in tried]
    lines = _call_python("-c", _PRINT_NAMES, *paths)[1].splitlines()
    names = {module: line.split() for module, line in zip(tried, lines, strict=True)}
    chosen = [
        name
        for module, every in names.items()
        for name in random.Random(module.stem).sample(every, math.ceil(len(every) * share))  # noqa: S311
    ]
    killed = run(tests, paths, chosen, skips_slow=True)
    others = find_tests(tried[0], importing=False)
    has_slow = any("mark.slow" in (ROOT / path).read_text() for path in others)
    if killed is not None and (others != tests or has_slow):
        remaining = [name for name in chosen if name not in killed]
        killed |= run(others, paths, remaining) or set()
    figures: dict[Path, list[int]] = {}
    for module in tried:
        of_module = [name for name in chosen if name in set(names[module])]
        survivors = [name for name in of_module if killed is not None and name not in killed]
        number = len(of_module) if killed is not None else 0
        figures[module] = [len(names[module]), number, number - len(survivors)]
        print(f"{module.relative_to(ROOT)}: {figures[module]}", *survivors, sep="\n  ", flush=True)  # noqa: T201
    return figures


def run(
    tests: Sequence[str], paths: Sequence[str], names: Sequence[str], *, skips_slow: bool = False
) -> set[str] | None:
    """Run mutmut for mutants of modules; return those that the tests kill.

    Returns `None` if a test fails without a mutant. `skips_slow` leaves out tests marked `slow`.
    """
    if not names:
        return set()
    shutil.rmtree(WORK / "mutants", ignore_errors=True)
    marked = ', "-m", "not slow"' if skips_slow else ""
    config = _CONFIG.format(modules=json.dumps(paths), tests=json.dumps(tests), marked=marked)
    (WORK / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + config)
    status, log = _call_python("-m", "mutmut", "run", "--max-children", "1", *names)
    if status:
        if "could not find any test case for any mutant" in log:
            return set()
        print(*log.splitlines()[-20:], sep="\n")  # noqa: T201
        return None
    statuses: dict[str, int | None] = {}
    for path in paths:
        meta = json.loads((WORK / "mutants" / f"{path}.meta").read_text())
        statuses |= meta["exit_code_by_key"]
    return {name for name in names if statuses[name] in _KILLED}


def _path_in_copy(module: Path) -> str:
    # In the copy, the library is in `src`.
    return str(module.relative_to(ROOT)).removeprefix("packages/dialects/")


def _call_python(*arguments: str) -> tuple[int, str]:
    """Run Python in the copy, with mutmut; return its exit status and its output."""
    (packages,) = TOOL.glob("lib/python*/site-packages")
    ended = subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        check=False,
        cwd=WORK,
        env={**os.environ, "PYTHONPATH": str(packages)},
        text=True,
        stdout=subprocess.PIPE,
    )
    return ended.returncode, ended.stdout


def main(arguments: Sequence[str]) -> int:
    """Try modules, and store their figures; fail if less than 85 % of their mutants were killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--share", type=float, default=100, metavar="PERCENT")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args(arguments)
    prepare()
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    tried = killed = 0
    for tests, of_tests in group([*modules(options.modules)]):
        for module, row in try_modules(tests, of_tests, options.share / 100).items():
            if row[1]:
                figures[str(module.relative_to(ROOT))] = row
            tried += row[1]
            killed += row[2]
        FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    print(f"{killed} of {tried}")  # noqa: T201
    return 1 if 100 * killed < LEAST_PERCENT * tried else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
