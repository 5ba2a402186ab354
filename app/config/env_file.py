"""Read settings from a file: `.env` in the data directory, or the file of `--env-file`.

The file has the format of python-dotenv, but variables in values are not expanded. Its settings are
added to the environment, which all processes of the service read. They do not replace existing
variables. The rules are documented in `docs/settings.md`.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from dotenv.parser import parse_stream

from app.config.settings import PREFIX, RAW_RESULTS_VARIABLE, Settings, find_unknown_variables

DATA_DIR_VARIABLE = "PAGEFAULT_DATA_DIR"
DEFAULT_DATA_DIR = Path("data")
ENV_FILE_NAME = ".env"
# The client of the object store and the SDK of OpenTelemetry read variables of their own, which may
# also be in the file.
_PREFIXES = (PREFIX, "AWS_", "OTEL_")


class EnvFileError(Exception):
    """A file of settings is invalid; the message has the line and the reason, and no value."""


def add_env_file(env_file: Path | None, data_dir: Path | None) -> None:
    """Add the settings of a file to the environment.

    Args:
        env_file: The file. By default `.env` in the data directory, if it exists.
        data_dir: The data directory. By default, the one in the environment.

    Raises:
        EnvFileError: The file cannot be read, or a line is not a valid setting.
    """
    file = env_file or _find_file(data_dir)
    if file is None:
        return
    settings = _read_settings(file)
    if env_file is None and DATA_DIR_VARIABLE in settings:
        raise EnvFileError(
            f"{file}: {DATA_DIR_VARIABLE} led to this file and cannot be set in it; set it in the "
            "environment, or name the file with --env-file"
        )
    os.environ.update(_unset_settings(file, settings))


def _find_file(data_dir: Path | None) -> Path | None:
    """Return the path of `.env` in the data directory, if the file exists.

    Raises:
        EnvFileError: No data directory is set, and the default one has a `.env`. The default one is
            in the working directory, and a command that is started in a foreign directory must not
            read settings there.
    """
    directory = data_dir or os.environ.get(DATA_DIR_VARIABLE)
    file = Path(directory or DEFAULT_DATA_DIR) / ENV_FILE_NAME
    if not file.is_file():
        return None
    if directory is None:
        raise EnvFileError(
            f"there is a file {file}, which is read only if its folder is named: say --data-dir "
            f"{DEFAULT_DATA_DIR}, or name another one"
        )
    return file


def _read_settings(file: Path) -> dict[str, str]:
    """Return the settings of a file by name; variables of other programs are ignored."""
    settings: dict[str, str] = {}
    for number, name, value in _read_assignments(file):
        if not name.startswith(_PREFIXES) and name != RAW_RESULTS_VARIABLE:
            continue
        if name in settings:
            raise EnvFileError(f"{file}, line {number}: {name} is set a second time")
        settings[name] = value
    if errors := find_unknown_variables(settings, Settings):
        raise EnvFileError(f"{file}: {'; '.join(errors)}")
    return settings


def _read_assignments(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the name in upper case, and the value of each assignment."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            bindings = list(parse_stream(lines))
    except OSError as exc:
        raise EnvFileError(f"cannot read {file}: {os.strerror(exc.errno or 0)}") from exc
    except UnicodeDecodeError as exc:
        raise EnvFileError(f"{file} is not UTF-8") from exc
    for binding in bindings:
        text = binding.original.string
        # The text of a binding begins with the blank lines before it.
        number = binding.original.line + text[: -len(text.lstrip())].count("\n")
        is_set = binding.value is not None and "\0" not in binding.value
        if binding.error or (binding.key is not None and not is_set):
            raise EnvFileError(f"{file}, line {number}: is not NAME=value")
        if binding.key is not None:
            yield number, binding.key.upper(), binding.value or ""


def _unset_settings(file: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that the environment does not have. The case of names does not matter.

    Raises:
        EnvFileError: The environment sets a whole group as JSON, and the file a part of this group.
    """
    environment = {name.upper() for name in os.environ}
    for name in settings:
        group = name.partition("__")[0]
        if group != name and group in environment:
            raise EnvFileError(
                f"{file}: {name} is a part of {group}, which the environment sets as a whole: "
                "set its parts one by one there"
            )
    return {name: value for name, value in settings.items() if name not in environment}
