"""When a failed call is sent again, and after how long."""

import random
from dataclasses import dataclass
from typing import Any

from pagefault_client.calls import Call
from pagefault_client.errors import ConnectionFailedError, PagefaultError, ProblemError

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
# A service that asks for more patience than this gets none: the caller decides.
LONGEST_WAIT_SECONDS = 60.0
AGAIN = {408, 429, 502, 503, 504}
# An upload's next attempt goes on at the offset that was asked for in between.
AGAIN_CODES = {"request-in-flight", "request-superseded", "upload-offset"}
# They last until an operator acts.
LASTING_CODES = {"store-misconfigured", "blob-missing"}
# The service says so before it has done anything.
UNDONE_CODES = {"quota-exceeded", "too-many-streams", "overloaded", "memory-exhausted"}


@dataclass(slots=True)
class Attempts:
    """The attempts of one call.

    Attributes:
        retries: How many follow the first one at most.
        may_have_happened: An earlier attempt got no answer, so it may have been carried out.
    """

    call: Call[Any]
    retries: int
    made: int = 0
    may_have_happened: bool = False

    def pause_after(self, error: PagefaultError) -> float | None:
        """Return the seconds before the next attempt, or None if there is none."""
        self.made += 1
        if isinstance(error, ConnectionFailedError):
            self.may_have_happened = True
        if self.made > self.retries or not self._is_worth_it(error):
            return None
        asked = error.retry_after if isinstance(error, ProblemError) else None
        if asked is not None and asked > LONGEST_WAIT_SECONDS:
            return None
        most = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self.made - 1))
        # Clients that failed together do not come again together.
        pause = most * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return pause if asked is None else asked + pause / 4

    def _is_worth_it(self, error: PagefaultError) -> bool:
        if isinstance(error, ConnectionFailedError):
            return self.call.is_repeatable
        if not isinstance(error, ProblemError) or error.code in LASTING_CODES:
            return False
        if error.code in UNDONE_CODES:
            return True
        return self.call.is_repeatable and (error.status in AGAIN or error.code in AGAIN_CODES)
