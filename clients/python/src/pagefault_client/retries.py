"""The conditions and pauses of retries."""

import logging
import random
from dataclasses import dataclass
from typing import Any

from pagefault_client.calls import Call
from pagefault_client.errors import APIConnectionError, APIStatusError, PagefaultError

logger = logging.getLogger("pagefault_client")

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
# If `Retry-After` is longer, the error is raised instead, and the caller decides.
LONGEST_WAIT_SECONDS = 60.0
RETRY_STATUSES = {408, 429, 502, 503, 504}
# After `upload-offset`, an upload requests the offset and continues there.
RETRY_CODES = {"request-in-flight", "request-superseded", "upload-offset"}
# These errors persist until an operator acts.
LASTING_CODES = {"store-misconfigured", "blob-missing"}
# These requests were refused before they had an effect.
UNDONE_CODES = {"quota-exceeded", "too-many-streams", "overloaded", "memory-exhausted"}


@dataclass(slots=True)
class Attempts:
    """The attempts of one call.

    Attributes:
        max_retries: The maximum number of attempts after the first.
        may_have_happened: An attempt got no answer, so the service may have carried it out.
    """

    call: Call[Any]
    max_retries: int
    made: int = 0
    may_have_happened: bool = False

    def pause_after(self, error: PagefaultError) -> float | None:
        """Return the seconds to wait before the next attempt; None if there is no next attempt."""
        self.made += 1
        if isinstance(error, APIConnectionError):
            self.may_have_happened = True
        if self.made > self.max_retries or not self._is_retryable(error):
            return None
        retry_after = error.retry_after if isinstance(error, APIStatusError) else None
        if retry_after is not None and retry_after > LONGEST_WAIT_SECONDS:
            return None
        limit = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self.made - 1))
        # Jitter: clients that failed at the same time do not retry at the same time.
        pause = limit * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        pause = pause if retry_after is None else retry_after + pause / 4
        logger.info(
            "Retrying %s %s in %.2f seconds (retry %d of %d): %s",
            *(self.call.method, self.call.path, pause, self.made, self.max_retries, error),
        )
        return pause

    def _is_retryable(self, error: PagefaultError) -> bool:
        if isinstance(error, APIConnectionError):
            return self.call.is_repeatable
        if not isinstance(error, APIStatusError) or error.code in LASTING_CODES:
            return False
        if error.code in UNDONE_CODES:
            return True
        return self.call.is_repeatable and (
            error.status_code in RETRY_STATUSES or error.code in RETRY_CODES
        )
