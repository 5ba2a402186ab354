"""Records in SQL: tables, units of work, and repositories, each inside one project."""

from app.stores.records.unit_of_work import MOST_TOGETHER_BYTES, Records, UnitOfWork

__all__ = ["MOST_TOGETHER_BYTES", "Records", "UnitOfWork"]
