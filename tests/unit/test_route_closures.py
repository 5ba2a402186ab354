"""The import closure of a route is small enough to be read: 6,900 lines of code of `app/`."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest

from app.features import find_features

pytestmark = pytest.mark.engines("embedded")

MAX_LINES = 6_900
MORE_LINES = {
    # The tools read, search and save all that is stored, also for models' conversations.
    "app.routers.conversations": 7_200,
    "app.routers.responses": 7_200,
    "app.routers.tools": 7_200,
    # Sessions have forks, outlines, manifests, and the marks of people.
    "app.routers.sessions": 7_500,
    # A turn has messages, results of tools and interactions, and compaction items are refused.
    "app.routers.turns": 7_500,
    # The memory server has every tool, and prompts, resources and events of all that is stored.
    "pagefault_mcp.server.mcp_endpoint": 10_400,
}
"""For routes that need more, how many lines they may have, each with its reason."""


def ancestors(module: str) -> Iterator[str]:
    """Yield the packages that importing a module runs as well."""
    while module := module.rpartition(".")[0]:
        yield module


@cache
def lines_of(module: str) -> int:
    """Return how many lines of code a module of the service has; others are not counted.

    A statement is a line, however it is wrapped. Docstrings, comments and empty lines do not count.
    """
    spec = find_spec(module) if module.partition(".")[0] == "app" else None
    if spec is None or spec.origin is None:
        return 0
    tree = ast.parse(Path(spec.origin).read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [statement for statement in node.body if not is_docstring(statement)]
    return sum(1 for line in ast.unparse(tree).splitlines() if line)


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a text and nothing else."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def closure_lines(graph: grimp.ImportGraph, module: str) -> int:
    """Return how many lines of `app/` a module imports, in functions and for types as well."""
    closure: set[str] = set()
    pending = [module]
    while pending:
        name = pending.pop()
        if name not in closure:
            closure.add(name)
            pending += [*graph.find_modules_directly_imported_by(name), *ancestors(name)]
    return sum(map(lines_of, closure))


def test_closure_of_a_route_is_small() -> None:
    features = find_features()
    routers = {name.partition(":")[0] for feature in features for name in feature.routers}
    packages = {module.partition(".")[0] for module in routers}
    graph = grimp.build_graph("app", *packages - {"app"}, cache_dir=None)
    lines = {module: closure_lines(graph, module) for module in routers}
    most = dict.fromkeys(routers, MAX_LINES) | MORE_LINES
    assert {module: many for module, many in lines.items() if many > most[module]} == {}
    assert MORE_LINES.keys() <= routers
