"""Units of work give repositories by type."""

from sqlalchemy import create_engine

from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import Repository, UnitOfWork
from app.stores.records.uploads import UploadRecords


class RowRecords(Repository):
    """A repository that the unit of work cannot know."""


def opened_unit() -> UnitOfWork:
    """A unit over an empty database."""
    return UnitOfWork(create_engine("sqlite://").connect(), "p", {})


def test_unit_makes_each_repository_once() -> None:
    unit = opened_unit()
    found = [unit[ResourceRecords], unit[UploadRecords], unit[RowRecords]]
    assert list(map(type, found)) == [ResourceRecords, UploadRecords, RowRecords]
    assert found == [unit[ResourceRecords], unit[UploadRecords], unit[RowRecords]]


def test_units_share_no_repository() -> None:
    assert opened_unit()[RowRecords] != opened_unit()[RowRecords]
