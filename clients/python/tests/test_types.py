"""Mistakes that a type checker finds."""

import subprocess
import sys
from pathlib import Path

import pytest

from pagefault_client import TurnToolResult, models

HEAD = """from pagefault_client import Pagefault

session = Pagefault().session("s")
conversation = session.conversation("anthropic")
"""
RESULT = '"toolName": "clock", "toolCallId": "call_1"'


def check_types(code: str, folder: Path) -> str:
    (folder / "program.py").write_text(f"{HEAD}{code}\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-color-output", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_entries_of_a_turn_are_typed(tmp_path: Path) -> None:
    message = '{"message": {"role": "user", "content": "Hi"}}'
    result = f'{{"toolResult": {{{RESULT}, "result": 10, "success": False, "newCall": True}}}}'
    call = '{"toolCall": {"id": "call_2", "name": "list_media", "arguments": {}}}'
    code = f"session.turn({message}, {result}, {call})\nconversation.turn({message}, {result})"
    assert check_types(code, tmp_path) == "Success: no issues found in 1 source file\n"


@pytest.mark.parametrize(
    "entry",
    [
        '{"mesage": {"role": "user", "content": "Hi"}}',
        '{"tool_result": {}}',
        f'{{"toolResult": {{{RESULT}, "results": 10}}}}',
        f'{{"toolResult": {{{RESULT}, "result": 10, "sucess": False}}}}',
        f'{{"toolResult": {{{RESULT}, "result": 10, "sessionId": "s"}}}}',
        '{"toolResult": {"toolName": "clock", "result": 10}}',
        '{"toolCall": {"id": "call_2", "name": "list_media", "args": {}}}',
    ],
)
def test_misspelt_member_of_an_entry_is_a_type_error(tmp_path: Path, entry: str) -> None:
    found = check_types(f"session.turn({entry})\nconversation.turn({entry})", tmp_path)
    assert {line[:16] for line in found.splitlines()[:-1]} == {
        *("program.py:5: er", "program.py:6: er"),
    }, found


def test_result_of_a_turn_has_the_members_of_a_tool_result() -> None:
    members = set(models.ToolResultRequest.__annotations__) - {"sessionId"}
    assert set(TurnToolResult.__annotations__) == members
