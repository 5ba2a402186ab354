"""The tools that a record calls, and those whose results it has. Pure."""

from collections.abc import Sequence

from app.models.search_entry import EntrySource
from app.models.session import MAX_TOOL_NAME_CHARS, MAX_TOOLS_OF_ENTRY
from app.words.entry_texts import message_turns_of


def entry_tools(source: EntrySource) -> Sequence[str]:
    """Return the names of the tools that a record calls, or whose results it has.

    The calls and results of a message that is cut are unknown. Names that no list shows are
    omitted: empty or long ones, those with characters that cannot be printed, and those above the
    first 100.
    """
    names: list[str | None] = [source.name] if source.kind == "tool_result" else []
    turns = message_turns_of(source) or () if source.kind == "message" else ()
    for turn in turns:
        names += [turn.tool_name, *(call.name for call in turn.calls)]
    return [name for name in dict.fromkeys(names) if name and is_listed(name)][:MAX_TOOLS_OF_ENTRY]


def is_listed(name: str) -> bool:
    """Return whether sessions are listed by a tool of this name."""
    return len(name) <= MAX_TOOL_NAME_CHARS and name.isprintable()


def list_result_tools(source: EntrySource) -> tuple[Sequence[str], Sequence[str]]:
    """Return the tools that a message has results of.

    Returns:
        The names of the tools, and the ids of the calls of those results that do not name a tool.
    """
    turns = [turn for turn in message_turns_of(source) or () if turn.role == "tool"]
    names = [turn.tool_name for turn in turns if turn.tool_name]
    return names, [turn.call_id for turn in turns if not turn.tool_name and turn.call_id]
