"""Records in a relational database: SQLite embedded, PostgreSQL where one machine is outgrown."""

from app.stores.records.unit_of_work import MOST_TOGETHER_BYTES, Records, UnitOfWork

__all__ = ["MOST_TOGETHER_BYTES", "Records", "UnitOfWork"]
