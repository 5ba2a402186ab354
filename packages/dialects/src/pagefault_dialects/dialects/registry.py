"""Lists all dialects, and finds tool results of any dialect in a value.

A `MarkIndex` finds the envelopes that an object may have. Most results have no envelope, which is
found out by one lookup of the names of their members.
"""

from dataclasses import replace

from pagefault_dialects.dialects import (
    a2a,
    acp,
    adk,
    ag_ui,
    agent_framework,
    anthropic,
    autogen,
    bedrock,
    claude_code,
    codex,
    gemini,
    haystack,
    langchain,
    llama_index,
    mcp,
    openai_agents,
    openai_chat,
    openai_responses,
    otel_genai,
    pydantic_ai,
    semantic_kernel,
    strands,
    vercel,
)
from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper
from pagefault_dialects.dialects.mark_index import MarkIndex
from pagefault_dialects.dialects.tool_output import ToolOutput

DIALECTS: tuple[DialectTables, ...] = (
    # First, since its items and blocks have the types of those of Responses.
    openai_agents.DIALECT,
    openai_responses.DIALECT,
    anthropic.DIALECT,
    gemini.DIALECT,
    adk.DIALECT,
    bedrock.DIALECT,
    strands.DIALECT,
    mcp.DIALECT,
    langchain.DIALECT,
    vercel.DIALECT,
    pydantic_ai.DIALECT,
    llama_index.DIALECT,
    haystack.DIALECT,
    agent_framework.DIALECT,
    autogen.DIALECT,
    semantic_kernel.DIALECT,
    a2a.DIALECT,
    acp.DIALECT,
    ag_ui.DIALECT,
    otel_genai.DIALECT,
    claude_code.DIALECT,
    codex.DIALECT,
    # Last, since messages of other dialects have its members too.
    openai_chat.DIALECT,
)
"""All dialects. The first of them that has an envelope or form for an object reads the object."""

# Enough for a list of messages with parts that have results.
_MAX_DEPTH = 6


_INDEX: MarkIndex[Envelope | Wrapper] = MarkIndex(
    (dialect.name, envelope) for dialect in DIALECTS for envelope in dialect.envelopes
)
_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def find_dialect(name: str) -> DialectTables:
    """Return the dialect of this name."""
    return _BY_NAME[name]


def find_results(value: object) -> list[ToolOutput]:
    """Return the tool results in a value, without their envelopes.

    Args:
        value: Any JSON value.

    Returns:
        Several results for a list of results, or for a message that contains them; no results for a
        value without an envelope.
    """
    inner, path, error = mcp.open_response(value)
    if error is not None:
        return [error]
    results = _open_value(inner)
    if not path:
        return results
    response_id = mcp.find_response_id(value)
    if not results:
        return [mcp.make_bare_result(inner, path, response_id)]
    return [
        replace(result.prefix_paths(*path), rest=result.rest | response_id) for result in results
    ]


def _open_value(value: object, depth: int = 0) -> list[ToolOutput]:
    """Return the results in a value, by the first envelope that has any."""
    if depth > _MAX_DEPTH:
        return []
    if isinstance(value, list):
        return _open_list(value, depth)
    if not isinstance(value, dict):
        return []
    for dialect, envelope in _INDEX.find_candidates(value):
        if isinstance(envelope, Wrapper):
            found = envelope.open(dialect, value, lambda inner: _open_value(inner, depth + 1))
        else:
            opened = envelope.open(dialect, value)
            found = [opened] if opened else []
        if found:
            return found
    return []


def _open_list(values: list[object], depth: int) -> list[ToolOutput]:
    """Return the results in a list; no results if any item of the list is something else."""
    results: list[ToolOutput] = []
    for index, value in enumerate(values):
        found = _open_value(value, depth + 1) if isinstance(value, dict) else []
        if not found:
            return []
        results += (item.prefix_paths(index) for item in found)
    return results
