"""The packages of the repository: what each needs is named, and the service's wheel has them."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.features import ENTRY_POINT_GROUP, find_features
from tests.kit.process import ROOT

PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
SOURCES = {f"packages/{package.name}/src": f"pagefault_{package.name}" for package in PACKAGES}
# They come with the distribution that is named, in one version.
_BROUGHT_ALONG = {"mcp-types", "pydantic-core"}


def manifest(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text())


def imported_packages(module: Path) -> set[str]:
    """The packages that a module imports, in functions too."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_package_needs_what_it_names_and_nothing_else(package: Path) -> None:
    homes = importlib.metadata.packages_distributions()
    imported = set().union(*map(imported_packages, package.glob("src/**/*.py")))
    others = imported - sys.stdlib_module_names - {"app", *SOURCES.values()}
    needed = {name.lower().replace("_", "-") for other in others for name in homes[other]}
    named = {
        re.split("[<>=]", dependency)[0]
        for dependency in manifest(package)["project"]["dependencies"]
    }
    assert needed - _BROUGHT_ALONG == named


def test_every_place_that_lists_the_packages_has_them_all() -> None:
    project = manifest(ROOT)["tool"]
    build = project["hatch"]["build"]
    listed = {
        "wheel": build["targets"]["wheel"]["packages"],
        "sdist": build["targets"]["sdist"]["only-include"],
        "editable": build["dev-mode-dirs"],
        "mypy": project["mypy"]["mypy_path"].split(":"),
        "pytest": project["pytest"]["ini_options"]["pythonpath"],
        "imports": project["importlinter"]["root_packages"],
        "image": re.findall(r"^COPY (packages/\S+) ", Path(ROOT, "Dockerfile").read_text(), re.M),
    }
    wanted = {place: set(SOURCES) for place in listed} | {
        "wheel": {f"{source}/{name}" for source, name in SOURCES.items()},
        "imports": set(SOURCES.values()),
    }
    assert {place: names - set(listed[place]) for place, names in wanted.items()} == {
        place: set() for place in listed
    }


def test_features_of_the_packages_are_those_of_the_wheel_and_are_installed() -> None:
    entries = manifest(ROOT)["project"]["entry-points"][ENTRY_POINT_GROUP]
    for package in PACKAGES:
        entries_of_it = (
            manifest(package)["project"].get("entry-points", {}).get(ENTRY_POINT_GROUP, {})
        )
        assert entries_of_it.items() <= entries.items()
    # If this fails, `make install` brings the entry points up to date.
    assert entries.keys() <= {feature.name for feature in find_features()}
