"""Whether a text may hold media is found out before they are looked for, wherever they stand."""

import pytest

from pagefault_dialects.media.base64_runs import has_long_run
from pagefault_dialects.media.data_uris import has_scheme
from pagefault_dialects.text_windows import WINDOW_CHARS

PLACES = [0, 1, *range(WINDOW_CHARS - 42, WINDOW_CHARS + 2), 2 * WINDOW_CHARS - 20]


@pytest.mark.parametrize("around", [" ", "é", "\U0001f600", "\ud800"])
@pytest.mark.parametrize("scheme", ["data:", "DATA:", "dAtA%3a", "Data%3A"])
def test_scheme_is_seen_wherever_it_stands(scheme: str, around: str) -> None:
    for place in PLACES:
        assert has_scheme(around * place + scheme + around)
    assert not has_scheme(f"{around * WINDOW_CHARS}{scheme[:-1]}{around}dat{around}")


@pytest.mark.parametrize("around", [" ", "é", "\U0001f600", "\ud800", "=", "\0"])
def test_run_is_seen_wherever_it_begins(around: str) -> None:
    run = "aZ09+/-_" * 5
    for place in PLACES:
        assert has_long_run(around * place + run + around)
    assert not has_long_run(f"{around * (WINDOW_CHARS - 9)}{run[1:]}{around}{run[1:]}")
    assert has_long_run(around + "\\/" * 40 + around)
