"""Keeps results as tools returned them, until the events of the results are sent (debug mode)."""

from collections.abc import Callable

from cachetools import LRUCache

from pagefault_dialects.json.values import JsonValue, json_text

_MAX_RAW_BYTES = 1024 * 1024
_MAX_RAW_RESULTS = 64


class RawResults:
    """The raw results of tool results that are about to be committed.

    Listeners get them as `rawResult` in events, to debug tools. A raw result is in memory until its
    event is sent, and is never stored.

    Args:
        is_enabled: True in debug mode. Otherwise, no results are kept.
    Source: spec 002, "Event Flow & Consumers" (`DECTO_DEBUG_TOOL_RESULT_RAW`).
    """

    def __init__(self, *, is_enabled: bool) -> None:
        self._is_enabled = is_enabled
        # If a transaction is rolled back, its result is never taken.
        self._results = LRUCache[str, bytes](_MAX_RAW_RESULTS)
        self.has_listeners: Callable[[str], bool] = lambda _: False
        """Returns True if a project has listeners. `Feeds` sets it."""

    def is_wanted(self, project_id: str, *, size_bytes: int) -> bool:
        """Return True if `offer` would keep a result.

        Args:
            project_id: The project.
            size_bytes: The size of the body of the request with the result.
        """
        return self._is_enabled and size_bytes <= _MAX_RAW_BYTES and self.has_listeners(project_id)

    def offer(
        self, project_id: str, tool_result_id: str, result: JsonValue, *, size_bytes: int
    ) -> None:
        """Keep a result for the event that its transaction is about to write.

        Results of projects without listeners, and of bodies above 1 MiB, are not kept.
        """
        if not self.is_wanted(project_id, size_bytes=size_bytes):
            return
        self._results[tool_result_id] = json_text(result).encode()

    def take(self, tool_result_id: str) -> bytes | None:
        """Return a result as JSON, and remove it; `None` if it is not kept."""
        return self._results.pop(tool_result_id, None)
