from typing import Any

import pytest

from tests.providers.text_types import check_text

REFUSED: dict[str, dict[str, Any]] = {
    "blocks": {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
    "no words": {"role": "user", "content": None},
    "a role that there is not": {"role": "model", "content": "Hi."},
    "another member": {"role": "assistant", "content": "Hi.", "tool_calls": []},
    "half a character": {"role": "user", "content": "a\ud800"},
    "an answer without its heading": {"role": "tool", "content": "Done."},
    "an answer to no call": {"role": "tool", "content": "Tool shoot (call ):\nDone."},
    "an answer of no tool": {"role": "tool", "content": "Tool  (call a):\nDone."},
}


@pytest.mark.parametrize("message", REFUSED.values(), ids=REFUSED)
def test_target_refuses(message: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check_text([message])
