"""Garbage among old objects, collected while there are few objects.

A full collection looks at every object that was made since the start. The interpreter does nothing
else meanwhile, and starts one by itself just when there are many objects: while a large value is
worked on. Beside a history of 60,000 messages each took half a second. So a process that serves
leaves them to this task (`app.server.process.collect_young_only`).

What a large request leaves is freed as soon as its last reference is gone. Measured with refused
and accepted values of 100,000 objects, some hundred small objects were left for a collection.
"""

import gc
import sys
from dataclasses import dataclass, field

import anyio

_REST_SECONDS = 1.0
# Collections of young objects since the last full one. CPython waits for ten as well.
_ENOUGH = 10
# Seven million objects more than were freed meanwhile: there never were few.
_MOST = 1_000
# A collection takes some ten milliseconds then.
_FEW_BLOCKS = 300_000


@dataclass(slots=True)
class GarbageCollector:
    """Collects garbage that the interpreter leaves.

    What was there when it was made is not looked through, or is of no account.
    """

    _blocks_at_start: int = field(init=False, default_factory=sys.getallocatedblocks)

    async def run(self) -> None:
        """Collect about once a second, if there may be garbage.

        Returns at once in a process whose interpreter does so by itself.
        """
        while gc.get_threshold()[2] > _MOST:
            self.collect_if_due()
            await anyio.sleep(_REST_SECONDS)

    def collect_if_due(self) -> None:
        """Collect if there may be garbage, and that does not take long or can wait no longer."""
        *_, young_collections = gc.get_count()
        if young_collections <= _ENOUGH:
            return
        are_few = sys.getallocatedblocks() - self._blocks_at_start <= _FEW_BLOCKS
        if are_few or young_collections > _MOST:
            gc.collect()
