"""All dialects, in the order in which they are tried, and the dialect of a result.

Objects are looked up by their members, or by a member and its value, so only possible envelopes are
tried. Most results have no envelope, which costs one lookup of their names.
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
    openai_chat,
    openai_responses,
    otel_genai,
    pydantic_ai,
    strands,
    vercel,
)
from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper
from pagefault_dialects.dialects.mark_index import MarkIndex
from pagefault_dialects.dialects.tool_output import ToolOutput

DIALECTS: tuple[Dialect, ...] = (
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
    a2a.DIALECT,
    acp.DIALECT,
    ag_ui.DIALECT,
    otel_genai.DIALECT,
    claude_code.DIALECT,
    codex.DIALECT,
    # Others have messages with its members and more, and are tried before.
    openai_chat.DIALECT,
)
"""The order decides: the first dialect with the shape of an object reads it."""

# Enough for a list of messages of parts of results.
_DEEPEST = 6


_INDEX: MarkIndex[Envelope | Wrapper] = MarkIndex(
    (dialect.name, envelope) for dialect in DIALECTS for envelope in dialect.envelopes
)
_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def find_dialect(name: str) -> Dialect:
    """Return the dialect of this name."""
    return _BY_NAME[name]


def open_results(value: object) -> list[ToolOutput]:
    """Return the results of calls in a value, without their envelopes.

    Args:
        value: Any JSON value.

    Returns:
        Empty for other values; several for a list of results or a message of several.
    """
    inner, path, failed = mcp.open_responses(value)
    if failed is not None:
        return [failed]
    found = _answers(inner)
    if not path:
        return found
    rest = mcp.rest_of_response(value)
    if not found:
        return [mcp.bare_result(inner, path, rest)]
    return [replace(item.inside(*path), rest=item.rest | rest) for item in found]


def _answers(value: object, depth: int = 0) -> list[ToolOutput]:
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        return _answers_in(value, depth)
    if not isinstance(value, dict):
        return []
    for dialect, envelope in _INDEX.candidates(value):
        if isinstance(envelope, Wrapper):
            found = envelope.open(dialect, value, lambda inner: _answers(inner, depth + 1))
        else:
            opened = envelope.open(dialect, value)
            found = [opened] if opened else []
        if found:
            return found
    return []


def _answers_in(values: list[object], depth: int) -> list[ToolOutput]:
    """Return the results in a list that has only results."""
    answers: list[ToolOutput] = []
    for index, value in enumerate(values):
        found = _answers(value, depth + 1) if isinstance(value, dict) else []
        if not found:
            return []
        answers += (item.inside(index) for item in found)
    return answers
