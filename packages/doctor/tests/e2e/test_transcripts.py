"""`pagefault doctor FILE.jsonl`: transcripts of Claude Code and Codex, examined and mended."""

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pagefault_dialects.dialects.claude_code import find_path
from pagefault_doctor.transcript_files import TranscriptError, replace_file
from tests.kit import media
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import b64

Json = dict[str, Any]

TALL = b64(media.png(9000, 40))
HEAVY = b64(media.png(1300, 1300, noise=True))
AROUND = {"isSidechain": False, "userType": "external", "cwd": "/p", "sessionId": "s"}
SNAPSHOT = '{ "type":"file-history-snapshot",  "messageId":"1", "snapshot":{"n":1.10} }'
UNKNOWN = '{"type":"tomorrow","parentUuid":null,"sessionId":"s","n":1e2}'


def line(number: int, message: Json, parent: int | None = None) -> Json:
    """Return a line of Claude Code; by default it follows the line before."""
    parent = number - 1 if parent is None else parent
    return {
        "parentUuid": str(parent) if parent else None,
        **AROUND,
        "version": "2.1.12",
        "gitBranch": "main",
        "type": message["role"],
        "message": message,
        "uuid": str(number),
        "timestamp": f"2026-11-28T10:00:{number:02}.000Z",
    }


def user(number: int, content: object, parent: int | None = None) -> Json:
    """Return a line with a message of the user, or with results."""
    return line(number, {"role": "user", "content": content}, parent)


def reply(number: int, *content: Json, name: str | None = None, parent: int | None = None) -> Json:
    """Return a line with blocks of the assistant."""
    message = {"id": name or f"m{number}", "type": "message", "role": "assistant", "model": "m"}
    return line(number, {**message, "content": [*content], "stop_reason": None}, parent)


def text(words: str) -> Json:
    """Return a block of text."""
    return {"type": "text", "text": words}


def call(name: object) -> Json:
    """Return a call."""
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "ls"}}


