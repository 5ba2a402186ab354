"""The examples of the package's README, its imports and its dependencies."""

import ast
import doctest
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
MODULES = sorted((PACKAGE / "src").rglob("*.py"))
OURS = {"app", "pagefault_dialects", "pagefault_mcp"}


def imported_packages(module: Path) -> set[str]:
    """The packages that a module imports, in functions too."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


def test_examples_of_the_front_page_do_what_they_say() -> None:
    failed, tried = doctest.testfile(str(PACKAGE / "README.md"), module_relative=False)
    assert (failed, tried > 0) == (0, True)


def test_it_needs_what_it_names_and_nothing_else() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    homes = importlib.metadata.packages_distributions()
    dependencies = set().union(*map(imported_packages, MODULES)) - sys.stdlib_module_names - OURS
    needed = {
        distribution.lower().replace("_", "-")
        for package in dependencies
        for distribution in homes[package]
    }
    # The SDK brings its types along, and both are of one version.
    named = {re.split("[<>=]", dependency)[0] for dependency in project["dependencies"]}
    assert needed - {"mcp-types"} == named


def test_proxy_loads_no_module_of_the_service() -> None:
    program = """
import sys
import pagefault_mcp.hosts.host_configs, pagefault_mcp.proxy.bridge
import pagefault_mcp.proxy.proxy_process, pagefault_mcp.proxy.proxy_process
print(*{name.partition(".")[0] for name in sys.modules})
"""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) & {"app", "fastapi", "mcp", "sqlalchemy", "starlette"} == set()
