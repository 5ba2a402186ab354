"""Messages and histories that real packages dumped are read without loss, for two targets."""

import pytest

from packages.dialects.tests.dialects.conversations import (
    FILES,
    entries_of,
    faults_of,
    read_cases,
)
from pagefault_dialects.dialects.registry import DIALECTS
from pagefault_dialects.messages.entry_reading import (
    READER_VERSION,
    count_failed_results,
    read_entry,
    read_stored,
    read_turns,
)

CASES = [case for file in FILES for case in read_cases(file.read_text())]
_MESSAGES = [case for case in CASES if case.role is not None]
# Messages in the form of OpenAI are read as OpenAI's, whichever package wrote them.
_AS_OPENAI = {"mistral", "ollama"}
# Blocks of another dialect, and texts alone, are read as that dialect.
_AS_OTHERS = {
    "ag-ui": {"openai-chat"},
    "anthropic": {"openai-chat"},
    "autogen": {"langchain"},
    "mcp": {"anthropic", "openai-chat"},
    "openai-responses": {"openai-chat"},
    "strands": {"bedrock"},
    "vercel": {"openai-chat"},
    **{name: {"openai-chat"} for name in _AS_OPENAI},
}


@pytest.mark.slow
def test_messages_and_histories_of_real_packages_are_rendered_once_and_without_loss() -> None:
    faults = {case.name: found for case in CASES if (found := faults_of(case))}
    assert faults == {}


def test_stored_messages_of_real_packages_are_read_as_when_they_arrived() -> None:
    different = []
    for case in _MESSAGES:
        read = read_entry(case.value)
        if read_stored(case.value, read.dialect, READER_VERSION) != read:
            different.append(case.name)
    assert different == []


def test_failed_results_of_real_packages_are_counted_as_their_turns_are_marked() -> None:
    entries = [entry for case in CASES for entry in entries_of(case)]
    marked = [
        sum(turn.is_error for message in entry.messages for turn in read_turns(message, 1))
        for entry in entries
    ]
    assert [*map(count_failed_results, entries)] == marked
    assert 1 in marked


def test_messages_of_real_packages_are_of_the_dialect_that_wrote_them() -> None:
    mismatches = {
        case.name: dialect
        for case in _MESSAGES
        if (dialect := read_entry(case.value).dialect)
        not in {case.dialect, *_AS_OTHERS.get(case.dialect, ())}
    }
    assert mismatches == {}


def test_every_dialect_has_messages_or_histories_of_real_packages() -> None:
    built = {case.dialect for case in CASES} - _AS_OPENAI
    assert built == {dialect.name for dialect in DIALECTS}
