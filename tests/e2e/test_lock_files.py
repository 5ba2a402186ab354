"""Packages of npm, for the viewer and for tests, are pinned."""

import json

import pytest

from tests.kit.process import ROOT


@pytest.mark.parametrize(
    "folder", ["clients/typescript", "tests/browser/axe", "tests/e2e/ai", "tests/e2e/tus", "web"]
)
def test_lock_file_of_npm_pins_by_hash_and_names_no_host(folder: str) -> None:
    lock_file = ROOT / folder / "package-lock.json"
    packages = json.loads(lock_file.read_text())["packages"]
    installed = [package for name, package in packages.items() if name]
    assert installed
    assert [package for package in installed if not package.get("integrity")] == []
    assert [package for package in installed if "resolved" in package] == []
