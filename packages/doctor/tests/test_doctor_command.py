"""`pagefault doctor`: a history in a file, checked and repaired."""

import json
from pathlib import Path

import pytest

from tests.kit.loaded_command import LoadedCommand

ESCAPE = "\x1b"


def sentence(text: str) -> str:
    """The one line of text that a user gets."""
    assert len(text.strip().splitlines()) == 1, text
    return text.strip()


ORPHAN = {"role": "tool", "tool_call_id": "[red]c\x1b[31m1", "content": "A cat."}


def test_shows_what_is_wrong_and_writes_the_healed_history(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file, healed = tmp_path / "request.json", tmp_path / "healed.json"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "Look."}, ORPHAN]}))
    found = pagefault.run("doctor", str(file))
    assert (found.returncode, found.stdout) == (1, "")
    assert "1 thing is wrong for openai-chat." in found.stderr
    assert "/messages/1" in found.stderr
    assert ESCAPE not in found.stderr
    told = pagefault.run("doctor", str(file), "--json")
    rules = [each["rule"] for each in json.loads(told.stdout)["findings"]]
    assert (told.returncode, rules) == (1, ["no-call"])
    mended = pagefault.run("doctor", str(file), "--output", str(healed))
    assert (mended.returncode, mended.stdout) == (0, f"{healed}\n")
    well = pagefault.run("doctor", str(healed))
    assert (well.returncode, sentence(well.stderr)) == (0, "Nothing is wrong for openai-chat.")


def test_reads_lines_and_writes_what_a_provider_takes(pagefault: LoadedCommand) -> None:
    lines = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Look."}]
    given = "\n".join(map(json.dumps, lines))
    wanted = ("--target", "gemini", "--output", "-")
    done = pagefault.run("doctor", "-", *wanted, given=given)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Look."}]}],
    }


_USER = {"role": "user", "content": "Look."}
_USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
_AROUND = {"model": "claude", "max_tokens": 9, "tools": [{"name": "look", "input_schema": {}}]}
_CACHED = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize("system", ["Be kind.", _CACHED])
def test_healed_file_keeps_what_stood_around_the_history(
    pagefault: LoadedCommand, system: object
) -> None:
    messages = [_USER, {"role": "assistant", "content": [_USE]}, _USER]
    given = json.dumps({**_AROUND, "system": system, "messages": messages})
    healed = json.loads(pagefault.run("doctor", "-", "--output", "-", given=given).stdout)
    assert {name: healed[name] for name in healed if name != "messages"} == {
        **_AROUND,
        "system": system,
    }
    assert [each["role"] for each in healed["messages"]] == ["user", "assistant", "user", "user"]


def test_healed_file_of_words_is_of_the_dialect_that_stands_around_them(
    pagefault: LoadedCommand,
) -> None:
    empty = {"role": "assistant", "content": ""}
    given = {**_AROUND, "system": "Be kind.", "messages": [_USER, empty, _USER]}
    done = pagefault.run("doctor", "-", "--output", "-", given=json.dumps(given))
    said = [{"role": "user", "content": [{"type": "text", "text": "Look."}]}] * 2
    assert json.loads(done.stdout) == {**given, "messages": said}
    assert "1 thing is wrong for anthropic." in done.stderr


def test_system_among_the_messages_moves_beside_them(pagefault: LoadedCommand) -> None:
    messages = [{"role": "system", "content": "And brief."}, _USER]
    given = json.dumps({**_AROUND, "system": "Be kind.", "messages": messages})
    healed = json.loads(pagefault.run("doctor", "-", "--output", "-", given=given).stdout)
    assert healed["system"] == "Be kind.\n\nAnd brief."


def test_sound_file_stays_as_it_was(pagefault: LoadedCommand) -> None:
    given = {"model": "gpt", "input": "Look.", "instructions": "Be kind.", "tools": []}
    done = pagefault.run("doctor", "-", "--output", "-", given=json.dumps(given))
    assert json.loads(done.stdout) == given


def test_file_for_another_provider_has_nothing_of_the_first(pagefault: LoadedCommand) -> None:
    messages = [_USER, {"role": "assistant", "content": [_USE]}, _USER]
    given = json.dumps({**_AROUND, "system": "Be kind.", "messages": messages})
    options = ("--target", "gemini", "--output", "-")
    healed = json.loads(pagefault.run("doctor", "-", *options, given=given).stdout)
    assert healed.keys() == {"systemInstruction", "contents"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no JSON", "pagefault: - is not JSON (line 1, column 1)."),
        ("{}", "pagefault: There is no history in this"),
    ],
)
def test_tells_a_file_that_is_no_history_by_its_status(
    pagefault: LoadedCommand, given: str, said: str
) -> None:
    done = pagefault.run("doctor", "-", given=given)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence(done.stderr).startswith(said)
