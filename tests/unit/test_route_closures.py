"""The import closure of a route is small enough to be read: 15,000 lines of `app/`."""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest

from app.features import find_features

pytestmark = pytest.mark.engines("embedded")

MAX_LINES = 15_000
MORE_LINES = {
    # The tools read, search and save all that is stored, also for models' conversations.
    "app.routers.conversations": 15_200,
    "app.routers.responses": 15_200,
    "app.routers.tools": 15_200,
    # The access of every route reads signed links, and those of pages of apps have a policy.
    "app.routers.pages": 15_700,
    # Sessions have forks, outlines, manifests, and the marks of people.
    "app.routers.sessions": 16_000,
    # A turn has messages, results of tools and interactions, and compaction items are refused.
    "app.routers.turns": 15_700,
    # The memory server has every tool, and prompts, resources and events of all that is stored.
    "pagefault_mcp.server.mcp_endpoint": 21_800,
    # A bundle has everything of a session.
    "pagefault_bundles.bundle_routes": 15_400,
}
"""For routes that need more, how many lines they may have, each with its reason."""


def ancestors(module: str) -> Iterator[str]:
    """Yield the packages that importing a module runs as well."""
    while module := module.rpartition(".")[0]:
        yield module


@cache
def lines_of(module: str) -> int:
    """Return how many lines a module of the service has; others are not counted."""
    spec = find_spec(module) if module.partition(".")[0] == "app" else None
    return len(Path(spec.origin).read_text().splitlines()) if spec and spec.origin else 0


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
