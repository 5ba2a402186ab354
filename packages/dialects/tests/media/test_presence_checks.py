"""A cheap check finds texts that may hold media, wherever the media stand."""

import pytest

from pagefault_dialects.media.base64_runs import has_long_run
from pagefault_dialects.media.data_uris import may_contain_data_uri
from pagefault_dialects.text_windows import WINDOW_CHARS

PLACES = [0, 1, *range(WINDOW_CHARS - 42, WINDOW_CHARS + 2), 2 * WINDOW_CHARS - 20]


@pytest.mark.parametrize("filler", [" ", "é", "\U0001f600", "\ud800"])
@pytest.mark.parametrize("scheme", ["data:", "DATA:", "dAtA%3a", "Data%3A"])
def test_scheme_is_found_at_every_place(scheme: str, filler: str) -> None:
    for place in PLACES:
        assert may_contain_data_uri(filler * place + scheme + filler)
    assert not may_contain_data_uri(f"{filler * WINDOW_CHARS}{scheme[:-1]}{filler}dat{filler}")


@pytest.mark.parametrize("filler", [" ", "é", "\U0001f600", "\ud800", "=", "\0"])
def test_run_of_base64_is_found_at_every_place(filler: str) -> None:
    run = "aZ09+/-_" * 5
    for place in PLACES:
        assert has_long_run(filler * place + run + filler)
    assert not has_long_run(f"{filler * (WINDOW_CHARS - 9)}{run[1:]}{filler}{run[1:]}")
    assert has_long_run(filler + "\\/" * 40 + filler)
