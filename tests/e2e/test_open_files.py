"""The service may have as many files open as its limits ask for, where the system lets it."""

import json
import subprocess
import sys

import pytest

from tests.kit.process import ROOT, environment

_ALLOWED = """
import json, os, resource, sys
from app.server.uvicorn_config import allow_open_files
from app.models.limits import Limits
from app.config.settings import Settings

for limits in json.loads(sys.argv[1]):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    allow_open_files(Settings(limits=Limits(connections_at_once=500, requests_at_once=100)))
    print(resource.getrlimit(resource.RLIMIT_NOFILE), flush=True)
    break
"""
LIMITS = {"raised": (128, 1_000), "enough": (900, 1_000), "not to be had": (128, 700)}
"""The soft and the hard limit of open files of a process."""


@pytest.mark.promise(
    "security.md#memory-and-processor",
    (
        "`PAGEFAULT_LIMITS__CONNECTIONS_AT_ONCE` connections may be open, where the system "
        "lets a process raise its limit of open files"
    ),
    kept_by="app/server/uvicorn_config.py",
    tried="3 limits of the system",
)
def test_files_are_allowed_as_far_as_they_are_to_be_had() -> None:
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _ALLOWED, json.dumps([*LIMITS.values()])],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    raised, enough, told, not_to_be_had = done.stdout.splitlines()
    assert [raised, enough, not_to_be_had] == ["(856, 1000)", "(900, 1000)", "(700, 700)"]
    assert "fewer open files than connections" in told
