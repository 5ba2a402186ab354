"""Sources have the shape of CONTRIBUTING.md: short functions, and one place for each name."""

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.kit.sources import sources

pytestmark = pytest.mark.engines("embedded")

MAX_LINES_OF_A_FUNCTION = 60
# A docstring of a function begins with a verb.
NO_VERBS = frozenset({"A", "All", "An", "How", "The", "Those", "What", "Whether", "Where", "Who"})

LIBRARY = "packages/dialects/src/pagefault_dialects"
BY_DIALECT = frozenset({f"{LIBRARY}/dialects", f"{LIBRARY}/targets"})
# Folders with a file for each noun or dialect.
BY_NOUN = BY_DIALECT | {"app/cli", "app/routers", "app/stores/records", "app/wire"}
ONE_IN_EACH_PACKAGE = frozenset({"__init__.py", "errors.py", "feature.py"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    """Yield all functions and methods, with the places they are at."""
    for name, text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, Function):
                yield f"{name}:{node.lineno} {node.name}", node


def is_property(function: Function) -> bool:
    """A property is described by the noun it is."""
    return any("property" in ast.unparse(item) for item in function.decorator_list)


def test_public_class_names_stand_once() -> None:
    homes = defaultdict(list)
    for name, text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(f"{name}:{node.lineno}")
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_module_names_stand_once_outside_of_folders_with_a_file_for_each_noun() -> None:
    homes = defaultdict(list)
    for name, _ in sources():
        folder, _, module = name.rpartition("/")
        if folder not in BY_NOUN and module not in ONE_IN_EACH_PACKAGE:
            homes[module].append(name)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_functions_are_short() -> None:
    long = [
        place
        for place, node in functions()
        if (node.end_lineno or node.lineno) - node.lineno >= MAX_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_docstrings_begin_with_a_verb() -> None:
    openings = {
        place: (ast.get_docstring(node) or "See").split()[0]
        for place, node in functions()
        if not is_property(node)
    }
    assert {place: word for place, word in openings.items() if word in NO_VERBS} == {}
