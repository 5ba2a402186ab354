"""`make` from nothing: an environment that was left half-made is made anew."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from requirements.install import own_pins
from tests.kit.process import ROOT, WAIT_SECONDS, environment

STAMP = ".venv/python.stamp"
# On a busy machine, to install pip takes most of a minute.
_MAKING_SECONDS = 4 * WAIT_SECONDS
# As a Python of Debian without `python3-venv`: all is there but pip.
WITHOUT_ENSUREPIP = """
"$REAL" -m venv --without-pip .venv
echo "ensurepip is not available" >&2
exit 1
"""
# Stops in the middle, with half of pip, until it is ended.
STOPS = """
"$REAL" -m venv --without-pip .venv
mkdir .venv/lib/python*/site-packages/pip
echo half-made
exec sleep 600
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with our Makefile and its tool, and nothing that is installed."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements").mkdir()
    shutil.copy(ROOT / "requirements" / "install.py", tmp_path / "requirements")
    return tmp_path


def python_that(folder: Path, does: str) -> Path:
    """A Python that has another `venv`."""
    path = folder / "python"
    path.write_text(
        f'#!/bin/sh\nREAL="{sys.executable}"\n[ "$2" = venv ] || exec "$REAL" "$@"\n{does}'
    )
    path.chmod(0o755)
    return path


def make(folder: Path, python: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own Makefile
        [str(shutil.which("make")), STAMP, f"PYTHON={python}"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_MAKING_SECONDS,
        check=False,
    )


def test_python_that_cannot_make_environments_is_told_of_and_leaves_none(folder: Path) -> None:
    failed = make(folder, python_that(folder, WITHOUT_ENSUREPIP))
    assert failed.returncode == 2
    assert "On Debian and Ubuntu that needs the package python3-venv." in failed.stderr
    assert not (folder / ".venv").exists()


@pytest.mark.timeout(2 * _MAKING_SECONDS)
def test_environment_whose_making_was_interrupted_is_made_anew_and_a_whole_one_kept(
    folder: Path,
) -> None:
    with subprocess.Popen(  # noqa: S603 - our own Makefile
        [str(shutil.which("make")), STAMP, f"PYTHON={python_that(folder, STOPS)}"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as making:
        assert making.stdout is not None
        assert making.stdout.readline() == "half-made\n"
        os.killpg(making.pid, signal.SIGKILL)
    assert not (folder / STAMP).exists()
    assert make(folder, Path(sys.executable)).returncode == 0
    pip = [str(folder / ".venv" / "bin" / "python"), "-m", "pip", "--version"]
    assert subprocess.run(pip, check=False).returncode == 0  # noqa: S603
    (folder / STAMP).rename(folder / ".venv" / "kept")
    assert make(folder, Path(sys.executable)).returncode == 0
    assert (folder / ".venv" / "kept").exists()


def test_each_pin_of_the_locks_is_installed_once() -> None:
    runtime, web, dev = (
        ROOT / "requirements" / f"{name}.lock" for name in ("runtime", "web", "dev")
    )
    assert "".join(own_pins(runtime, [])) == runtime.read_text()
    installed = [
        *own_pins(runtime, []),
        *own_pins(web, [runtime]),
        *own_pins(dev, [runtime, web]),
    ]
    # Markers differ: a package may be needed under more conditions with the tools.
    versions, expected = (
        sorted(pin.partition(" ")[0] for pin in pins) for pins in (installed, own_pins(dev, []))
    )
    assert versions == expected
