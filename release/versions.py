"""Find the places that name another version than the service has."""

import json
import re
import tomllib
from pathlib import Path


def disagreeing_versions(root: Path, version: str) -> list[str]:
    """Return the files that name another version, by their paths from the root."""
    named = {
        "openapi/openapi.json": json.loads((root / "openapi" / "openapi.json").read_text())["info"][
            "version"
        ],
        "docker-compose.yml": _found(root / "docker-compose.yml", r"image: pagefault:(\S+)"),
        "CHANGELOG.md": _changelog(root / "CHANGELOG.md", version),
    }
    for manifest in root.glob("clients/**/package.json"):
        if "node_modules" in manifest.parts:
            continue
        package = json.loads(manifest.read_text())
        if not package.get("private"):
            named[manifest.relative_to(root).as_posix()] = package["version"]
    for manifest in (
        *root.glob("clients/*/pyproject.toml"),
        *root.glob("packages/*/pyproject.toml"),
    ):
        given = tomllib.loads(manifest.read_text())["project"].get("version")
        if given is not None:
            named[manifest.relative_to(root).as_posix()] = given
    return sorted(name for name, found in named.items() if found != version)


def _found(path: Path, pattern: str) -> str | None:
    """Return what a pattern finds in a file."""
    match = re.search(pattern, path.read_text())
    return match and match.group(1)


def _changelog(path: Path, version: str) -> str | None:
    """Return the version if the changelog has it, or has changes that are not released yet."""
    headings = re.findall(r"^## \[(.+?)\]", path.read_text(), re.MULTILINE)
    return version if {version, "Unreleased"} & set(headings[:1]) else None
