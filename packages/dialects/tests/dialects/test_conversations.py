"""Messages and histories that real packages dumped are read once and truly, for two targets."""

import pytest

from packages.dialects.tests.dialects.conversations import FILES, Case, faults_of, read_cases
from pagefault_dialects.dialects.registry import DIALECTS
from pagefault_dialects.messages.entry_reading import READING, read_entry, read_stored

CASES = [case for file in FILES for case in read_cases(file.read_text())]
_MESSAGES = [case for case in CASES if case.role is not None]
# What others than OpenAI write in its form is read as its own.
_AS_OPENAI = {"mistral", "ollama"}
# Those that write blocks of another, and words alone, are read as what they write.
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


def ids(case: Case) -> str:
    """Return the name of a case."""
    return case.name if case.role is None else f"{case.name}-message"


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_what_a_real_package_says_is_told_once_and_truly(case: Case) -> None:
    assert faults_of(case) == []


@pytest.mark.parametrize("case", _MESSAGES, ids=ids)
def test_what_was_stored_of_a_real_package_is_read_as_when_it_came(case: Case) -> None:
    read = read_entry(case.value)
    assert read_stored(case.value, read.dialect, READING) == read


@pytest.mark.parametrize("case", _MESSAGES, ids=ids)
def test_a_message_is_of_the_dialect_that_wrote_it(case: Case) -> None:
    read = read_entry(case.value)
    assert read.dialect in {case.dialect, *_AS_OTHERS.get(case.dialect, ())}


def test_every_dialect_has_messages_or_histories_of_real_packages() -> None:
    built = {case.dialect for case in CASES} - _AS_OPENAI
    assert built == {dialect.name for dialect in DIALECTS}
