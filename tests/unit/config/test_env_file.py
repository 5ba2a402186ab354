"""Lines of a file of settings, and what the environment makes of them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.config.env_file import EnvFileError, add_env_file

NAME = "PAGEFAULT_PUBLIC_URL"


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    """The environment without settings, put back in the end."""
    before = dict(os.environ)
    for name in before:
        if name.upper().startswith("PAGEFAULT_"):
            del os.environ[name]
    kept = dict(os.environ)
    yield kept
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings"


def added(environ: dict[str, str]) -> dict[str, str]:
    """Return the new variables of the environment."""
    return {name: value for name, value in os.environ.items() if name not in environ}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("PAGEFAULT_PUBLIC_URL=http://a", "http://a"),
        ("  export PAGEFAULT_PUBLIC_URL = http://a  ", "http://a"),
        ("pagefault_public_url=http://a", "http://a"),
        ("PAGEFAULT_PUBLIC_URL=", ""),
        ("PAGEFAULT_PUBLIC_URL=http://a # a note", "http://a"),
        ("PAGEFAULT_PUBLIC_URL=http://a#b", "http://a#b"),
        ("PAGEFAULT_PUBLIC_URL='a # b' # a note", "a # b"),
        ("PAGEFAULT_PUBLIC_URL='$HOME ${A} `b` \\n'", "$HOME ${A} `b` \\n"),
        ("PAGEFAULT_PUBLIC_URL=$HOME", "$HOME"),
        ('PAGEFAULT_PUBLIC_URL="a \\"b\\" \\\\ \\n$c"', 'a "b" \\ \n$c'),
        ("PAGEFAULT_PUBLIC_URL=a=b", "a=b"),
        ("PAGEFAULT_PUBLIC_URL=a\r", "a"),
        ("\ufeffPAGEFAULT_PUBLIC_URL=a", "a"),
    ],
)
def test_line_sets_a_value(environ: dict[str, str], file: Path, line: str, value: str) -> None:
    file.write_text(f"{line}\n", newline="")
    add_env_file(file, None)
    assert added(environ) == {NAME: value}


def test_comments_blank_lines_and_names_of_other_programs_set_nothing(
    environ: dict[str, str], file: Path
) -> None:
    file.write_text("# a note\n\n \t\nPATH=/nowhere\nPOSTGRES_PASSWORD=x\nX=1\nX=2\n")
    add_env_file(file, None)
    assert (added(environ), os.environ["PATH"]) == ({}, environ["PATH"])


def test_setting_of_the_specification_is_one(environ: dict[str, str], file: Path) -> None:
    file.write_text("DECTO_DEBUG_TOOL_RESULT_RAW=true\n")
    add_env_file(file, None)
    assert added(environ) == {"DECTO_DEBUG_TOOL_RESULT_RAW": "true"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAGEFAULT_PORT", ", line 1: is not NAME=value"),
        (b"\n- PAGEFAULT_PORT=1", ", line 2: is not NAME=value"),
        (b"PAGEFAULT_PORT: secret", ", line 1: is not NAME=value"),
        (b"PAGEFAULT_PUBLIC_URL='secret", ", line 1: is not NAME=value"),
        (b"PAGEFAULT_PUBLIC_URL='a' secret", ", line 1: is not NAME=value"),
        (b'PAGEFAULT_PUBLIC_URL="secret\\"', ", line 1: is not NAME=value"),
        (b"PAGEFAULT_PUBLIC_URL=secret\0", ", line 1: is not NAME=value"),
        (
            b"A=1\nPAGEFAULT_PORT=1\npagefault_port=2",
            ", line 3: PAGEFAULT_PORT is set a second time",
        ),
        (b"PAGEFAULT_PUBLIC_URL=\xff", " is not UTF-8"),
        (b"PAGEFAULT_PROT=1", ": PAGEFAULT_PROT is not a setting. Did you mean PAGEFAULT_PORT?"),
    ],
)
def test_invalid_file_raises_with_its_line_and_sets_nothing(
    environ: dict[str, str], file: Path, content: bytes, message: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(EnvFileError) as refused:
        add_env_file(file, None)
    assert str(refused.value) == f"{file}{message}"
    assert added(environ) == {}


def test_variables_of_the_client_of_a_bucket_are_settings_too(
    environ: dict[str, str], file: Path
) -> None:
    lines = {"AWS_SESSION_TOKEN": "token", "PAGEFAULT_BLOBS__URL": "s3://bucket"}
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    add_env_file(file, None)
    assert added(environ) == lines


def test_named_file_has_to_be_there(file: Path) -> None:
    with pytest.raises(EnvFileError, match=r"cannot read .*: No such file or directory"):
        add_env_file(file, None)


def test_data_directory_without_a_file_sets_nothing(
    environ: dict[str, str], tmp_path: Path
) -> None:
    add_env_file(None, tmp_path)
    assert added(environ) == {}


def test_file_of_a_data_directory_cannot_name_another(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("PAGEFAULT_DATA_DIR=/elsewhere\n")
    with pytest.raises(EnvFileError, match="PAGEFAULT_DATA_DIR led to this file"):
        add_env_file(None, tmp_path)
    assert added(environ) == {}


def test_member_of_a_group_that_the_environment_sets_whole_is_refused(
    environ: dict[str, str], file: Path
) -> None:
    os.environ["PAGEFAULT_LIMITS"] = '{"body_bytes": 1}'
    file.write_text("PAGEFAULT_LIMITS__TEXT_BYTES=1\n")
    with pytest.raises(EnvFileError, match="is a part of PAGEFAULT_LIMITS, which the environment"):
        add_env_file(file, None)
    assert added(environ) == {"PAGEFAULT_LIMITS": '{"body_bytes": 1}'}
