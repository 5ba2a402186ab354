"""What npm installs for tests is pinned."""

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize("client", ["ai", "tus"])
def test_lock_file_of_a_client_pins_by_hash_and_names_no_host(client: str) -> None:
    lock_file = Path(__file__).parent / client / "package-lock.json"
    packages = json.loads(lock_file.read_text())["packages"]
    installed = [package for name, package in packages.items() if name]
    assert installed
    assert [package for package in installed if not package.get("integrity")] == []
    assert [package for package in installed if "resolved" in package] == []
