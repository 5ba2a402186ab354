"""The most frequent requests of agents: write 2 KB of text or a screenshot, read a page, search.

    python -m benchmarks --only common

Every request is another one, with ids and bytes of its own. Beside each figure stands its baseline,
measured in turns with it; where one figure has two, or its processor time is to be shown, it stands
in as many rows.
"""

from collections.abc import Sequence

from benchmarks import common_pages, image_writes, small_writes
from benchmarks.figures import Figure, Scale


async def measure(scale: Scale) -> Sequence[Figure]:
    """Texts, images, page faults and searches, one after the other."""
    return [
        *await small_writes.measure(scale),
        *await image_writes.measure(scale),
        *await common_pages.measure(scale),
    ]
