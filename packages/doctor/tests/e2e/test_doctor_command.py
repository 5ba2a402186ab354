"""`pagefault doctor`: a history in a file, checked and repaired."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.loaded_command import LoadedCommand

Json = dict[str, Any]

ESCAPE = "\x1b"


def sentence(text: str) -> str:
    """Return the text, which must be one line."""
    assert len(text.strip().splitlines()) == 1, text
    return text.strip()


ORPHAN = {"role": "tool", "tool_call_id": "[red]c\x1b[31m1", "content": "A cat."}


def test_prints_findings_and_writes_the_repaired_history(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file, output = tmp_path / "request.json", tmp_path / "repaired.json"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "Look."}, ORPHAN]}))
    found = pagefault.run("doctor", str(file))
    assert (found.returncode, found.stdout) == (1, "")
    assert "1 thing is wrong for openai-chat." in found.stderr
    assert "/messages/1" in found.stderr
    assert ESCAPE not in found.stderr
    as_json = pagefault.run("doctor", str(file), "--json")
    rules = [finding["rule"] for finding in json.loads(as_json.stdout)["findings"]]
    assert (as_json.returncode, rules) == (1, ["no-call"])
    written = pagefault.run("doctor", str(file), "--output", str(output))
    assert (written.returncode, written.stdout) == (0, f"{output}\n")
    well = pagefault.run("doctor", str(output))
    assert (well.returncode, sentence(well.stderr)) == (0, "Nothing is wrong for openai-chat.")


def test_reads_lines_and_writes_what_a_provider_takes(pagefault: LoadedCommand) -> None:
    lines = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Look."}]
    request = "\n".join(map(json.dumps, lines))
    options = ("--target", "gemini", "--output", "-")
    done = pagefault.run("doctor", "-", *options, given=request)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Look."}]}],
    }


_USER = {"role": "user", "content": "Look."}
_USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
_REQUEST = {"model": "claude", "max_tokens": 9, "tools": [{"name": "look", "input_schema": {}}]}
_CACHED = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize("system", ["Be kind.", _CACHED])
def test_repaired_file_keeps_the_other_members_of_the_request(
    pagefault: LoadedCommand, system: object
) -> None:
    messages = [_USER, {"role": "assistant", "content": [_USE]}, _USER]
    request = json.dumps({**_REQUEST, "system": system, "messages": messages})
    repaired = json.loads(pagefault.run("doctor", "-", "--output", "-", given=request).stdout)
    assert {name: repaired[name] for name in repaired if name != "messages"} == {
        **_REQUEST,
        "system": system,
    }
    assert [message["role"] for message in repaired["messages"]] == [
        "user",
        "assistant",
        "user",
        "user",
    ]


def test_repaired_file_of_texts_has_the_dialect_of_the_request(
    pagefault: LoadedCommand,
) -> None:
    empty = {"role": "assistant", "content": ""}
    request = {**_REQUEST, "system": "Be kind.", "messages": [_USER, empty, _USER]}
    done = pagefault.run("doctor", "-", "--output", "-", given=json.dumps(request))
    repaired = [{"role": "user", "content": [{"type": "text", "text": "Look."}]}] * 2
    assert json.loads(done.stdout) == {**request, "messages": repaired}
    assert "1 thing is wrong for anthropic." in done.stderr


def test_system_among_the_messages_moves_beside_them(pagefault: LoadedCommand) -> None:
    messages = [{"role": "system", "content": "And brief."}, _USER]
    request = json.dumps({**_REQUEST, "system": "Be kind.", "messages": messages})
    repaired = json.loads(pagefault.run("doctor", "-", "--output", "-", given=request).stdout)
    assert repaired["system"] == "Be kind.\n\nAnd brief."


def test_repaired_system_messages_of_mastra_are_the_system_of_the_request(
    pagefault: LoadedCommand,
) -> None:
    content = {"format": 2, "parts": [{"type": "text", "text": "Look."}]}
    state = {
        "messages": [{"role": "user", "content": content}],
        "systemMessages": [{"role": "system", "content": "Be kind."}],
        "taggedSystemMessages": {"memory": [{"role": "system", "content": "And brief."}]},
    }
    done = pagefault.run("doctor", "-", "--output", "-", given=json.dumps(state))
    assert json.loads(done.stdout) == {
        "system": "Be kind.\n\nAnd brief.",
        "messages": [{"role": "user", "content": "Look."}],
    }


def test_system_prompt_is_written_in_the_form_of_the_target(pagefault: LoadedCommand) -> None:
    brief, look = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Look."})
    text = {"system": "Be brief."}
    cached = {"system": [{"type": "text", "text": "Be brief.", "cache_control": None}]}
    message = {"messages": [{"role": "user", "content": [{"text": "Look."}]}]}
    rows: list[tuple[Json, str, Json]] = [
        *((sent, "anthropic", {**sent, "messages": [look]}) for sent in (text, cached)),
        ({"system": [brief]}, "anthropic", {**text, "messages": [look]}),
        ({"instructions": brief}, "anthropic", {**text, "messages": [look]}),
        ({"systemMessages": [brief], **text}, "openai-chat", {"messages": [brief, brief, look]}),
        (text, "openai-chat", {"messages": [brief, look]}),
        (text, "bedrock", {"system": [{"text": "Be brief."}], **message}),
    ]
    for prompt, target, repaired in rows:
        given = json.dumps({**prompt, "messages": [look], "model": "m"})
        done = pagefault.run("doctor", "-", "--target", target, "--output", "-", given=given)
        assert json.loads(done.stdout) == {"model": "m", **repaired}


def test_sound_file_stays_as_it_was(pagefault: LoadedCommand) -> None:
    request = {"model": "gpt", "input": "Look.", "instructions": "Be kind.", "tools": []}
    done = pagefault.run("doctor", "-", "--output", "-", given=json.dumps(request))
    assert json.loads(done.stdout) == request


def test_file_for_another_provider_has_nothing_of_the_first(pagefault: LoadedCommand) -> None:
    messages = [_USER, {"role": "assistant", "content": [_USE]}, _USER]
    request = json.dumps({**_REQUEST, "system": "Be kind.", "messages": messages})
    options = ("--target", "gemini", "--output", "-")
    repaired = json.loads(pagefault.run("doctor", "-", *options, given=request).stdout)
    assert repaired.keys() == {"systemInstruction", "contents"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("no JSON", "pagefault: - is not JSON (line 1, column 1)."),
        ("{}", "pagefault: There is no history in this"),
    ],
)
def test_exits_with_status_2_if_a_file_has_no_history(
    pagefault: LoadedCommand, content: str, expected: str
) -> None:
    done = pagefault.run("doctor", "-", given=content)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence(done.stderr).startswith(expected)
