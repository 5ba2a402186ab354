"""All dialects, in the order in which they are asked, and the one that a result is in.

An object is looked up by its members, or by a member and its value, so that only the envelopes are
tried that it can be; most results are none, and cost one look at their names.
"""

from collections.abc import Iterator
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
from pagefault_dialects.dialects.shapes import Object
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
    # Others write messages with its members and more, and are asked before.
    openai_chat.DIALECT,
)
"""Order is behaviour: the first whose shape an object has reads it."""

# A list of messages of parts of results is no deeper.
_DEEPEST = 6


class _Index:
    """The envelopes of all dialects, by what an object is looked up by."""

    def __init__(self, dialects: tuple[Dialect, ...]) -> None:
        self.entries: list[tuple[str, Envelope | Wrapper]] = []
        self._by_member: dict[str, list[int]] = {}
        self._by_value: dict[tuple[str, str], list[int]] = {}
        for dialect in dialects:
            for envelope in dialect.envelopes:
                number = len(self.entries)
                self.entries.append((dialect.name, envelope))
                for mark in envelope.marks:
                    if isinstance(mark, str):
                        self._by_member.setdefault(mark, []).append(number)
                    else:
                        self._by_value.setdefault(mark, []).append(number)
        self._names = frozenset((*self._by_member, *(name for name, _ in self._by_value)))

    def candidates(self, value: Object) -> Iterator[tuple[str, Envelope | Wrapper]]:
        """Yield the envelopes that an object can be, in order."""
        numbers: set[int] = set()
        for name in self._names & value.keys():
            numbers.update(self._by_member.get(name, ()))
            member = value[name]
            if isinstance(member, str):
                numbers.update(self._by_value.get((name, member), ()))
        return (self.entries[number] for number in sorted(numbers))


_INDEX = _Index(DIALECTS)
_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def find_dialect(name: str) -> Dialect:
    """Return the dialect of this name."""
    return _BY_NAME[name]


def open_results(value: object) -> list[ToolOutput]:
    """Return the results of calls that a value is, without their envelopes.

    Args:
        value: Any JSON value.

    Returns:
        None if it is anything else, and one for each call if it is a list of them or a message of
        several.
    """
    inner, path, failed = mcp.open_responses(value)
    if failed is not None:
        return [failed]
    found = _answers(inner)
    if not path:
        return found
    around = mcp.rest_of_response(value)
    if not found:
        return [mcp.bare_result(inner, path, around)]
    return [replace(each.inside(*path), rest=each.rest | around) for each in found]


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
    """Return the results in a list of nothing else."""
    answers: list[ToolOutput] = []
    for index, value in enumerate(values):
        found = _answers(value, depth + 1) if isinstance(value, dict) else []
        if not found:
            return []
        answers += (each.inside(index) for each in found)
    return answers
