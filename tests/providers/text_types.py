"""Messages of the `text` target: a role and words, and the call of an answer."""

import re
from typing import Any

_ROLES = ("system", "user", "assistant", "tool")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HEADING = re.compile(r"Tool \S.* \(call \S.*\):")


def check_text(messages: list[dict[str, Any]]) -> None:
    """Raise unless every message is a role and readable words."""
    for message in messages:
        assert list(message) == ["role", "content"], f"members {list(message)}"
        role, content = message["role"], message["content"]
        assert role in _ROLES, f"a role {role!r}"
        assert isinstance(content, str), f"words that are no text: {content!r}"
        assert not _SURROGATE.search(content), "words that no UTF-8 text can hold"
        if role == "tool":
            heading = content.split("\n", 1)[0]
            assert _HEADING.fullmatch(heading), f"an answer headed {heading!r}"
