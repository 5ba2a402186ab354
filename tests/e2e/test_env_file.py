"""Settings in a file: which file is read by whom, and what is said of mistakes in it."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import ROOT, WAIT_SECONDS, PagefaultProcess, environment

FOREIGN = "PAGEFAULT_AUTH=api-key\nPAGEFAULT_NO_SUCH_SETTING=1\nPAGEFAULT_DATA_DIR=/nowhere\n"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A working directory that is somebody else's, with a file of settings."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / ".env").write_text(FOREIGN)
    return folder


def migrate(
    folder: Path, *options: str, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """The status, the first word and the errors of a command that is started in a folder."""
    done = LoadedCommand().run("migrate", *options, folder=folder, env=env)
    return done.returncode, done.stdout.partition(" ")[0], done.stderr.strip()


def test_serve_and_its_workers_read_the_file_of_the_data_directory_and_no_other(
    data_dir: Path, foreign: Path
) -> None:
    (data_dir / ".env").write_text("# Ours.\nPAGEFAULT_LIMITS__MEDIUM_BYTES='2000'\n")
    options = ("--workers", "2")
    with (
        PagefaultProcess(data_dir, options=options, folder=foreign) as process,
        process.client() as client,
    ):
        sizes = (2_000, 2_001)
        answers = [client.post("/api/resources", content=bytes(size)) for size in sizes]
    assert [answer.status_code for answer in answers] == [201, 413]


def test_make_migrates_the_data_directory_that_it_serves() -> None:
    make = shutil.which("make")
    assert make is not None
    told = subprocess.run(  # noqa: S603 - our own Makefile, which only says what it would do
        [make, "--no-print-directory", "-n", "-o", "install", "migrate"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_SECONDS,
    ).stdout
    assert told == '.venv/bin/pagefault migrate --data-dir "${PAGEFAULT_DATA_DIR:-data}"\n'


@pytest.mark.promise(
    "security.md#settings",
    "No command and no worker reads a settings file in the working directory",
    kept_by="app/config/env_file.py",
    tried="2 ways to name the data directory",
)
def test_file_of_the_working_directory_is_not_read_by_a_command(
    data_dir: Path, foreign: Path
) -> None:
    assert migrate(foreign, "--data-dir", str(data_dir)) == (0, "Migrated", "")
    # Not even by one that takes its data directory from there.
    assert migrate(foreign) == (0, "Migrated", "")
    assert (foreign / "data" / "pagefault.db").exists()


@pytest.mark.promise(
    "security.md#settings",
    "A settings file in a data directory that nobody named is not read",
    kept_by="app/config/env_file.py",
    tried="1 start refused",
)
def test_file_in_a_data_directory_that_nobody_named_is_told_of_and_not_read(foreign: Path) -> None:
    (foreign / "data").mkdir()
    (foreign / "data" / ".env").write_text(FOREIGN)
    told = (
        "pagefault: there is a file data/.env, which is read only if its folder is named: say "
        "--data-dir data, or name another one"
    )
    assert migrate(foreign) == (2, "", told)
    assert list((foreign / "data").iterdir()) == [foreign / "data" / ".env"]


def test_named_file_is_read_and_that_of_the_data_directory_is_not(
    data_dir: Path, tmp_path: Path
) -> None:
    (data_dir / ".env").write_text("PAGEFAULT_NO_SUCH_SETTING=1\n")
    file = tmp_path / "settings"
    file.write_text(f"PAGEFAULT_DATA_DIR={data_dir}\n")
    assert migrate(tmp_path, "--env-file", str(file)) == (0, "Migrated", "")
    assert (data_dir / "pagefault.db").exists()


def test_environment_comes_before_the_file(data_dir: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    file = tmp_path / "settings"
    file.write_text(f"PAGEFAULT_DATA_DIR={other}\n")
    env = {"pagefault_data_dir": str(data_dir)}
    assert migrate(tmp_path, "--env-file", str(file), env=env) == (0, "Migrated", "")
    assert (data_dir / "pagefault.db").exists()
    assert not other.exists()


def test_log_format_of_the_file_holds_for_what_is_said_of_it(data_dir: Path) -> None:
    (data_dir / ".env").write_text("PAGEFAULT_LOG_FORMAT=json\nPAGEFAULT_LOG_LEVEL=loud\n")
    status, _, told = migrate(data_dir, "--data-dir", str(data_dir))
    assert (status, told[:1], told[-1:]) == (2, "{", "}")
    assert "PAGEFAULT_LOG_LEVEL" in told


def test_misspelt_name_in_the_file_is_told_as_one_of_the_environment_is(data_dir: Path) -> None:
    (data_dir / ".env").write_text("PAGEFAULT_LOG_LEVLE=info\n")
    assert migrate(data_dir, "--data-dir", str(data_dir)) == (
        *(2, ""),
        f"pagefault: {data_dir}/.env: PAGEFAULT_LOG_LEVLE is not a setting. Did you mean "
        "PAGEFAULT_LOG_LEVEL?",
    )
