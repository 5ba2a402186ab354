"""Prints ten random lines of the code: `make rooms`, or `make rooms PLACES=1` with their places.

They are for a trial of the names of folders and files: a reader who sees a line and the list of
files says which file the line is in.
"""

import ast
import random
import re
import sys
from collections.abc import Iterator

from tests.kit.sources import sources

MANY = 10
FEWEST_WORDS = 3


def main(seed: str, *options: str) -> None:
    """Print lines that follow from a seed and the files; `--places` adds where they are."""
    lines = [(place, line) for path, text in sources() for place, line in code_lines(path, text)]
    chosen = random.Random(seed).sample(lines, MANY)  # noqa: S311 - no secret
    for number, (place, line) in enumerate(chosen, 1):
        print(f"{number:2}. {line}" + (f"\n    {place}" if "--places" in options else ""))  # noqa: T201


def code_lines(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of functions that have three words, without docstrings and imports."""
    inside, outside = set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside |= numbers(node.body[0], node.body[-1])
        elif isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            outside |= numbers(node, node)
    lines = text.splitlines()
    for number in sorted(inside - outside):
        code = lines[number - 1].partition("#")[0]
        if len(re.findall(r"[A-Za-z]\w*", code)) >= FEWEST_WORDS:
            yield f"{path}:{number}", lines[number - 1].strip()


def numbers(first: ast.stmt, last: ast.stmt) -> set[int]:
    """Return the numbers of the lines from one statement to another."""
    return set(range(first.lineno, (last.end_lineno or last.lineno) + 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
