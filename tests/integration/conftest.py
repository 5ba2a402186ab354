"""Fixtures of the tests of records: a fresh database with two projects."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from app.config.settings import Settings
from app.stores.records.records import Records
from app.wiring.stores import migrate_database, open_database
from tests.kit.units import projects_of

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def records(settings: Settings) -> AsyncIterator[Records]:
    """Records of the projects `p` and `other`, in which nothing is yet."""
    await migrate_database(settings)
    opened = Records(open_database(settings))
    async with projects_of(opened) as projects:
        for project in ("p", "other"):
            await projects.ensure(project, _NOW)
    yield opened
    await opened.close()
