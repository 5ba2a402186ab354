"""The reviewed readings of the corpora in `readings.jsonl`.

`.venv/bin/python -m packages.dialects.tests.dialects.reviewed_readings` writes the file anew;
review the difference.
"""

import json
from pathlib import Path

from packages.dialects.tests.dialects.member_changes import (
    change_bodies,
    change_messages,
    change_results,
)
from packages.dialects.tests.dialects.readings import (
    BODIES,
    MESSAGES,
    RESULTS,
    Readings,
    dump,
    read_bodies,
    read_messages,
    read_results,
)

FILE = Path(__file__).with_name("readings.jsonl")


def load() -> Readings:
    """Return the readings in the file."""
    lines = map(json.loads, FILE.read_text().splitlines())
    return {
        f"{kind} {case}": dump(reading) for kind, cases, reading in lines for case in cases.split()
    }


def _write() -> None:
    """Write one line for each reading, with the cases that have it.

    Of cases that changes of members affect alike, one is enough.
    """
    cases: dict[tuple[str, str], list[str]] = {}
    for name, reading in (read_messages() | read_bodies() | read_results()).items():
        kind, _, case = name.partition(" ")
        cases.setdefault((kind, reading), []).append(case)
    changes = (
        change_messages(MESSAGES),
        change_bodies(BODIES),
        change_results(RESULTS),
    )
    for readings in changes:
        for name, reading in readings.items():
            kind, _, case = name.partition(" ")
            cases.setdefault((kind, reading), [case])
    lines = (
        f"[{json.dumps(kind)}, {json.dumps(' '.join(names))}, {reading}]\n"
        for (kind, reading), names in cases.items()
    )
    FILE.write_text("".join(lines))


if __name__ == "__main__":
    _write()
