"""The key that a data directory has of its own."""

import stat
from pathlib import Path

import pytest

from app.config.settings import Settings
from app.wiring.open_stores import read_signing_keys


@pytest.mark.promise(
    "security.md#links-and-keys",
    "The signing key that a data directory has of its own can be read by its owner alone",
    kept_by="app/wiring/open_stores.py",
    tried="the mode of the file: 600",
)
def test_own_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    (made,) = read_signing_keys(settings)
    (place,) = tmp_path.iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert f"{made.key_id}:{made.secret.decode()}" == place.read_text()
    assert list(read_signing_keys(settings)) == [made]
    assert list(tmp_path.iterdir()) == [place]