def result(name: object, content: object = "a.txt") -> Json:
    """Return a result."""
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def image(data: str) -> Json:
    """Return an image."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def rollout(kind: str, payload: Json) -> Json:
    """Return a line of Codex."""
    return {"timestamp": "2026-11-28T10:00:00.000Z", "type": kind, "payload": payload}


def write(file: Path, lines: Sequence[Json | str], end: str = "") -> list[bytes]:
    """Write a transcript; return its lines."""
    dumped = (item if isinstance(item, str) else json.dumps(item) for item in lines)
    file.write_text("".join(f"{item}\n" for item in dumped) + end)
    return file.read_bytes().splitlines(keepends=True)


def findings(pagefault: LoadedCommand, file: Path) -> list[tuple[int, str]]:
    """Return the findings of a transcript, each a line and a rule."""
    report = json.loads(pagefault.run("doctor", str(file), "--json").stdout)
    return [(finding["line"], finding["rule"]) for finding in report["findings"]]


def contents(file: Path) -> list[Any]:
    """Return the contents of the messages of Claude Code in a file."""
    lines = map(json.loads, file.read_bytes().splitlines())
    return [item["message"]["content"] for item in lines if "message" in item]


BRICKED: list[Json | str] = [
    SNAPSHOT,
    user(1, "look"),
    reply(2, text("I look."), name="m"),
    reply(3, call("t1"), name="m"),
    user(4, [result("t1", [image(TALL)])]),
    UNKNOWN,
    reply(5, text("")),
    reply(6, call("t2")),
    user(7, [text("[Request interrupted by user for tool use]")]),
    user(8, [text(f"see data:image/png;base64,{b64(media.png(70, 64, noise=True))}")]),
    user(9, [image(HEAVY)]),
]
FOUND = [
    (5, "too-many-pixels"),
    (7, "empty-content"),
    (8, "no-answer"),
    (10, "base64-in-text"),
    (11, "too-many-bytes"),
]


def test_faults_of_a_session_are_found_by_line(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    write(file, BRICKED)
    assert findings(pagefault, file) == FOUND
    printed = pagefault.run("doctor", str(file))
    assert (printed.returncode, printed.stdout) == (1, "")
    assert "5 things are wrong (Claude Code, 11 lines)." in printed.stderr
    assert not (tmp_path / "s.jsonl.bak").exists()


@pytest.mark.promise
def test_bricked_session_is_mended_and_other_lines_stay(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    before = write(file, BRICKED)
    file.chmod(0o640)
    done = pagefault.run("doctor", "--in-place", str(file))
    assert done.returncode == 0, done.stderr
    assert [row.partition(":")[0] for row in done.stdout.splitlines()] == [
        *(f"line {number}" for number, _ in FOUND),
        "5 changes. The old file is " + str(file) + ".bak",
    ]
    assert (tmp_path / "s.jsonl.bak").read_bytes() == b"".join(before)
    assert findings(pagefault, file) == []
    after = file.read_bytes().splitlines(keepends=True)
    unchanged = [0, 1, 2, 3, 5, 7]
    assert [after[index] for index in unchanged] == [before[index] for index in unchanged]
    # The line after the inserted one has another parent, and is the same otherwise.
    inserted = json.loads(after[8])
    assert after[9] == before[8].replace(
        b'"parentUuid": "6"', b'"parentUuid": "%b"' % inserted["uuid"].encode()
    )
    assert (inserted["parentUuid"], inserted["sessionId"], inserted["type"]) == ("6", "s", "user")
    assert [block["tool_use_id"] for block in inserted["message"]["content"]] == ["t2"]
    lines = [json.loads(item) for item in after]
    path = [lines[index]["uuid"] for index in reversed(find_path(lines))]
    assert path == ["1", "2", "3", "4", "5", "6", inserted["uuid"], "7", "8", "9"]
    assert (file.stat().st_mode & 0o777, len(after)) == (0o640, len(before) + 1)


def test_mended_file_is_not_written_again(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    write(file, BRICKED[:-2])
    assert pagefault.run("doctor", "--in-place", str(file)).returncode == 0
    mended = file.stat().st_mtime_ns, file.stat().st_ino
    again = pagefault.run("doctor", "--in-place", str(file))
    assert (again.returncode, again.stdout) == (0, "")
    assert "Nothing is wrong" in again.stderr
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == mended
    assert sorted(item.name for item in tmp_path.iterdir()) == ["s.jsonl", "s.jsonl.bak"]


def test_older_backup_is_kept(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    write(file, [user(1, "look"), reply(2, call("t1"))])
    (tmp_path / "s.jsonl.bak").write_text("older")
    done = pagefault.run("doctor", "--in-place", str(file), "--json")
    assert json.loads(done.stdout)["backup"] == f"{file}.bak.2"
    assert (tmp_path / "s.jsonl.bak").read_text() == "older"


@pytest.mark.promise
def test_file_that_another_process_has_open_is_not_mended(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    before = write(file, [user(1, "look"), reply(2, call("t1"))])
    with file.open("ab"):
        done = pagefault.run("doctor", "--in-place", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"is in use by process {os.getpid()}: end the session" in done.stderr
    assert [item.name for item in tmp_path.iterdir()] == ["s.jsonl"]
    assert file.read_bytes() == b"".join(before)


@pytest.mark.promise
def test_file_that_grows_while_it_is_mended_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"1\n")

    def grow(_: Path) -> None:
        with file.open("ab") as more:
            more.write(b"2\n")

    with pytest.raises(TranscriptError, match="has changed meanwhile"):
        replace_file(file, file.stat(), lambda _, raw: raw, grow)
    assert [item.name for item in tmp_path.iterdir()] == ["s.jsonl"]
    assert file.read_bytes() == b"1\n2\n"


def test_line_cut_by_a_crash_is_left_out(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    lines = [user(1, "look"), reply(2, text("A cat."))]
    before = write(file, lines, '{"parentUuid":"2","type":"us')
    assert findings(pagefault, file) == [(3, "broken-line")]
    assert pagefault.run("doctor", "--in-place", str(file)).returncode == 0
    assert file.read_bytes() == b"".join(before[:2])
    assert (tmp_path / "s.jsonl.bak").read_bytes() == b"".join(before)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            [user(1, "a"), reply(2, call("t")), user(3, "b"), user(4, [result("t")])],
            [
                [call("t")],
                [result("t")],
                "b",
                [text("[The result that was here is behind its call.]")],
            ],
        ),
        (
            [
                user(1, "a"),
                reply(2, call("t")),
                user(3, [result("t")]),
                user(4, [result("t", "b")]),
            ],
            [
                [call("t")],
                [result("t")],
                [text("[The result of a call that is not in the conversation:]"), text("b")],
            ],
        ),
        (
            [user(1, "a"), user(2, [text("b"), result("t", [text("c")])])],
            [
                [
                    text("b"),
                    text("[The result of a call that is not in the conversation:]"),
                    text("c"),
                ]
            ],
        ),
        (
            [user(1, "a"), reply(2, call("t")), user(3, [text("b"), result("t")])],
            [[call("t")], [result("t"), text("b")]],
        ),
        ([user(1, "a"), reply(2), user(3, "")], [[text("(no content)")]] * 2),
    ],
)
def test_results_and_calls_are_paired(
    pagefault: LoadedCommand, tmp_path: Path, lines: list[Json], expected: list[object]
) -> None:
    file = tmp_path / "s.jsonl"
    write(file, lines)
    assert findings(pagefault, file)
    done = pagefault.run("doctor", "--in-place", str(file))
    assert (done.returncode, contents(file)[1:]) == (0, expected), done.stderr


def test_missing_results_of_calls_at_once_are_beside_the_others(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    second = reply(3, call("t2"), name="m2")
    write(file, [user(1, "a"), reply(2, call("t1")), second, user(4, [result("t1")], parent=2)])
    assert findings(pagefault, file) == [(3, "no-answer")]
    assert pagefault.run("doctor", "--in-place", str(file)).returncode == 0
    assert findings(pagefault, file) == []


def test_images_beside_many_others_are_made_smaller(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    small = [image(b64(media.png(64, 64 + number))) for number in range(21)]
    write(file, [user(1, [image(b64(media.png(2400, 64))), *small])])
    report = json.loads(pagefault.run("doctor", str(file), "--json").stdout)
    found = [(item["line"], item["limit"], item["actual"]) for item in report["findings"]]
    assert found == [(1, 2000, 2400)]
    assert pagefault.run("doctor", "--in-place", str(file)).returncode == 0
    assert findings(pagefault, file) == []
    assert contents(file)[0][-21:] == small


def test_rollout_of_codex_is_mended(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "rollout.jsonl"
    question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
    shell = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
    patch = {"type": "custom_tool_call", "name": "apply_patch", "input": "", "call_id": "c2"}
    orphan = {"type": "function_call_output", "call_id": "c9", "output": "b"}
    lines = [
        rollout("session_meta", {"id": "s", "cwd": "/p", "n": 1}),
        rollout("response_item", question),
        rollout("response_item", shell),
        rollout("event_msg", {"type": "turn_aborted", "reason": "interrupted"}),
        rollout("response_item", patch),
        rollout("response_item", orphan),
        rollout("tomorrow", {"type": "message"}),
    ]
    before = write(file, lines)
    assert findings(pagefault, file) == [(3, "no-answer"), (5, "no-answer"), (6, "no-call")]
    done = pagefault.run("doctor", "--in-place", str(file))
    assert done.returncode == 0, done.stderr
    after = file.read_bytes().splitlines(keepends=True)
    kept = [0, 1, 2, 4, 5, 8]
    assert [after[index] for index in kept] == [before[index] for index in (0, 1, 2, 3, 4, 6)]
    answers = [json.loads(after[index])["payload"] for index in (3, 6, 7)]
    assert [(item["type"], item.get("call_id")) for item in answers] == [
        ("function_call_output", "c1"),
        ("custom_tool_call_output", "c2"),
        ("message", None),
    ]
    assert findings(pagefault, file) == []


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("", (), "is empty."),
        ("", ("--in-place",), "is empty."),
        ('{"messages": []}', ("--in-place",), "is no transcript of Claude Code or Codex."),
    ],
)
def test_file_that_is_no_transcript_is_refused(
    pagefault: LoadedCommand, tmp_path: Path, content: str, options: Sequence[str], expected: str
) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(content)
    done = pagefault.run("doctor", str(file), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().endswith(expected)


@pytest.mark.parametrize(
    "lines",
    [
        [user(1, "a"), reply(2, {"type": "tool_use", "name": "Bash"}), user(3, ["b", 4, None])],
        [user(1, {"type": "text", "text": ""}), reply(2, {"type": 7}), user(3, None)],
        [user(1, [{"type": "tool_result"}, {"type": "image"}]), "[]", "7", '"x"', "", "{}"],
        [user(1, "a"), {"type": "assistant", "message": {"content": "b"}}, {"role": "user"}],
        [user(1, [result(["t"]), result({}), result(7)]), reply(2, call(["t"]))],
        [rollout("response_item", {}), rollout("response_item", {"type": "function_call"})],
        [rollout("response_item", {"type": [], "call_id": "c"})],
        [
            rollout("compacted", {"replacement_history": [{"type": "function_call"}, 7]}),
            rollout("response_item", {"type": "function_call_output", "output": [7, None]}),
            rollout("response_item", {"type": "message", "role": "user", "content": [None, "a"]}),
        ],
    ],
)
def test_odd_lines_end_in_a_report(
    pagefault: LoadedCommand, tmp_path: Path, lines: list[Json | str]
) -> None:
    file = tmp_path / "s.jsonl"
    before = write(file, lines)
    done = pagefault.run("doctor", "--in-place", str(file))
    assert done.returncode in {0, 1, 2}
    assert "Traceback" not in done.stderr, done.stderr
    backup = tmp_path / "s.jsonl.bak"
    assert (backup if backup.exists() else file).read_bytes() == b"".join(before)


def test_pipe_is_read_as_a_history(pagefault: LoadedCommand, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    history = json.dumps({"messages": [{"role": "user", "content": "Hello."}]})
    writer = threading.Thread(target=pipe.write_text, args=(history,))
    writer.start()
    done = pagefault.run("doctor", str(pipe))
    writer.join()
    assert (done.returncode, done.stderr) == (0, "Nothing is wrong for openai-chat.\n")


def test_conversation_of_too_many_values_is_refused(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    before = write(file, [user(1, "a"), *(user(number, [7] * 50_000) for number in range(2, 8))])
    done = pagefault.run("doctor", "--in-place", str(file))
    assert done.returncode == 2
    assert "compact it, or start a new session." in " ".join(done.stderr.split())
    assert file.read_bytes() == b"".join(before)


def test_ids_of_calls_are_left_to_their_owner(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    before = write(file, [user(1, "a"), reply(2, call("t 1")), user(3, [result("t 1")])])
    done = pagefault.run("doctor", "--in-place", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert "bad-id" in done.stderr
    assert file.read_bytes() == b"".join(before)
    write(file, [user(1, "a"), reply(2, {**call("t"), "input": "ls"}), user(3, [result("t")])])
    assert pagefault.run("doctor", "--in-place", str(file)).returncode == 0
    assert contents(file)[1:] == [[{**call("t"), "input": {"input": "ls"}}], [result("t")]]


def test_media_in_items_of_codex_are_mended(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "rollout.jsonl"
    cut = f"data:image/png;base64,{b64(media.png(70, 64, noise=True)[:-400])}"
    picture = {"type": "input_image", "image_url": cut}
    question = {"type": "message", "role": "user", "content": [picture]}
    shell = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
    seen = {"type": "function_call_output", "call_id": "c1", "output": [picture]}
    write(file, [rollout("response_item", item) for item in (question, shell, seen)])
    assert findings(pagefault, file) == [(1, "unreadable"), (3, "unreadable")]
    assert pagefault.run("doctor", "--in-place", str(file)).returncode == 0
    items = [json.loads(item)["payload"] for item in file.read_bytes().splitlines()]
    words = items[2].pop("output")
    assert words.startswith("[Image: image/png")
    assert items == [
        {**question, "content": [{"type": "input_text", "text": words}]},
        shell,
        {name: seen[name] for name in ("type", "call_id")},
    ]


def test_line_whose_parent_is_missing_is_reported(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    lines = [user(1, "a"), reply(2, text("b")), user(3, "c", parent=9), reply(4, text("d"))]
    before = write(file, lines)
    assert findings(pagefault, file) == [(3, "lost-parent")]
    done = pagefault.run("doctor", "--in-place", str(file))
    assert (done.returncode, file.read_bytes()) == (1, b"".join(before))


def test_image_without_bytes_becomes_text(pagefault: LoadedCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    empty = image("")
    write(file, [user(1, [empty]), reply(2, call("t")), user(3, [result("t", [empty])])])
    assert findings(pagefault, file) == [(1, "unreadable"), (3, "unreadable")]
    assert pagefault.run("doctor", "--in-place", str(file)).returncode == 0
    words = text("[image/png data that is empty]")
    assert contents(file)[::2] == [[words], [result("t", [words])]]
    assert findings(pagefault, file) == []
