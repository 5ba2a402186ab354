"""The statement that reads the newest messages of a session."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import create_engine, insert

from app.models.session import MESSAGE
from app.stores.records.history import _NEWEST_MESSAGES
from app.stores.records.tables import history_entries, sessions

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def steps_of_sqlite(entries: int) -> int:
    """Count the instructions of SQLite's virtual machine for a session of this length, in tens."""
    count = 0

    def progress() -> int:
        nonlocal count
        count += 1
        return 0

    engine = create_engine("sqlite://")
    history_entries.metadata.create_all(engine)
    with engine.connect() as connection:
        names = {"project_id": "p", "session_id": "s"}
        moments = {"created_at": _NOW, "updated_at": _NOW}
        connection.execute(insert(sessions), {**names, **moments, "last_seq": entries})
        rows = [
            {**names, "seq": seq, "kind": MESSAGE, "entry_id": f"e{seq}", "size_bytes": 1}
            for seq in range(1, entries + 1)
        ]
        connection.execute(insert(history_entries), rows)
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.set_progress_handler(progress, 10)
        values = {
            "in_project": "p",
            "session_id": "s",
            "after_seq": 0,
            "to": None,
            "max_numbers": 50,
        }
        found = connection.execute(_NEWEST_MESSAGES.statement, values).all()
    engine.dispose()
    assert [row.seq for row in found] == list(range(entries, entries - 50, -1))
    return count


@pytest.mark.engines("embedded")
def test_newest_messages_cost_the_same_in_a_longer_session() -> None:
    assert steps_of_sqlite(5_000) == steps_of_sqlite(100)
