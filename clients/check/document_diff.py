"""Print the differences between the OpenAPI documents of two versions.

`python -m clients.check.document_diff [COMMIT]` compares `openapi/openapi.json` with the file in a
commit. Default: the newest tag, or the last commit whose document has another version. Lines for
changes that may break a client begin with `!`. Texts and examples are not compared.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pagefault_dialects.json.pointers import child_pointer

ROOT = Path(__file__).parents[2]
DOCUMENT = "openapi/openapi.json"
_WORDS = frozenset({"description", "summary", "examples", "example", "title", "tags"})
_MAX_LINES = 400


def differences(earlier: dict[str, Any], later: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each difference between two documents, breaking changes first."""
    operations = list(_compare("operation", _operations(earlier), _operations(later)))
    schemas = list(_compare("schema", _schemas(earlier), _schemas(later)))
    yield from sorted([*operations, *schemas], key=lambda line: not line.startswith("!"))


def _operations(document: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{method.upper()} {path}": operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def _schemas(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["components"]["schemas"]
    return found


def _compare(kind: str, earlier: dict[str, Any], later: dict[str, Any]) -> Iterator[str]:
    yield from (f"! {kind} removed: {name}" for name in earlier if name not in later)
    yield from (f"  {kind} added: {name}" for name in later if name not in earlier)
    for name in sorted(earlier.keys() & later.keys()):
        for pointer, change in _changes(_normalize(earlier[name]), _normalize(later[name]), ""):
            yield f"{change[0]} {kind} changed: {name} {pointer}{change[1:]}"


def _normalize(value: object) -> object:
    """Return a value without texts, and with its parameters by name and location."""
    if isinstance(value, list):
        return [_normalize(item) for item in value]
    return _normalize_members(value) if isinstance(value, dict) else value


def _normalize_members(value: dict[str, Any]) -> dict[str, Any]:
    members = {name: _normalize(member) for name, member in value.items() if name not in _WORDS}
    if isinstance(value.get("parameters"), list):
        members["parameters"] = {
            _parameter_key(parameter): {**_normalize_members(parameter), "name": ""}
            for parameter in value["parameters"]
        }
    if isinstance(value.get("properties"), dict):
        # The name of a property may be one of `_WORDS`.
        members["properties"] = {
            name: _normalize(schema) for name, schema in value["properties"].items()
        }
    return members


def _changes(earlier: object, later: object, pointer: str) -> Iterator[tuple[str, str]]:
    if _kind_of(earlier) != _kind_of(later):
        # A single line for a schema of another kind.
        yield pointer, f"! was {_abbreviate(earlier)}, is {_abbreviate(later)}"
    elif isinstance(earlier, dict) and isinstance(later, dict):
        for name in [*earlier, *(name for name in later if name not in earlier)]:
            place = child_pointer(pointer, name)
            if name not in later:
                yield place, "! was removed"
            elif name not in earlier:
                yield place, f"{'!' if _is_required(later[name]) else ' '} was added"
            else:
                yield from _changes(earlier[name], later[name], place)
    elif isinstance(earlier, list) and isinstance(later, list):
        removed = [item for item in earlier if item not in later]
        added = [item for item in later if item not in earlier]
        if removed:
            yield pointer, f"! lacks {_abbreviate(removed)}"
        if added:
            is_required = pointer.endswith("/required")
            yield pointer, f"{'!' if is_required else ' '} has also {_abbreviate(added)}"
    elif earlier != later:
        yield pointer, f"! was {_abbreviate(earlier)}, is {_abbreviate(later)}"


def _kind_of(value: object) -> object:
    """Return the type, the reference and the constant of a schema, and whether it is a union."""
    if not isinstance(value, dict):
        return None
    return (
        value.get("type"),
        value.get("$ref"),
        value.get("const"),
        "anyOf" in value or "oneOf" in value,
    )


def _is_required(added: object) -> bool:
    """Return whether an added parameter is required."""
    return isinstance(added, dict) and added.get("required") is True


def _abbreviate(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _git(*arguments: str) -> str:
    process = subprocess.run(  # noqa: S603 - git, as it is
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return process.stdout if process.returncode == 0 else ""


def _last_version(now: str) -> str | None:
    """Return the newest tag, else the last commit whose document has another version."""
    if tag := _git("describe", "--tags", "--abbrev=0").strip():
        return tag
    for commit in _git("log", "--format=%h", "--", DOCUMENT).split():
        text = _git("show", f"{commit}:{DOCUMENT}")
        if text and json.loads(text)["info"]["version"] != now:
            return commit
    return None


def _parameter_key(parameter: dict[str, Any]) -> str:
    """Return the place and the name of a parameter; names of headers are case-insensitive."""
    place, name = parameter["in"], parameter["name"]
    return f"{place} {name.lower() if place == 'header' else name}"


def main(arguments: list[str]) -> int:
    """Print the differences, and return the exit status; differences are not an error."""
    later = json.loads((ROOT / DOCUMENT).read_text())
    commit = arguments[0] if arguments else _last_version(later["info"]["version"])
    text = _git("show", f"{commit}:{DOCUMENT}") if commit else ""
    if not text:
        subject = f"Commit {commit} has no" if arguments else "No earlier version has a"
        print(f"{subject} {DOCUMENT} to compare with.")
        return 1 if arguments else 0
    earlier = json.loads(text)
    lines = list(differences(earlier, later))
    print(
        f"The OpenAPI document {later['info']['version']} against {earlier['info']['version']} "
        f"({commit}): {len(lines)} differences, {sum(line[0] == '!' for line in lines)} of which "
        "may break a client (!)."
    )
    print("\n".join(lines[:_MAX_LINES]))
    if len(lines) > _MAX_LINES:
        print(f"  … and {len(lines) - _MAX_LINES} more")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
