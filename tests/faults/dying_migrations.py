"""Migrations that die behind a statement: loaded once, forked for each.

    python -m tests.faults.dying_migrations

Settings come from the environment. Each line on standard input says behind which statement the next
migration is to die; what it is answered by is the status it has ended with.
"""

import os
import signal
import sys
from itertools import count

import anyio
from sqlalchemy import Engine, event

from app.config.settings import Settings
from app.wiring.stores import migrate_database


def _migrate(last: int) -> None:
    numbers = count(1)

    def counted(*_: object) -> None:
        if next(numbers) >= last:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "after_cursor_execute", counted)
    anyio.run(migrate_database, Settings())


def main() -> None:
    """Migrate as often as is asked for."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            status = 1
            try:
                _migrate(int(line))
                status = 0
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(1, f"{status}\n".encode())


if __name__ == "__main__":
    main()
