"""The source files of the service and of its packages."""

from collections.abc import Iterator
from pathlib import Path

from tests.kit.process import ROOT


def sources() -> Iterator[tuple[str, str]]:
    """Yield the modules of `app/` and `packages/`, by their paths from the root."""
    modules = (*Path(ROOT, "app").rglob("*.py"), *ROOT.glob("packages/*/src/**/*.py"))
    for path in sorted(modules):
        yield path.relative_to(ROOT).as_posix(), path.read_text()
