"""Random lines of the code, for a trial of the names of files."""

import pytest

from tests.kit.process import ROOT
from tests.random_lines import code_lines, main

pytestmark = pytest.mark.engines("embedded")

SOURCE = '''"""A module."""

LIMIT = one + two + three


def load(name):
    """Load one more thing."""
    import os.path.one

    # One two three.
    if name:
        return read(name, LIMIT)  # at last
'''


def test_lines_of_functions_are_chosen_without_docstrings_imports_and_comments() -> None:
    assert list(code_lines("a.py", SOURCE)) == [("a.py:12", "return read(name, LIMIT)  # at last")]


@pytest.mark.slow
def test_a_seed_prints_ten_lines_at_their_places(capsys: pytest.CaptureFixture[str]) -> None:
    main("1", "--places")
    printed = capsys.readouterr().out.splitlines()
    for line, place in zip(printed[::2], printed[1::2], strict=True):
        path, _, number = place.strip().partition(":")
        assert (ROOT / path).read_text().splitlines()[int(number) - 1].strip() in line
    main("1")
    assert capsys.readouterr().out.splitlines() == printed[::2]
    assert len(printed) == 20
