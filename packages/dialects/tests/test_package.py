"""The package as its users meet it: its front page, what it loads, what it needs."""

import ast
import doctest
import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pagefault_dialects

PACKAGE = Path(__file__).parents[1]
MODULES = sorted((PACKAGE / "src").rglob("*.py"))


def imported_packages(module: Path) -> set[str]:
    """The packages that a module imports, in functions too."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    names = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


def loaded_by(statement: str) -> set[str]:
    """The packages that a statement loads in a new process."""
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_examples_of_the_front_page_do_what_they_say() -> None:
    failed, tried = doctest.testfile(str(PACKAGE / "README.md"), module_relative=False)
    assert (failed, tried > 0) == (0, True)


def test_it_needs_what_it_names_and_nothing_else() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    homes = importlib.metadata.packages_distributions()
    others = set().union(*map(imported_packages, MODULES)) - sys.stdlib_module_names
    needed = {
        distribution.lower().replace("_", "-")
        for package in others - {"pagefault_dialects"}
        for distribution in homes[package]
    }
    # Pydantic brings its core along, and both are of one version.
    assert needed - {"pydantic-core"} == set(project["dependencies"])


def test_import_loads_no_other_package() -> None:
    assert loaded_by("import pagefault_dialects") - sys.stdlib_module_names <= {
        *("pagefault_dialects", "__main__"),
        *loaded_by("pass"),
    }


def test_every_public_name_is_there() -> None:
    assert [
        name for name in pagefault_dialects.__all__ if not hasattr(pagefault_dialects, name)
    ] == []


def test_reading_and_writing_loads_nothing_that_only_media_and_tokens_need() -> None:
    names = "heal, normalize, read_messages, render"
    loaded = loaded_by(f"from pagefault_dialects import {names}")
    assert loaded & {"PIL", "asyncio", "tiktoken"} == set()


def test_every_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.parse(module.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
