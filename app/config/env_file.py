"""Settings in a file: `.env` in the data directory, or the file that a command is given.

A line is `NAME=value`, as Compose and systemd write it too: `#` begins a comment, a value may stand
in quotes, nothing in it is replaced. What the file sets becomes part of the environment, where
every process of the service reads it; what the environment sets already stays.

Source: the rules of `docs/settings.md`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.config.names import PREFIX, RAW_RESULTS, misspelt
from app.config.settings import Settings

DATA_DIR = "PAGEFAULT_DATA_DIR"
DEFAULT_DATA_DIR = Path("data")
FILE_NAME = ".env"

_OF_AWS = "AWS_"
_BUCKET = f"{PREFIX}BLOBS__URL"
_OWN_NAMES = {
    "AWS_ACCESS_KEY_ID": f"{PREFIX}BLOBS__S3_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY": f"{PREFIX}BLOBS__S3_SECRET_ACCESS_KEY",
    "AWS_REGION": f"{PREFIX}BLOBS__S3_REGION",
    "AWS_DEFAULT_REGION": f"{PREFIX}BLOBS__S3_REGION",
    "AWS_ENDPOINT": f"{PREFIX}BLOBS__S3_ENDPOINT",
    "AWS_ENDPOINT_URL": f"{PREFIX}BLOBS__S3_ENDPOINT",
    "AWS_ENDPOINT_URL_S3": f"{PREFIX}BLOBS__S3_ENDPOINT",
}
_LARGEST_BYTES = 1024 * 1024
_LINE = re.compile(r"(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?P<value>.*)")
_QUOTED = re.compile(r"""(?:'(?P<plain>[^']*)'|"(?P<escaped>(?:[^"\\]|\\.)*)")[ \t]*(?:#.*)?""")
_COMMENT = re.compile(r"[ \t]#")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class EnvFileError(Exception):
    """The file is not one of settings; the message says where and why, and repeats no value."""


def add_env_file(env_file: Path | None, data_dir: Path | None) -> None:
    """Add the settings of a file to the environment.

    Args:
        env_file: The file; `.env` in the data directory if not given, where there is one.
        data_dir: The data directory, unless the environment names it.

    Raises:
        EnvFileError: It cannot be read, a line is none, or it sets what is no setting.
    """
    file = env_file or _file_of(data_dir)
    if file is None:
        return
    given = _settings_in(file)
    if env_file is None and DATA_DIR in given:
        raise EnvFileError(
            f"{file}: {DATA_DIR} led to this file and cannot be set in it; set it in the "
            "environment, or name the file with --env-file"
        )
    os.environ.update(_not_set_yet(file, given))


def _file_of(data_dir: Path | None) -> Path | None:
    """Return `.env` of the data directory, if there is one.

    Raises:
        EnvFileError: Nobody has named the directory. It is the one below the working directory
            then, and who starts a command in a folder need not trust what is in it.
    """
    named = data_dir or os.environ.get(DATA_DIR)
    file = Path(named or DEFAULT_DATA_DIR) / FILE_NAME
    if not file.is_file():
        return None
    if named is None:
        raise EnvFileError(
            f"there is a file {file}, which is read only if its folder is named: say --data-dir "
            f"{DEFAULT_DATA_DIR}, or name another one"
        )
    return file


def _settings_in(file: Path) -> dict[str, str]:
    """Return the settings in a file; names of other programs are left out."""
    try:
        with file.open("rb") as source:
            content = source.read(_LARGEST_BYTES + 1)
    except OSError as exc:
        raise EnvFileError(f"cannot read {file}: {os.strerror(exc.errno or 0)}") from exc
    if len(content) > _LARGEST_BYTES:
        raise EnvFileError(f"{file} is too large for a file of settings")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise EnvFileError(f"{file} is not UTF-8") from exc
    given: dict[str, str] = {}
    foreign: dict[str, int] = {}
    for number, (name, value) in _assignments(file, text):
        if name.startswith(_OF_AWS):
            foreign[name] = number
        if not name.startswith(PREFIX) and name != RAW_RESULTS:
            continue
        if name in given:
            raise EnvFileError(f"{file}, line {number}: {name} is set a second time")
        given[name] = value
    if wrong := misspelt(given, Settings):
        raise EnvFileError(f"{file}: {'; '.join(wrong)}")
    _check_foreign(file, foreign, given)
    return given


def _check_foreign(file: Path, foreign: Mapping[str, int], given: Mapping[str, str]) -> None:
    """Refuse what the client of a bucket reads from the environment, and not from a file."""
    is_set = given.keys() | {name.upper() for name in os.environ}
    if _BUCKET not in is_set:
        return
    for name, number in foreign.items():
        own = _OWN_NAMES.get(name)
        if own not in is_set:
            instead = "set it in the environment" if own is None else f"name it {own}"
            raise EnvFileError(f"{file}, line {number}: {name} is not read from here: {instead}")


def _assignments(file: Path, text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield what each line sets, with its number."""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _LINE.fullmatch(stripped)
        value = None if found is None else _value(found["value"])
        if found is None or value is None or "\0" in value:
            raise EnvFileError(f"{file}, line {number}: is not NAME=value on one line")
        yield number, (found["name"].upper(), value)


def _value(text: str) -> str | None:
    """Return a value without its quotes and the comment behind it; `None` if it is none."""
    if text[:1] not in ("'", '"'):
        comment = _COMMENT.search(f" {text}")
        return text if comment is None else text[: max(0, comment.start() - 1)].rstrip()
    found = _QUOTED.fullmatch(text)
    if found is None:
        return None
    if found["plain"] is not None:
        return found["plain"]
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), found["escaped"])


def _not_set_yet(file: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return what the environment has not; the case of names does not matter there."""
    is_set = {name.upper() for name in os.environ}
    for name in given:
        group = name.partition("__")[0]
        if group != name and group in is_set:
            raise EnvFileError(
                f"{file}: {name} is a part of {group}, which the environment sets as a whole: "
                "set its parts one by one there"
            )
    return {name: value for name, value in given.items() if name not in is_set}
