"""A record that is to be rendered, by its id."""

from dataclasses import dataclass

from pagefault_dialects.model.page import Level


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A record that is to be rendered: exactly one of the first three ids is set.

    `level` and `tool_call_id` are for pages, `since` is for sessions.
    """

    tool_result_id: str | None = None
    page_id: str | None = None
    session_id: str | None = None
    level: Level | None = None
    tool_call_id: str | None = None
    since: int = 0
