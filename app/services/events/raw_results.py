"""Results as tools returned them, for listeners that debug a tool."""

from collections import OrderedDict
from collections.abc import Callable

from pagefault_dialects.json.values import JsonValue, json_text

_MAX_RAW_BYTES = 1024 * 1024
_MAX_RAW_RESULTS = 64


class RawResults:
    """Raw results of tools, for debugging, from just before the commit until their event.

    Only connected listeners receive them; they are never stored.

    Args:
        is_enabled: Whether results are kept.
    Source: spec 002, "Event Flow & Consumers" (`DECTO_DEBUG_TOOL_RESULT_RAW`).
    """

    def __init__(self, *, is_enabled: bool) -> None:
        self._is_enabled = is_enabled
        self._results: OrderedDict[str, bytes] = OrderedDict()
        self.has_listeners: Callable[[str], bool] = lambda _: False

    def is_wanted(self, project_id: str, *, size_bytes: int) -> bool:
        """Return whether `offer` keeps a result from a body of this size."""
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
        # Results of rolled back transactions are never taken.
        while len(self._results) > _MAX_RAW_RESULTS:
            self._results.popitem(last=False)

    def take(self, tool_result_id: str) -> bytes | None:
        """Return a result as JSON, and remove it; `None` if it is not kept."""
        return self._results.pop(tool_result_id, None)
