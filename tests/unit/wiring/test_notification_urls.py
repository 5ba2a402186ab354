"""URLs of notifications: an invalid one is named at the start, without any part of it."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.config.settings import DatabaseSettings, EventSettings, Settings
from app.wiring.startup_errors import SettingError
from app.wiring.stores import open_broker, open_database

pytestmark = pytest.mark.anyio
URL = SecretStr("postgresql://u@127.0.0.1:1/d")
REDIS_FORM = "PAGEFAULT_EVENTS__REDIS_URL must look like redis://user:password@host:6379/0"


async def refusal(folder: Path, db: dict[str, Any], events: dict[str, Any]) -> str:
    """Return why a broker is not opened."""
    settings = Settings(
        data_dir=folder, db=DatabaseSettings(url=URL, **db), events=EventSettings(**events)
    )
    with pytest.raises(SettingError) as raised:
        async with open_broker(settings, open_database(settings)):
            pass
    return str(raised.value)


@pytest.mark.parametrize("url", ["localhost:6379", "http://:secret@h", "redis://:secret@h:port"])
async def test_url_that_is_none_of_redis_is_named(url: str, tmp_path: Path) -> None:
    assert await refusal(tmp_path, {}, {"redis_url": url}) == REDIS_FORM


async def test_missing_client_of_redis_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "app.wiring.brokers.redis", raising=False)
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    text = await refusal(tmp_path, {}, {"redis_url": "redis://h"})
    assert text == (
        "PAGEFAULT_EVENTS__REDIS_URL needs the extra redis: pip install 'pagefault[redis]'"
    )


async def test_address_that_is_none_of_a_database_is_named(tmp_path: Path) -> None:
    text = await refusal(tmp_path, {"listen_url": "mysql://u:secret@h/d"}, {})
    assert text.startswith("PAGEFAULT_DB__LISTEN_URL must look like postgresql://")
    assert "secret" not in text
