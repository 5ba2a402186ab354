"""The address of the database: what is no address is named, without what stands in it."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from app.config.settings import DatabaseSettings, Settings
from app.wiring.startup_errors import SettingError
from app.wiring.stores import open_database

LOOKS = "PAGEFAULT_DB__URL must look like postgresql://user:password@host/name"


@pytest.mark.parametrize(
    "url", ["nonsense", "mysql://u:secret@h/d", "postgresql://u:secret@h:x/d", "://", " "]
)
def test_what_is_no_address_of_a_database_is_named(url: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, db=DatabaseSettings(url=SecretStr(url)))
    with pytest.raises(SettingError) as raised:
        open_database(settings)
    assert str(raised.value) == LOOKS


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (
            "postgresql://u:sec@ret@h/d",
            "PAGEFAULT_DB__URL has an @ before the one behind the password: write it as %40",
        ),
        (
            "postgresql://u:secret@a..b/d",
            "PAGEFAULT_DB__URL has a host that is no name, such as db.internal",
        ),
    ],
)
def test_what_no_driver_should_be_given_is_named(url: str, sentence: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, db=DatabaseSettings(url=SecretStr(url)))
    with pytest.raises(SettingError) as raised:
        open_database(settings)
    assert str(raised.value) == sentence


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgresql+asyncpg"])
def test_whichever_driver_is_named_ours_is_taken(scheme: str, tmp_path: Path) -> None:
    url = SecretStr(f"{scheme}://u:secret@h/d")
    engines = open_database(Settings(data_dir=tmp_path, db=DatabaseSettings(url=url)))
    assert str(engines.writer.url) == "postgresql+psycopg://u:***@h/d"


def test_empty_address_is_none() -> None:
    assert DatabaseSettings(url=SecretStr("")).url is None
