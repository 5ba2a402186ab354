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
