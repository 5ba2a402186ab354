"""Lengths of the tests of this folder, and the file with their findings.

`TORTURE=long` asks for their long forms, and `TORTURE_PERCENT` for a part of those.
`TORTURE_FIGURES` names a file, to which each test adds a line of a table in Markdown.
"""

import os
from pathlib import Path

LONG = os.environ.get("TORTURE") == "long"
TIMEOUT_SECONDS = 3 * 3600 if LONG else 240
"""Of one test: long before that, something hangs."""

_PERCENT = int(os.environ.get("TORTURE_PERCENT", "100"))
_FIGURES = os.environ.get("TORTURE_FIGURES")


def times(short: int, long: int) -> int:
    """Return the number of attempts."""
    return max(1, long * _PERCENT // 100) if LONG else short


def tell(promise: str, figures: str) -> None:
    """Add a line to the table, if one is asked for."""
    if _FIGURES is not None:
        # One write each, so that the lines of several processes do not mix.
        with Path(_FIGURES).open("a", encoding="utf-8") as table:
            table.write(f"| {promise} | {figures} |\n")
