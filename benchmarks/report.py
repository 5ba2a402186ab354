"""Figures as a table on the terminal, and as `benchmarks/results.md`.

A run rewrites the sections of what it measured and leaves the others as they are, so each names the
machine it was measured on. What is said about a section or a figure is not measured: it is in
`notes.toml`, and survives.
"""

import re
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure
from benchmarks.machine import described

RESULTS = Path(__file__).with_name("results.md")
NOTES = Path(__file__).with_name("notes.toml")
_COLUMNS = ("figure", "value", "baseline", "ratio", "aim", "met", "detail")
_OPENING = """\
# Measured

Written by `make bench`. What counts is how a figure compares with its baseline, which is of the
same run and measured in turns with it. Values are medians where nothing else is said. What stands
beside the tables is kept in `notes.toml`."""
_SECTION = re.compile(r"^## .*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_WIDTH = 200
_MET = {True: "yes", False: "**no**", None: ""}


def print_table(figures: Sequence[Figure]) -> None:
    """Show them on the terminal, as wide as they are."""
    table = Table(*_COLUMNS)
    group = ""
    for figure in figures:
        if figure.group != group:
            group = figure.group
            table.add_section()
        name, *cells = _cells(figure)
        style = "red" if figure.is_met is False else None
        table.add_row(f"{group}: {name}", *(cell.strip("*") for cell in cells), style=style)
    console = Console()
    if not console.is_terminal:
        console.width = _WIDTH
    console.print(table)


def write_results(
    figures: Sequence[Figure],
    order: Sequence[str],
    *,
    results: Path = RESULTS,
    notes_file: Path = NOTES,
) -> None:
    """Write their sections anew, and leave the others.

    Args:
        figures: Of one or more groups, each whole.
        order: All groups there are, as they stand in the document.
        results: The document; made if need be.
        notes_file: The texts beside the figures.
    """
    notes = tomllib.loads(notes_file.read_text())
    titles = {str(notes[group]["title"]): group for group in order if group in notes}
    sections: dict[str, str] = {}
    for found in _SECTION.findall(results.read_text() if results.exists() else ""):
        title = found.partition("\n")[0].removeprefix("## ")
        sections[titles.get(title, title)] = found.strip()
    for group in {figure.group for figure in figures}:
        measured = [figure for figure in figures if figure.group == group]
        sections[group] = _section(group, measured, notes.get(group, {}))
    placed = [sections.pop(group) for group in order if group in sections]
    results.write_text("\n\n".join([_OPENING, *placed, *sections.values()]) + "\n")


def _section(group: str, figures: Sequence[Figure], notes: dict[str, object]) -> str:
    about = str(notes.get("about", "")).strip()
    lines = [f"## {notes.get('title', group)}", ""]
    lines += [f"`python -m benchmarks --only {group}`, {datetime.now(UTC):%Y-%m-%d}. {about}", ""]
    lines += [*(f"- {line}" for line in described()), ""]
    lines += [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    lines += [f"| {' | '.join(_cells(figure))} |" for figure in figures]
    if after := str(notes.get("after", "")).strip():
        lines += ["", after]
    kept = notes.get("notes")
    said = kept if isinstance(kept, dict) else {}
    floors = [
        f"- *{figure.name}*: {said[figure.name].strip()}"
        for figure in figures
        if figure.name in said
    ]
    return "\n".join([*lines, *([""] if floors else []), *floors])


def _cells(figure: Figure) -> list[str]:
    baseline = ""
    if figure.baseline is not None:
        baseline = f"{_number(figure.baseline)} ({figure.baseline_name})"
    return [
        figure.name,
        f"{_number(figure.value)} {figure.unit}",
        baseline,
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        figure.aim.text if figure.aim else "",
        _MET[figure.is_met],
        figure.detail,
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
