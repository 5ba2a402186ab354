"""Addresses of databases: all forms of libpq; an invalid one is named, without any part of it."""

import string
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from app.config.settings import DatabaseSettings, Settings
from app.stores.records.database_address import parse_address
from app.wiring.startup_errors import SettingError
from app.wiring.stores import open_database

FORM = (
    "PAGEFAULT_DB__URL must look like postgresql://user:password@host/name, or be another "
    "connection string of libpq, with options that libpq knows; special characters are "
    "percent-encoded in a URL"
)
D = {"user": "u", "password": "p@ss/w?rd", "dbname": "d"}
TWO = D | {"host": "h1,h2", "port": "1,2", "target_session_attrs": "read-write"}
TLS = {"sslmode": "verify-full", "sslrootcert": "/ca", "sslcert": "/c", "sslkey": "/k"}


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "mysql://u:secret@h/d",
        "mysql://u:secret@h/d?a=b",
        "postgresql://u:secret@h:x/d",
        "postgresql://u:sec/ret@h/d",
        "postgresql://u:sec%ret@h/d",
        "postgresql://u:secret@h/d?sslmod=require",
        "host=h sslmod=secret",
        "sqlite:///secret.db",
        "://",
        " ",
    ],
)
def test_what_is_no_address_of_a_database_is_named(url: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, db=DatabaseSettings(url=SecretStr(url)))
    with pytest.raises(SettingError) as raised:
        open_database(settings)
    assert str(raised.value) == FORM


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


@pytest.mark.parametrize(
    ("url", "parameters"),
    [
        ("postgresql://u:p%40ss%2Fw%3Frd@h/d", D | {"host": "h"}),
        ("postgres://u:p%40ss%2Fw%3Frd@h/d", D | {"host": "h"}),
        ("postgresql+psycopg://u:p%40ss%2Fw%3Frd@h/d", D | {"host": "h"}),
        ("postgresql+asyncpg://u:p%40ss%2Fw%3Frd@h/d", D | {"host": "h"}),
        ("host=h user=u password='p@ss/w?rd' dbname=d", D | {"host": "h"}),
        ("postgresql://u:p%40ss%2Fw%3Frd@h1:1,h2:2/d", TWO),
        ("postgresql://u:p%40ss%2Fw%3Frd@/d?host=h1,h2&port=1,2", TWO),
        ("postgresql+psycopg://u:p%40ss%2Fw%3Frd@/d?host=h1:1&host=h2:2", TWO),
        ("postgresql+psycopg://u:p%40ss%2Fw%3Frd@/d?host=h1:1,h2:2", TWO),
        ("host=h1,h2 port=1,2 user=u password=p@ss/w?rd dbname=d", TWO),
        (
            "host=h1,h2 port=1,2 user=u password=p@ss/w?rd dbname=d target_session_attrs=any",
            TWO | {"target_session_attrs": "any"},
        ),
        ("postgresql://u:p%40ss%2Fw%3Frd@[::1]:1/d", D | {"host": "::1", "port": "1"}),
        ("postgresql://u:p%40ss%2Fw%3Frd@%2Frun%2Fpg/d", D | {"host": "/run/pg"}),
        ("postgresql://u:p%40ss%2Fw%3Frd@/d?host=/run/pg", D | {"host": "/run/pg"}),
        (
            "postgresql://u:p%40ss%2Fw%3Frd@h/d?sslmode=verify-full&sslrootcert=/ca"
            "&sslcert=/c&sslkey=/k",
            D | {"host": "h"} | TLS,
        ),
        ("service=s", {"service": "s"}),
    ],
)
def test_each_form_gives_engine_and_listener_the_parameters_of_libpq(
    url: str, parameters: dict[str, str], tmp_path: Path
) -> None:
    address = parse_address(url, tmp_path)
    assert address.parameters == parameters
    assert conninfo_to_dict(address.conninfo) == parameters


def outcome(url: str) -> str:
    """Return all that is printed about an address, or the message if it is refused."""
    try:
        address = parse_address(url, Path())
    except ValueError as exc:
        return f"{exc} {exc.__cause__}"
    return f"{address} {address.display_name}"


@pytest.mark.parametrize("around", [*string.punctuation, "[]", "@/", "/@", "?&", "%4"])
def test_no_character_of_a_password_brings_it_into_a_message(around: str) -> None:
    assert "geheim" not in outcome(f"postgresql://u:{around[0]}geheim{around[-1]}@h/d")


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (None, "data/pagefault.db"),
        ("postgresql://u:secret@h/d", "h/d"),
        ("postgresql://u:secret@h1:1,h2:2/d", "h1:1,h2:2/d"),
        ("postgresql://u:secret@h1,h2/d?port=1", "h1:1,h2:1/d"),
        ("postgresql://u@/d?host=/run/pg&password=secret", "/run/pg/d"),
    ],
)
def test_place_of_a_database_has_no_secret(url: str | None, place: str) -> None:
    address = parse_address(url, Path("data"))
    assert address.display_name == place
    assert "secret" not in f"{address} {address!r}"


def test_empty_address_is_none() -> None:
    assert DatabaseSettings(url=SecretStr("")).url is None
