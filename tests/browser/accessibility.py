"""Faults that axe-core finds in a page: barriers for users of screen readers and keyboards."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.kit.node import installed

_FOLDER = Path(__file__).with_name("axe")
_RUN = "() => axe.run(document, { resultTypes: ['violations'] })"


def axe_script() -> Path:
    """The script that has to be in a context before a page of it is opened."""
    return installed(_FOLDER) / "node_modules" / "axe-core" / "axe.min.js"


def serious_violations(page: Page, exceptions: Collection[str]) -> list[str]:
    """Return the serious and critical faults of a page of another maker, without exceptions."""
    found: dict[str, Any] = page.evaluate(_RUN)
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical") and rule["id"] not in exceptions
        for node in rule["nodes"]
    ]


def violations(page: Page) -> list[str]:
    """Each rule that is violated, with where and why."""
    found: dict[str, Any] = page.evaluate(_RUN)
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
