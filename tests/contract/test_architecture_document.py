"""`docs/architecture.md` lists all folders of code in their own words, and draws their layers."""

import ast
import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from tests.kit.process import ROOT

DOCUMENT = ROOT / "docs" / "architecture.md"
_MUTANTS = re.compile(r"(?<=<!-- mutants -->\n).*?(?=<!-- end of mutants -->)", re.DOTALL)
_ROOMS = re.compile(r"(?<=<!-- rooms -->\n).*?(?=<!-- end of rooms -->)", re.DOTALL)
_APP = ROOT / "app"
# The library is first, being the lowest; the packages above the service are last.
_LIBRARY = ROOT / "packages" / "dialects" / "src" / "pagefault_dialects"
_PACKAGES = sorted(set(ROOT.glob("packages/*/src/*/")) - {_LIBRARY})
_HOUSES = (_LIBRARY, _APP, *_PACKAGES)
_MODULES = [
    path for house in _HOUSES for path in house.rglob("*.py") if "shipped" not in path.parts
]
# Modules that no layer of the drawing needs: what they are, the table says.
_NOT_DRAWN = {"allocator", "crash_points", "failpoints", "shipped_files", "version"}


def first_line(module: Path) -> str:
    """The first sentence of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text())) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def rooms() -> str:
    """The tables of the library, the service and the packages: loose modules, then folders."""
    return "\n".join(map(table, _HOUSES))


def table(house: Path) -> str:
    """The table of the modules of a package that are in no folder, and of all its folders."""
    loose = sorted(path for path in house.glob("*.py") if path.name != "__init__.py")
    rows = [(f"`{house.name}/{path.name}`", path) for path in loose]
    folders = sorted({path.parent for path in _MODULES if house in path.parent.parents})
    rows += [
        (f"`{folder.relative_to(house.parent)}/`", folder / "__init__.py") for folder in folders
    ]
    lines = "".join(f"| {room} | {first_line(module)} |\n" for room, module in rows)
    return f"| room | content |\n|---|---|\n{lines}"


def mutants() -> str:
    """The table of the rooms of which `make mutants` has tried modules."""
    figures = json.loads((ROOT / "tests" / "data" / "mutants.json").read_text())
    rooms: dict[str, list[list[int]]] = {}
    for module, row in figures.items():
        home = module.removeprefix(f"{_LIBRARY.relative_to(ROOT)}/")
        rooms.setdefault(home.rpartition("/")[0] or _LIBRARY.name, []).append(row)
    rows = [(f"`{room}/`", of_room) for room, of_room in sorted(rooms.items())]
    rows.append(("all", [*figures.values()]))
    lines = ""
    for room, of_room in rows:
        total = sum(made for made, _, _ in of_room)
        tried = sum(tried for _, tried, _ in of_room)
        # A module counts by the number of its mutants, however many of them were tried.
        percent = sum(100 * made * killed / tried for made, tried, killed in of_room) / total
        lines += f"| {room} | {len(of_room)} | {total} | {tried} | {percent:.0f} % |\n"
    return f"| room | modules | mutants | tried | killed |\n|---|---|---|---|---|\n{lines}"


def layers(container: str) -> list[list[str]]:
    """The layers that the import contracts have of a package, from the top."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contract = next(item for item in linter["contracts"] if item.get("containers") == [container])
    return [re.split(r" [|:] ", layer) for layer in contract["layers"]]


def test_every_room_is_in_the_table_and_nothing_else(pytestconfig: pytest.Config) -> None:
    made = rooms()
    document = DOCUMENT.read_text()
    if pytestconfig.getoption("write_documents"):
        document = _ROOMS.sub(lambda _: made, document)
        DOCUMENT.write_text(document)
    assert _ROOMS.findall(document) == [made]


def test_table_of_mutants_has_the_figures(pytestconfig: pytest.Config) -> None:
    made = mutants()
    document = DOCUMENT.read_text()
    if pytestconfig.getoption("write_documents"):
        document = _MUTANTS.sub(lambda _: made, document)
        DOCUMENT.write_text(document)
    assert _MUTANTS.findall(document) == [made]


def test_every_room_says_what_is_in_it() -> None:
    said = [first_line(folder / "__init__.py") for folder in {path.parent for path in _MODULES}]
    assert sorted(set(said)) == sorted(said)
    assert all(said)


def test_the_drawing_has_the_layers_that_imports_are_held_to() -> None:
    document = DOCUMENT.read_text()
    drawn = [
        named
        for layer in layers("app")
        if (named := [name for name in layer if name not in _NOT_DRAWN])
    ]
    arrows = [f"{' & '.join(above)} --> {' & '.join(below)}" for above, below in pairwise(drawn)]
    listed = [
        " | ".join(layer)
        for container in ("app.services", *(house.name for house in (_LIBRARY, *_PACKAGES)))
        for layer in layers(container)
    ]
    assert [line for line in (*arrows, *listed) if f"    {line}\n" not in document] == []
