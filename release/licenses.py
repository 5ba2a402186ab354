"""Read the licenses of the dependencies from CycloneDX documents, and hold them to a list."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

_OPERATOR: Final = re.compile(r"\s+(?:AND|OR|WITH)\s+|[()]")


def license_table(components: Iterable[Mapping[str, Any]], allowed: Path) -> tuple[str, list[str]]:
    """Return a table of all dependencies, and those whose license nobody has allowed.

    Args:
        components: Packages of CycloneDX documents.
        allowed: A file with `allowed`, a list of SPDX identifiers, and `read`, which says for a
            package what its license is where its metadata do not.
    """
    rules = tomllib.loads(allowed.read_text())
    rows, refused = [], []
    for component in sorted(components, key=lambda component: str(component["name"]).lower()):
        named = rules["read"].get(component["name"]) or _license(component)
        if not named or not set(filter(None, _OPERATOR.split(named))) <= set(rules["allowed"]):
            refused.append(f"{component['name']} {component['version']} ({named or 'none named'})")
        rows.append(f"| {component['name']} | {component['version']} | {named} |")
    head = "# Licenses of the dependencies\n\n| package | version | license |\n|---|---|---|\n"
    return head + "\n".join(rows) + "\n", refused


def _license(component: Mapping[str, Any]) -> str:
    """Return the license as the package says it: an expression, else the declared names."""
    said = component.get("licenses", ())
    for item in said:
        if "expression" in item:
            return str(item["expression"])
    named = [item["license"].get("id") or item["license"].get("name", "") for item in said]
    # A classifier says less than the identifier beside it, and a long name is the text itself.
    short = [name for name in named if 0 < len(name) < 60 and not name.startswith("License ::")]
    return " AND ".join(dict.fromkeys(short))
