"""The package for its users: its front page, and the modules that it loads."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pagefault_dialects

PACKAGE = Path(__file__).parents[1]
MODULES = sorted((PACKAGE / "src").rglob("*.py"))


def loaded_by(statement: str) -> set[str]:
    """Return the packages that a statement loads in a new process."""
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_examples_of_the_front_page_run() -> None:
    failed, tried = doctest.testfile(str(PACKAGE / "README.md"), module_relative=False)
    assert (failed, tried > 0) == (0, True)


def test_import_loads_no_other_package() -> None:
    assert loaded_by("import pagefault_dialects") - sys.stdlib_module_names <= {
        *("pagefault_dialects", "__main__"),
        *loaded_by("pass"),
    }


def test_every_public_name_exists() -> None:
    assert [
        name for name in pagefault_dialects.__all__ if not hasattr(pagefault_dialects, name)
    ] == []


def test_parameters_of_public_functions_are_those_that_callers_name() -> None:
    assert {
        name: list(inspect.signature(getattr(pagefault_dialects, name)).parameters)
        for name in ("heal", "normalize", "read_messages", "render")
    } == {
        "heal": ["history", "target", "options"],
        "normalize": ["result", "call_id", "tool_name", "is_message"],
        "read_messages": ["value", "closes"],
        "render": ["turns", "target", "options"],
    }


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
