"""The service may have as many files open as its limits ask for, where the system lets it."""

import subprocess
import sys

import pytest

from tests.kit.process import ROOT, environment

_ALLOWED = """
import resource
from app.server.uvicorn_config import allow_open_files
from app.models.limits import Limits
from app.config.settings import Settings

resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
allow_open_files(Settings(limits=Limits(connections_at_once=500, requests_at_once=100)))
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.promise(
    "security.md#memory-and-processor",
    (
        "`PAGEFAULT_LIMITS__CONNECTIONS_AT_ONCE` connections may be open, where the system "
        "lets a process raise its limit of open files"
    ),
    kept_by="app/server/uvicorn_config.py",
    tried="3 limits of the system",
)
@pytest.mark.parametrize(
    ("soft", "hard", "after", "is_told"),
    [
        (128, 1_000, (856, 1_000), False),
        (900, 1_000, (900, 1_000), False),
        (128, 700, (700, 700), True),
    ],
    ids=["raised", "enough", "not to be had"],
)
def test_files_are_allowed_as_far_as_they_are_to_be_had(
    soft: int, hard: int, after: tuple[int, int], is_told: bool
) -> None:
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _ALLOWED.format(soft=soft, hard=hard)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    *told, allowed = done.stdout.splitlines()
    assert allowed == str(after)
    assert any("fewer open files than connections" in line for line in told) == is_told
