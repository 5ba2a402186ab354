"""Install environments of Python and packages of Debian for the Makefile.

    install.py environment FOLDER          create a virtual environment, unless it is whole
    install.py pins FOLDER LOCK            install the pins of a lock into one
    install.py debian PACKAGE PROGRAM      install a package of Debian if a program is missing

Needs the standard library alone: it runs before anything is installed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON = os.environ.get("PYTHON", sys.executable)
PIP_OPTIONS = ("--quiet", "--disable-pip-version-check", "--no-input")
WHOLE_PIP = """
import importlib.metadata as m, sys
sys.exit(not all(each.locate().exists() for each in m.files("pip")))
"""


def main() -> None:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(prog="install.py")
    commands = parser.add_subparsers(dest="command", required=True)
    environment = commands.add_parser("environment")
    environment.add_argument("folder", type=Path)
    pins = commands.add_parser("pins")
    pins.add_argument("folder", type=Path)
    pins.add_argument("lock", type=Path)
    pins.add_argument("--clear", action="store_true", help="create the environment again first")
    pins.add_argument("--without", type=Path, action="append", default=[])
    debian = commands.add_parser("debian")
    debian.add_argument("package")
    debian.add_argument("program")
    debian.add_argument("--into", type=Path)
    options = parser.parse_args()
    if options.command == "debian":
        install_debian_package(options.package, options.program, options.into)
        return
    if options.command == "environment" or options.clear:
        create_environment(options.folder, clear=options.command == "pins")
    if options.command == "pins":
        install_pins(options.folder, options.lock, options.without)


def create_environment(folder: Path, *, clear: bool) -> None:
    """Create an environment; without `clear`, keep one whose pip is whole.

    pip writes the list of its files last, so an interrupted installation is not whole.
    """
    if sys.version_info < (3, 11):  # noqa: UP036 - older ones are what it is for
        sys.exit("Pagefault needs Python 3.11 or later; name one: make PYTHON=python3.12 …")
    python = folder / "bin" / "python"
    if not clear and python.exists() and _succeeds(str(python), "-c", WHOLE_PIP):
        return
    if subprocess.call([PYTHON, "-m", "venv", "--clear", str(folder)]):  # noqa: S603
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit(
            f"No environment could be made in {folder}. "
            "On Debian and Ubuntu that needs the package python3-venv."
        )


def install_pins(folder: Path, lock: Path, without: "list[Path]") -> None:
    """Install the pins of a lock that no other lock has.

    Several processes install into one environment at the same time, so no two may install the same
    package. `--no-deps`: the lock names everything, and pip would look for newer versions.
    """
    print(f"Installing {lock} …", flush=True)  # noqa: T201
    with tempfile.NamedTemporaryFile("w", suffix=".lock") as own:
        own.write("".join(own_pins(lock, without)))
        own.flush()
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", *PIP_OPTIONS]
        command += ["--no-deps", "--require-hashes", "-r", own.name]
        sys.exit(subprocess.call(command))  # noqa: S603


def own_pins(lock: Path, without: "list[Path]") -> "list[str]":
    """Return the pins of a lock, with their hashes, whose packages no other lock has.

    A package may have several pins, one for each version of Python.
    """
    others = {_package(pin) for other in without for pin in _pins(other)}
    return [pin for pin in _pins(lock) if _package(pin) not in others]


def _pins(lock: Path) -> "list[str]":
    return [pin for pin in re.split(r"^(?=\S)", lock.read_text(), flags=re.MULTILINE) if pin]


def _package(pin: str) -> str:
    return pin.partition("==")[0]


def install_debian_package(package: str, program: str, into: "Path | None") -> None:
    """Install a package, or unpack it into a folder, if a program is missing.

    Unpacking starts no service. Where the package cannot be installed, the command says so and
    succeeds: the tests that need it fail by themselves.
    """
    if shutil.which(program) or (into and (into / program.lstrip("/")).exists()):
        return
    download = ["apt-get", "download", "-qq", package]
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    if shutil.which("apt-get") and (into or os.geteuid() == 0):
        print(f"Installing {package} for the tests …", flush=True)  # noqa: T201
        if into:
            into.mkdir(parents=True, exist_ok=True)
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        command = download if into else install
        done = _succeeds(*command, folder=into) or (
            _succeeds("apt-get", "update", "-qq") and _succeeds(*command, folder=into)
        )
        if done and into:
            *_, archive = sorted(into.glob(f"{package}_*.deb"))
            done = _succeeds("dpkg", "-x", archive.name, ".", folder=into)
        if done:
            return
    sys.stderr.write(f"Some tests need Debian's package {package}; install it.\n")


def _succeeds(*command: str, folder: "Path | None" = None) -> bool:
    """Run a command without its output, and return whether its status is 0."""
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603
    return done.returncode == 0


if __name__ == "__main__":
    main()
