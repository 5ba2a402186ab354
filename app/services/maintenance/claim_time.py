"""How long the holder of a claim on blobs may act on it."""

import time

from app.stores.records.swept_blobs import CLAIM_SECONDS


class ClaimTime:
    """The time of one claim; begun before the claim is made, so that it ends before the claim does.

    A machine that is suspended stops the one of its clocks, and somebody may set the other: the
    one that says more time has passed is believed.
    """

    def __init__(self) -> None:
        self._monotonic = time.monotonic()
        self._wall = time.time()

    def is_over(self) -> bool:
        """Whether nothing more may be removed on the strength of the claim."""
        passed = max(time.monotonic() - self._monotonic, time.time() - self._wall)
        return passed > CLAIM_SECONDS
