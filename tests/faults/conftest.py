"""The long forms of the two engines are tried side by side."""

from pathlib import Path

import pytest

from tests.faults.lengths import LONG
from tests.kit.servers import ENGINES

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put each engine into a group of its own, which one process goes through."""
    if not LONG:
        return
    for item in items:
        called = getattr(item, "callspec", None)
        engine = called.params.get("engine") if called else None
        if engine in ENGINES and item.path.is_relative_to(_FOLDER):
            item.add_marker(pytest.mark.xdist_group(engine))
    # What takes longest comes first, so that both processes end at about the same time.
    items.sort(key=lambda item: item.path.name != "test_soak.py")
