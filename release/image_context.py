"""Tell what `docker build` is given, from `.dockerignore` and the files of the repository."""

import re
import subprocess
from pathlib import Path
from typing import Final

from pathspec import PathSpec

# Nothing of this kind belongs into an image, whatever the patterns say.
_SECRET: Final = re.compile(r"(^|/)(\.env[^/]*|[^/]*\.(pem|key|db|sqlite3?))$")
_COPY: Final = re.compile(r"^COPY (?!--from)(.+)$", re.MULTILINE)


def image_context(root: Path) -> tuple[list[str], list[str]]:
    """Return the files in the order of their names, and what is wrong with them in sentences."""
    ignored = PathSpec.from_lines("gitignore", (root / ".dockerignore").read_text().splitlines())
    files = [name for name in _repository_files(root) if not ignored.match_file(name)]
    problems = [
        f"{name} must not be in the image: add it to .dockerignore"
        for name in files
        if _SECRET.search(name)
    ]
    copied = _COPY.findall((root / "Dockerfile").read_text())
    problems += [
        f"the Dockerfile copies {source}, which .dockerignore leaves out"
        for line in copied
        for source in line.split()[:-1]
        if not any(name == source or name.startswith(f"{source}/") for name in files)
    ]
    return files, problems


def _repository_files(root: Path) -> list[str]:
    """Return every file that git knows or would take."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.splitlines() if (root / name).is_file())
