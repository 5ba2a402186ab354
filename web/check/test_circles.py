"""The check that modules of TypeScript do not import one another in a circle."""

import subprocess
from pathlib import Path

import pytest

from app.shipped_files import BUILT_VIEWER
from tests.kit.node import NODE

CHECK = BUILT_VIEWER.parent / "circles.mjs"


@pytest.mark.parametrize(
    ("back", "message"),
    [
        ("import type { A } from '../a';", "a.ts -> b.ts -> folder/index.tsx -> a.ts"),
        ("export * from '../a.ts';", "a.ts -> b.ts -> folder/index.tsx -> a.ts"),
        ("const a = import('../a');", "a.ts -> b.ts -> folder/index.tsx -> a.ts"),
        ("import { a } from 'a';", ""),
    ],
)
def test_circle_of_imports_is_found(tmp_path: Path, back: str, message: str) -> None:
    (tmp_path / "a.ts").write_text("import { b } from './b.ts';\n")
    (tmp_path / "b.ts").write_text("export { c } from './folder';\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.tsx").write_text(back)
    found = subprocess.run(  # noqa: S603 - a tool of our own
        [NODE, CHECK, "."],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    listed = found.stderr.splitlines()[1:]
    assert (found.returncode, listed) == (int(bool(message)), [message] if message else [])
