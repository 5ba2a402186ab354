"""Reports of benchmarks."""

from pathlib import Path

import pytest

from benchmarks.__main__ import MODULES
from benchmarks.figures import (
    Aim,
    Figure,
    Scale,
    ratio_at_least,
    ratio_at_most,
    value_at_most,
)
from benchmarks.machine import described
from benchmarks.report import NOTES, write_results

NOTED = """
[reading]
title = "How fast it reads"
about = "With a key."
after = "What comes after."
[reading.notes]
"a record" = "The floor is the disk."
[writing]
title = "How fast it writes"
[writing.notes]
"""


def figure(
    group: str, value: float, *, baseline: float | None = None, aim: Aim | None = None
) -> Figure:
    return Figure(
        group=group,
        name="a record",
        value=value,
        unit="req/s",
        baseline=baseline,
        baseline_name="nothing",
        aim=aim,
        detail="in 3 rounds",
    )


@pytest.mark.parametrize(
    ("measured", "is_met"),
    [
        (figure("reading", 40, baseline=100, aim=ratio_at_least(0.5)), False),
        (figure("reading", 60, baseline=100, aim=ratio_at_least(0.5)), True),
        (figure("reading", 150, baseline=100, aim=ratio_at_most(1.5)), True),
        (figure("reading", 160, baseline=100, aim=ratio_at_most(1.5)), False),
        (figure("reading", 250, aim=value_at_most(250)), True),
        (figure("reading", 251, aim=value_at_most(250)), False),
        (figure("reading", 40, aim=ratio_at_least(0.5)), False),
        (figure("reading", 40, baseline=100), None),
    ],
)
def test_an_aim_is_judged_by_the_ratio_or_the_value(measured: Figure, is_met: bool | None) -> None:
    assert measured.is_met is is_met


def test_a_section_has_its_figures_its_aims_and_what_is_said_beside_them(tmp_path: Path) -> None:
    notes, results = tmp_path / "notes.toml", tmp_path / "results.md"
    notes.write_text(NOTED)
    measured = figure("reading", 1234, baseline=5000, aim=ratio_at_least(0.5))
    write_results([measured], ["reading", "writing"], results=results, notes_file=notes)
    opening, _, section = results.read_text().partition("## ")
    heading, _, first, _, *rest = section.splitlines()
    machine, rest = rest[: len(described())], rest[len(described()) :]
    assert machine == [f"- {line}" for line in described()]
    assert opening.startswith("# Measured\n")
    assert heading == "How fast it reads"
    assert first.startswith("`python -m benchmarks --only reading`, ")
    assert first.endswith(" With a key.")
    assert rest == [
        "",
        "| figure | value | baseline | ratio | aim | met | detail |",
        "|---|---|---|---|---|---|---|",
        "| a record | 1,234 req/s | 5,000 (nothing) | 0.25 | ratio ≥ 0.5 | **no** | in 3 rounds |",
        "",
        "What comes after.",
        "",
        "- *a record*: The floor is the disk.",
    ]


def test_a_run_leaves_the_sections_of_what_it_did_not_measure(tmp_path: Path) -> None:
    notes, results = tmp_path / "notes.toml", tmp_path / "results.md"
    notes.write_text(NOTED)
    order = ["reading", "writing"]
    for measured in (figure("writing", 1), figure("reading", 2), figure("reading", 3)):
        write_results([measured], order, results=results, notes_file=notes)
    headings = [line for line in results.read_text().splitlines() if line.startswith("## ")]
    rows = [line for line in results.read_text().splitlines() if line.startswith("| a record")]
    assert headings == ["## How fast it reads", "## How fast it writes"]
    assert rows == [
        "| a record | 3 req/s |  |  |  |  | in 3 rounds |",
        "| a record | 1 req/s |  |  |  |  | in 3 rounds |",
    ]


def test_every_group_has_a_title_and_a_word_on_how_it_is_measured(tmp_path: Path) -> None:
    results = tmp_path / "results.md"
    write_results([figure(group, 1) for group in MODULES], list(MODULES), results=results)
    assert NOTES.exists()
    assert not [line for line in results.read_text().splitlines() if line[3:] in MODULES]


def test_a_scale_picks_its_own_size() -> None:
    assert [scale.pick("all", "little") for scale in Scale] == ["all", "little"]
