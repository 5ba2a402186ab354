"""`pagefault proxy` between a host and a server of MCP."""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from app.config.settings import Settings
from pagefault_dialects.context.cut_arguments import cut_arguments
from pagefault_dialects.context.cut_marks import cut_arguments_refusal
from pagefault_dialects.targets.tokens import count_tokens
from pagefault_mcp.messages.request_tracker import UNREADABLE
from tests.kit import images, mcp_server, media
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import ROOT, WAIT_SECONDS, environment, program
from tests.kit.servers import serving, with_a_database

Json = dict[str, Any]
HANDLE = "[image @blob:ac35ecd463b73ceb0e79a5dd57da8db9 64\N{MULTIPLICATION SIGN}48]"
TOGETHER = 10
SERVER = [sys.executable, "-m", "tests.kit.mcp_server"]
TALKATIVE = """
import select, sys
while not select.select([sys.stdin], [], [], 0)[0]:
    print(sys.argv[1], flush=True)
"""


class Conversation:
    """A host's side of two pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin, self._stdout = process.stdin, process.stdout

    def say(self, message: bytes) -> None:
        """Write one line."""
        self._stdin.write(message + b"\n")
        self._stdin.flush()

    def hear(self) -> bytes:
        """Read one line."""
        return self._stdout.readline().removesuffix(b"\n")

    def ask(self, number: object, method: str, **params: object) -> bytes:
        """Make a request, and read the next line."""
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.say(json.dumps(request).encode())
        return self.hear()

    def call(self, number: object, tool: str, **arguments: object) -> bytes:
        """Call a tool, and read the next line."""
        return self.ask(number, "tools/call", name=tool, arguments=arguments)

    def close(self) -> None:
        """Listen no more."""
        self._stdout.close()

    def leave(self) -> int:
        """Say nothing more, and return the status of what ends then."""
        self._stdin.close()
        return self.process.wait(WAIT_SECONDS)


@contextmanager
def talking(
    *command: str | Path, stderr: Path, env: Mapping[str, str] | None = None
) -> Iterator[Conversation]:
    """Run a command between two pipes; `env` is all of its environment."""
    with (
        stderr.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            env=env or environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,
        ) as process,
    ):
        try:
            yield Conversation(process)
        finally:
            process.kill()


@contextmanager
def proxied(
    folder: Path, *more: str, data: Path | None = None, server: tuple[str, ...] = ()
) -> Iterator[Conversation]:
    """Run the scripted server behind the proxy; `server` has its arguments."""
    near = data or with_a_database(folder / "data")
    options: list[str | Path] = ["--session", "demo", "--data-dir", near, *more]
    with talking(
        *program(), "proxy", *options, "--", *SERVER, *server, stderr=folder / "stderr"
    ) as host:
        yield host


@contextmanager
def direct(folder: Path) -> Iterator[Conversation]:
    """Run the scripted server alone."""
    with talking(*SERVER, stderr=folder / "stderr-of-the-server") as host:
        yield host


def history(data: Path, session: str = "demo") -> list[Json]:
    """Return the entries of the session that the proxy writes to."""
    with serving(Settings(data_dir=data, log_level="error")) as service, service.client() as client:
        listed: list[Json] = client.get(f"/api/sessions/{session}/messages").json()["items"]
    return listed


def calls_in(entries: list[Json]) -> list[Json]:
    """Return the first call of each message that calls tools, in entries of any form."""
    messages = [entry.get("message", entry) for entry in entries]
    return [message["tool_calls"][0] for message in messages if "tool_calls" in message]


REQUESTS: list[tuple[str, Json]] = [
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}),
    ("tools/list", {}),
    ("unknown/method", {"a": [1.0, 1e2]}),
    *(("tools/call", {"name": name, "arguments": {}}) for name in mcp_server.ANSWERS),
]


def test_messages_without_media_pass_byte_for_byte(tmp_path: Path) -> None:
    answers = []
    for server in (direct(tmp_path), proxied(tmp_path, "--no-tools")):
        with server as host:
            answers.append(
                [host.ask(n, method, **params) for n, (method, params) in enumerate(REQUESTS)]
            )
            assert host.leave() == 0
    assert answers[1] == answers[0]


def test_long_text_arrives_as_a_preview_that_names_the_whole(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        answer = json.loads(host.call(1, "long", characters=3_000_000))
        assert host.leave() == 0
    block, named = answer["result"]["content"]
    (resource,) = history(tmp_path / "data")[1]["sanitized"]["resources"]
    assert (len(block["text"]) < 6_000, resource["size"]) == (True, 3_000_000)
    assert f"the whole text is {resource['uri']}" in block["text"]
    assert named["text"] == f"[text @{resource['uri']} 3,000,000 characters]"


def test_calls_and_results_are_in_the_history(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        for number, tool in enumerate(("word", "fails", "error", "picture")):
            host.call(number, tool, of="this test")
        host.hear()
        assert host.leave() == 0
    calls = {}
    answers = []
    for entry in history(tmp_path / "data"):
        if entry["role"] == "assistant":
            (call,) = entry["message"]["tool_calls"]
            calls[call["id"]] = call["function"]
        else:
            meta = entry["sanitized"]["meta"]
            parts = [part.get("text", part["type"]) for part in entry["sanitized"]["parts"]]
            answers.append((calls[entry["toolCallId"]], meta["success"], parts))
    arguments = '{"of":"this test"}'
    assert answers == [
        ({"name": "word", "arguments": arguments}, True, ["a"]),
        ({"name": "fails", "arguments": arguments}, False, ["no such file"]),
        (
            {"name": "error", "arguments": arguments},
            False,
            ['{"code":-32602,"message":"Unknown tool"}'],
        ),
        ({"name": "picture", "arguments": arguments}, True, ["a picture", "image"]),
    ]


def test_result_that_comes_later_is_stored_when_it_comes(tmp_path: Path) -> None:
    answers = []
    for server in (direct(tmp_path), proxied(tmp_path)):
        with server as host:
            answers.append(
                [
                    host.call(1, "asks"),
                    host.call(2, "later"),
                    host.ask(3, "tasks/result", taskId="another"),
                    host.ask(4, "tasks/result", taskId="t"),
                ]
            )
            assert host.leave() == 0
    assert answers[1] == answers[0]
    entries = history(tmp_path / "data")
    assert [entry["role"] for entry in entries] == ["assistant", "assistant", "tool"]
    (result,) = [entry for entry in entries if "sanitized" in entry]
    assert result["sanitized"]["parts"] == [{"type": "text", "text": "done at last"}]
    assert calls_in(entries)[1]["id"] == result["toolCallId"]


def test_end_of_a_task_answers_its_call(tmp_path: Path) -> None:
    """In the extension of 2026-07-28 the task has its result as a member."""
    ids = [*mcp_server.ENDS, "told"]
    received = []
    for server in (direct(tmp_path), proxied(tmp_path)):
        with server as host:
            host.ask(0, "initialize", protocolVersion="2026-07-28", capabilities={})
            for task_id in ids:
                host.call(task_id, "task", ends=task_id)
            polls = [host.ask(n, "tasks/get", taskId=item) for n, item in enumerate(ids * 2, 10)]
            answers = [json.loads(poll) for poll in (*polls, host.hear())]
            # Stored answers arrive after the others.
            received.append(sorted(answers, key=lambda answer: answer.get("id", 100)))
            assert host.leave() == 0
    contents = [
        received[1][5]["result"]["result"]["content"],
        received[1][10]["params"]["result"]["content"],
    ]
    assert [[item["type"] for item in content] for content in contents] == [
        ["text", "image", "text"]
    ] * 2
    assert contents[0][2]["text"] == HANDLE
    assert [*map(_without_content, received[1])] == [*map(_without_content, received[0])]
    entries = history(tmp_path / "data")
    called = {call["id"]: json.loads(call["function"]["arguments"]) for call in calls_in(entries)}
    results = [entry["sanitized"] for entry in entries if "sanitized" in entry]
    ended = {
        called[result["meta"]["toolCallId"]]["ends"]: (
            result["meta"]["success"],
            result["parts"][0],
        )
        for result in results
    }
    whole = (True, {"type": "text", "text": "all of it"})
    assert {key: (success, part["text"]) for key, (success, part) in ended.items()} == {
        "completed": (True, whole[1]["text"]),
        "completed with an error": (False, "no such file"),
        "failed": (False, ended["failed"][1]["text"]),
        "cancelled": (False, "nobody waited"),
        "told": (True, whole[1]["text"]),
    }
    assert "the limit of a service" in ended["failed"][1]["text"]
    assert len(results) == len(ids)


def _without_content(message: Json) -> Json:
    """Return a message without its content."""
    task = message.get("result", message.get("params"))
    assert task is not None
    task.get("result", {}).pop("content", None)
    return message


def test_result_that_comes_after_its_call_was_cancelled_is_stored(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        host.ask(1, "tools/call", name="hold", _meta={"progressToken": 1})
        host.say(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
        answers = [json.loads(item) for item in (host.call(2, "let_go", steps=0), host.hear())]
        assert host.leave() == 0
    assert {answer["id"] for answer in answers} == {1, 2}
    stored = [item["sanitized"] for item in history(tmp_path / "data") if "sanitized" in item]
    assert {item["meta"]["toolName"]: item["parts"] for item in stored} == {
        "hold": [{"type": "text", "text": "held"}],
        "let_go": [{"type": "text", "text": "a"}],
    }


def test_picture_arrives_with_everything_around_it(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        progress = host.call(1, "picture")
        answer = json.loads(host.hear())
        assert host.leave() == 0
    assert json.loads(progress)["method"] == "notifications/progress"
    assert answer == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "content": [
                {"type": "text", "text": "a picture"},
                {"type": "image", "data": media.b64(mcp_server.PNG), "mimeType": "image/png"},
                {"type": "text", "text": HANDLE},
            ],
            "_meta": {"a": [1]},
        },
    }


def text(words: str) -> Json:
    """Return a block of text."""
    return {"type": "text", "text": words}


SOUND_HANDLE = "[audio @blob:358f5304c8b675eb5c13c32ceefcc058]"
SOUND_BLOCKS: dict[str, Json] = {
    "2024-11-05": {
        "type": "resource",
        "resource": {
            "uri": "blob:358f5304c8b675eb5c13c32ceefcc058",
            "mimeType": "audio/wav",
            "blob": mcp_server.MIXED[2]["data"],
        },
    },
    "2025-03-26": mcp_server.MIXED[2],
}
WORDS = {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "words"}
LINK_BLOCKS: dict[str, Json] = {
    "2025-03-26": text("[Image: a.png (http://a.test/a)]"),
    "2025-06-18": mcp_server.MIXED[3],
}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_host_gets_media_as_the_revision_knows_them_that_it_has_agreed_on(
    tmp_path: Path, revision: str
) -> None:
    with proxied(tmp_path) as host:
        host.ask(1, "initialize", protocolVersion=revision, capabilities={})
        tools(host, 2)
        mixed = json.loads(host.call(3, "mixed"))["result"]
        viewed = json.loads(host.call(4, "view_media", ref=SOUND_HANDLE))["result"]
        assert host.leave() == 0
    sound = SOUND_BLOCKS[min(revision, "2025-03-26")]
    assert mixed == {
        "content": [
            *(*mcp_server.MIXED[:2], text(HANDLE), sound, text(SOUND_HANDLE)),
            LINK_BLOCKS[max(revision, "2025-03-26")],
            {"type": "resource", "resource": WORDS},
            # Older hosts do not read `structuredContent`.
            *([] if revision >= "2025-06-18" else [text('{"n":1}')]),
        ],
        "structuredContent": {"n": 1},
    }
    assert viewed["content"][:1] == [sound]


@pytest.mark.parametrize("is_listed", [True, False])
def test_structured_content_is_what_its_schema_says_beside_media(
    tmp_path: Path, is_listed: bool
) -> None:
    schema = mcp_server.MEASURE["outputSchema"]
    with proxied(tmp_path) as host:
        start(host)
        if is_listed:
            tools(host, 1, cursor="typed")
        for length in (10, mcp_server.MIB):
            result = json.loads(host.call(2, "measure", length=length))["result"]
            assert text(HANDLE) in result["content"]
            assert result["structuredContent"] == mcp_server.measured(length)
            Draft202012Validator(schema).validate(result["structuredContent"])
        assert host.leave() == 0


def test_picture_that_is_more_than_the_host_takes_is_a_line_instead(tmp_path: Path) -> None:
    with proxied(tmp_path, "--max-images", "0") as host:
        host.call(1, "picture")
        answer = json.loads(host.hear())
        assert host.leave() == 0
    assert answer["result"]["content"] == [
        {"type": "text", "text": "a picture"},
        {"type": "text", "text": "[Image: image/png (9.3 kB)]"},
        {"type": "text", "text": HANDLE},
    ]


def test_result_of_more_tokens_than_the_host_takes_names_the_call_that_shows_it(
    tmp_path: Path,
) -> None:
    with proxied(tmp_path, "--max-tokens", "200") as host:
        answer = json.loads(host.call(1, "long", characters=5_000))
        assert host.leave() == 0
    [block] = answer["result"]["content"]
    head, line, tail = block["text"].splitlines()
    left_out = 5_000 - len(head) - len(tail)
    hint = 'read_text("@entry:2") shows all of it'
    assert line == f"[… {left_out} characters left out; {hint} …]"
    assert count_tokens(block["text"]) <= 200


def test_host_gets_texts_and_images_no_larger_than_it_takes(tmp_path: Path) -> None:
    limits = ("--max-text", "1000", "--max-image-pixels", "32")
    with proxied(tmp_path, *limits) as host:
        texts = [
            [block["text"] for block in json.loads(answer)["result"]["content"]]
            for answer in (host.call(1, "long", characters=n) for n in (1_000, 1_001, 20_000))
        ]
        host.call(4, "picture")
        _, note, image, line = json.loads(host.hear())["result"]["content"]
        tools(host, 5)
        whole = json.loads(host.call(6, "read_text", ref="@entry:4"))
        viewed = json.loads(host.call(7, "view_media", ref=HANDLE))
        assert host.leave() == 0
    x, rest = "x", "\n" + "x" * 125
    (stored,) = history(tmp_path / "data")[5]["sanitized"]["resources"]
    assert texts == [
        [x * 1_000],
        [f'{x * 500}\n[… 376 characters left out; read_text("@entry:4") shows all of it …]{rest}'],
        [
            f"{x * 500}\n[… 19375 characters left out; the whole text is {stored['uri']} …]{rest}",
            f"[text @{stored['uri']} 20,000 characters]",
        ],
    ]
    assert "shown as 32x24 instead of 64x48 pixels" in note["text"]
    assert images.opened(base64.b64decode(image["data"])).size == (32, 24)
    assert line["text"] == HANDLE
    assert x * 1_001 in whole["result"]["content"][0]["text"]
    assert "shown as 32x24" in viewed["result"]["content"][0]["text"]


def test_host_that_takes_longer_texts_gets_them_whole(tmp_path: Path) -> None:
    with proxied(tmp_path, "--max-text", "20000") as host:
        answers = [json.loads(host.call(n, "long", characters=n)) for n in (20_000, 20_001)]
        assert host.leave() == 0
    whole, cut = ([block["text"] for block in answer["result"]["content"]] for answer in answers)
    assert whole == [
        "x" * 20_000,
        "[text @blob:63ea42650b47d179f898ad86fb419ebe 20,000 characters]",
    ]
    assert cut[0].startswith(
        "x" * 4_000 + "\n[… 15001 characters left out; the whole text is blob:"
    )


def batch_of(*calls: tuple[object, str]) -> bytes:
    """Return a batch of calls of tools, and a notification."""
    return json.dumps(
        [
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            *(
                {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name}}
                for n, name in calls
            ),
        ]
    ).encode()


def test_batch_without_media_passes_byte_for_byte_within_all_limits(tmp_path: Path) -> None:
    answers = []
    limits = ("--max-tokens", "10000", "--max-bytes", "9", "--max-images", "1")
    calls = [(n, name) for n, name in enumerate(mcp_server.ANSWERS) if name != "no-json"]
    for server in (direct(tmp_path), proxied(tmp_path, *limits)):
        with server as host:
            host.say(batch_of(*calls))
            answers.append(host.hear())
            host.say(b"[]")
            answers.append(host.hear())
            assert host.leave() == 0
    assert answers[2:] == answers[:2]
    assert len(history(tmp_path / "data")) == 2 * 7 - 2


def test_calls_in_a_batch_are_stored_and_rendered_like_single_ones(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        tools(host, 1)
        host.say(batch_of((2, "word"), (3, "picture"), (4, "list_media")))
        received = [host.hear(), host.hear(), host.hear()]
        host.say(batch_of((5, "list_media"))[:-1] + b', {"id": 6, "method": "tools/list"}]')
        received += [host.hear(), host.hear()]
        host.say(b'[{"id": 7, "method": "tools/call", "params": {"name": "list_media"}}]')
        own_alone = json.loads(host.hear())
        assert host.leave() == 0
    batches = [word for word in received if word.startswith(b"[")]
    singles = [json.loads(word) for word in received if not word.startswith(b"[")]
    assert mcp_server.ANSWERS["word"] % 2 in batches[0]
    _, picture = json.loads(batches[0])
    assert [item["type"] for item in picture["result"]["content"]] == ["text", "image", "text"]
    assert picture["result"]["content"][2]["text"] == HANDLE
    ((listed,),) = (json.loads(batches[1]),)
    assert [tool["name"] for tool in listed["result"]["tools"]][-6:] == OWN_TOOLS
    # Progress precedes its answer; the memory's tools answer separately.
    assert sorted(str(single.get("id", single.get("method"))) for single in singles) == [
        "4",
        "5",
        "notifications/progress",
    ]
    assert own_alone["id"] == 7
    assert len(history(tmp_path / "data")) == 2 * 5


def test_server_that_dies_is_reported_as_its_own_end(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        host.call(1, "word")
        assert host.call(2, "exit") == b""
        assert host.process.wait(WAIT_SECONDS) == 3
    stderr = (tmp_path / "stderr").read_text()
    assert (
        stderr
        == f"the server gives up\npagefault: the server {sys.executable} ended with status 3\n"
    )
    # The call that ended it is recorded without an answer.
    roles = [message["role"] for message in history(tmp_path / "data")]
    assert roles == ["assistant", "tool", "assistant"]


def test_host_that_leaves_while_it_is_written_to_ends_its_server(tmp_path: Path) -> None:
    message = '{"jsonrpc":"2.0","method":"notifications/message"}'
    # The server writes without end until it is terminated.
    server = [sys.executable, "-c", TALKATIVE, message]
    options: list[str | Path] = ["--session", "demo", "--data-dir", tmp_path / "data"]
    command = [*program(), "proxy", *options, "--", *server]
    with talking(*command, stderr=tmp_path / "stderr") as host:
        assert host.hear() == message.encode()
        host.close()
        assert host.leave() == 0
    assert (tmp_path / "stderr").read_text() == ""


def test_server_that_reads_nothing_ends_when_its_host_has_left(tmp_path: Path) -> None:
    server = [sys.executable, "-c", "import signal; signal.pause()"]
    options: list[str | Path] = ["--session", "demo", "--data-dir", tmp_path / "data"]
    command = [*program(), "proxy", *options, "--", *server]
    with talking(*command, stderr=tmp_path / "stderr") as host:
        # More than a pipe holds, so that the proxy is not done with it.
        host.say(json.dumps({"jsonrpc": "2.0", "method": "x" * 100_000}).encode())
        assert host.leave() == 128 + signal.SIGTERM
    assert "ended with signal 15" in (tmp_path / "stderr").read_text()


def test_without_a_store_results_pass_as_they_came(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with direct(tmp_path) as host:
        expected = [host.call(1, "picture"), host.hear(), host.call(2, "word")]
    with proxied(tmp_path, data=tmp_path / "file" / "data") as host:
        answers = [host.call(1, "picture"), host.hear(), host.call(2, "word")]
        assert host.leave() == 0
    stderr = (tmp_path / "stderr").read_text()
    assert answers == expected
    assert stderr.startswith("pagefault: results are passed on and not stored: ")


def test_host_that_reads_no_warnings_is_served_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    warnings = tmp_path / "warnings"
    os.mkfifo(warnings)
    reader = os.open(warnings, os.O_RDONLY | os.O_NONBLOCK)
    options: list[str | Path] = ["--session", "demo", "--data-dir", tmp_path / "file" / "data"]
    with talking(*program(), "proxy", *options, "--", *SERVER, stderr=warnings) as host:
        os.close(reader)
        ids = [json.loads(host.call(number, "word"))["id"] for number in (1, 2)]
        assert host.leave() == 0
    assert ids == [1, 2]


def test_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        [*program(), "proxy", "--session", "demo", "--data-dir", tmp_path, "--", "no-such-server"],
        capture_output=True,
        env=environment(),
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        b"",
        b"pagefault: cannot start no-such-server: No such file or directory\n",
    )


@pytest.mark.parametrize("number", [0, -1, "a", "\N{LATIN SMALL LETTER E WITH DIAERESIS}"])
def test_any_id_of_a_request_is_given_back(tmp_path: Path, number: object) -> None:
    with proxied(tmp_path) as host:
        answer = host.call(number, "picture")
        answer = host.hear()
    assert json.loads(answer)["id"] == number


@pytest.mark.parametrize("prefix", ["bad name!", "memory.", "a" * 53, "a\n"])
def test_prefix_that_makes_names_which_providers_refuse_is_refused(
    pagefault: LoadedCommand, tmp_path: Path, prefix: str
) -> None:
    options = ("--session", "demo", "--data-dir", str(tmp_path), "--prefix", prefix)
    done = pagefault.run("proxy", *options, "--", *SERVER)
    assert (done.returncode, "up to 52" in done.stderr) == (2, True)


def test_longest_prefix_makes_names_that_providers_take() -> None:
    assert max(len("a" * 52 + name) for name in OWN_TOOLS) == 64


OWN_TOOLS = ["page_fault", "search_pages", "read_text", "view_media", "save_page", "list_media"]


def tools(host: Conversation, number: int, **params: object) -> list[str]:
    """Return the names of the tools in one answer to `tools/list`."""
    listed = json.loads(host.ask(number, "tools/list", **params))["result"]["tools"]
    return [tool["name"] for tool in listed]


def test_our_tools_stand_at_the_end_of_the_last_page(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        assert tools(host, 1) == [*mcp_server.ANSWERS, *OWN_TOOLS]
        assert tools(host, 2, cursor="first") == [*mcp_server.ANSWERS]
        assert tools(host, 3, cursor="more") == ["upload", *OWN_TOOLS]
        assert tools(host, 4, cursor="none") == OWN_TOOLS
        assert tools(host, 5, cursor="ended") == OWN_TOOLS
    with proxied(tmp_path, "--prefix", "memory_") as host:
        assert tools(host, 1, cursor="more") == [
            "upload",
            *(f"memory_{tool}" for tool in OWN_TOOLS),
        ]


def test_thousands_of_tools_pass_and_are_listed_anew(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        assert tools(host, 1, cursor="many")[4_999:] == ["tool4999", *OWN_TOOLS]
        changed = json.loads(host.call(2, "changes"))
        assert changed["method"] == "notifications/tools/list_changed"
        assert json.loads(host.hear())["id"] == 2
        assert tools(host, 3)[-6:] == OWN_TOOLS
        assert host.leave() == 0


def test_proxies_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ExitStack() as stack:
        hosts = []
        for number in range(TOGETHER):
            (tmp_path / str(number)).mkdir()
            hosts.append(stack.enter_context(proxied(tmp_path / str(number), data=data)))
        for host in hosts:
            host.say(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"word"}}')
        assert [host.hear() for host in hosts] == [mcp_server.ANSWERS["word"] % 1] * TOGETHER
        assert [host.leave() for host in hosts] == [0] * TOGETHER
    stderr = [(tmp_path / str(number) / "stderr").read_text() for number in range(TOGETHER)]
    assert stderr == [""] * TOGETHER
    assert len(history(data)) == 2 * TOGETHER
    # All share one service, which migrates.
    assert len(list((data / "proxies").iterdir())) == 1


def test_our_tools_are_run_here_and_the_server_never_sees_their_calls(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        tools(host, 1)
        host.call(2, "picture")
        host.hear()
        viewed = json.loads(host.call("a", "view_media", ref=HANDLE))
        wrong = json.loads(host.call(4, "page_fault", page_id="absent"))
        assert host.leave() == 0
    image, line = viewed["result"]["content"]
    assert (viewed["id"], image["data"], line["text"]) == ("a", media.b64(mcp_server.PNG), HANDLE)
    assert wrong["result"]["isError"] is True
    assert "There is no page absent" in wrong["result"]["content"][0]["text"]
    assert len(history(tmp_path / "data")) == 6


@pytest.mark.promise(
    "security.md#what-models-ask-for",
    "The proxy does not pass on a call with an argument that was cut in an old call",
    kept_by="packages/mcp/src/pagefault_mcp/proxy/proxy.py",
    tried="3 calls, one in a batch",
)
def test_call_with_a_cut_argument_is_answered_and_the_server_never_sees_it(
    tmp_path: Path,
) -> None:
    handle = "@entry:1/arguments/0/note"
    cut = cut_arguments({"note": "x" * 900}, "@entry:1/arguments/0")["note"]
    answered = {
        "resultType": "complete",
        "content": [{"type": "text", "text": cut_arguments_refusal(handle)}],
        "isError": True,
    }
    with proxied(tmp_path) as host:
        first = json.loads(host.call(1, "upload", note="x" * 900))
        assert json.loads(first["result"]["content"][0]["text"]) == {"note": "x" * 900}
        for number in (2, "b"):
            refused = json.loads(host.call(number, "upload", note=[{"deep": f"See {cut}"}]))
            assert refused == {"jsonrpc": "2.0", "id": number, "result": answered}
        params = {"name": "upload", "arguments": {"note": cut}}
        call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
        ping = {"jsonrpc": "2.0", "id": 4, "method": "ping"}
        host.say(json.dumps([call, ping]).encode())
        received = [json.loads(host.hear()) for _ in range(2)]
        assert {"jsonrpc": "2.0", "id": 3, "result": answered} in received
        read = json.loads(host.call(5, "read_text", ref=cut))
        assert read["result"]["content"][0]["text"].endswith("\n" + "x" * 900)
        assert host.leave() == 0
    entries = history(tmp_path / "data")
    assert len(calls_in(entries)) == 5
    assert json.dumps(entries).count("The call was not run") == 3


def test_answer_of_our_tools_fits_the_budget_of_the_host(tmp_path: Path) -> None:
    with proxied(tmp_path, "--max-tokens", "600") as host:
        host.call(1, "save_page", content="Ten sheep. " * 5_000)
        found = json.loads(host.call(2, "search_pages", query="sheep"))
        page_id = found["result"]["content"][0]["text"].partition(" ")[0]
        page = json.loads(host.call(3, "page_fault", page_id=page_id, target_level=0))
        assert host.leave() == 0
    words = page["result"]["content"][0]["text"]
    assert count_tokens(words) <= 300
    assert f'an answer has 300 tokens at most; read_text("{page_id}", offset=' in words


def test_content_for_the_user_is_annotated_for_the_host(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        image, line = json.loads(host.call(1, "for_user"))["result"]["content"]
        assert host.leave() == 0
    annotations = {"annotations": {"audience": ["user"]}}
    assert image == {
        "type": "image",
        "data": media.b64(mcp_server.PNG),
        "mimeType": "image/png",
        **annotations,
    }
    assert line == {"type": "text", "text": HANDLE, **annotations}


def test_handles_become_files_where_the_schema_takes_them(tmp_path: Path) -> None:
    handle = HANDLE.split()[1]
    files = tmp_path / "files"
    arguments = {
        "image": handle,
        "images": [HANDLE, "other"],
        "url": handle,
        "file_path": handle,
        "note": handle,
    }
    with proxied(tmp_path, "--files", str(files)) as host:
        tools(host, 1, cursor="more")
        before = json.loads(host.call(2, "upload", **arguments))
        host.call(3, "picture")
        host.hear()
        echoed = json.loads(host.call(4, "upload", **arguments))
        got = json.loads(echoed["result"]["content"][0]["text"])
        path = Path(got["file_path"])
        assert (path.parent, path.read_bytes()) == (files, mcp_server.PNG)
        assert host.leave() == 0
    # The session had no media at that time.
    assert json.loads(before["result"]["content"][0]["text"]) == arguments
    base64 = media.b64(mcp_server.PNG)
    expected = {
        "image": base64,
        "images": [base64, "other"],
        "url": f"data:image/png;base64,{base64}",
        "file_path": str(path),
        "note": handle,
    }
    assert got == json.loads(mcp_server.told(expected))
    assert not files.exists()
    # The history has the call as the model made it.
    calls = calls_in(history(tmp_path / "data"))
    assert json.loads(calls[-1]["function"]["arguments"]) == arguments


def test_files_of_tools_are_removed_when_the_proxy_is_terminated(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "somebody's").write_text("kept")
    with proxied(tmp_path, "--files", str(files)) as host:
        tools(host, 1, cursor="more")
        host.call(2, "picture")
        host.hear()
        echoed = json.loads(host.call(3, "upload", file_path=HANDLE))
        path = Path(json.loads(echoed["result"]["content"][0]["text"])["file_path"])
        assert path.read_bytes() == mcp_server.PNG
        host.process.terminate()
        assert host.process.wait(WAIT_SECONDS) == 128 + signal.SIGTERM
    assert [*files.iterdir()] == [files / "somebody's"]


def test_paths_are_left_alone_without_a_folder_for_files(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        tools(host, 1, cursor="more")
        host.call(2, "picture")
        host.hear()
        echoed = json.loads(host.call(3, "upload", file_path=HANDLE.split()[1]))
        assert host.leave() == 0
    got = json.loads(echoed["result"]["content"][0]["text"])
    assert got == {"file_path": HANDLE.split()[1]}


def start(host: Conversation) -> None:
    """Negotiate a revision, without a request for the list of tools."""
    host.ask("start", "initialize", protocolVersion="2025-06-18", capabilities={})
    host.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


def test_host_that_asks_for_no_list_has_its_handles_resolved_all_the_same(tmp_path: Path) -> None:
    handle = HANDLE.split()[1]
    with proxied(tmp_path, server=("paged",)) as host:
        start(host)
        host.call(1, "picture")
        host.hear()
        echoed = json.loads(host.call(2, "upload", image=handle, note=handle))
        namesake = json.loads(host.call(3, "save_page", content="a"))
        ours = json.loads(host.call(4, "view_media", ref=handle))
        assert host.leave() == 0
    got = json.loads(echoed["result"]["content"][0]["text"])
    assert got == json.loads(mcp_server.told({"image": media.b64(mcp_server.PNG), "note": handle}))
    # The server has a tool of that name, which the host has not listed.
    assert namesake["result"]["content"][0]["text"] == '{"content": "a"}'
    assert ours["result"]["content"][0]["type"] == "image"
    assert (tmp_path / "stderr").read_text() == ""


def test_server_that_lists_no_tools_gets_calls_as_they_came_and_none_of_ours(
    tmp_path: Path,
) -> None:
    with proxied(tmp_path, server=("listless",)) as host:
        start(host)
        echoed = json.loads(host.call(1, "upload", image="@blob:1"))
        ours = json.loads(host.call(2, "save_page", content="a"))
        assert host.leave() == 0
    assert echoed["result"]["content"][0]["text"] == '{"image": "@blob:1"}'
    assert "saved" in ours["result"]["content"][0]["text"].lower()
    warning = (
        "pagefault: the server has not listed all its tools: handles for upload stay as they are, "
        "and a call with the name of a memory's tool runs that tool\n"
    )
    assert (tmp_path / "stderr").read_text() == warning


def test_numbers_that_are_none_pass_and_their_calls_are_stored(tmp_path: Path) -> None:
    texts = ['{"t":1e999}', '{"t": NaN}']
    request = (
        '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"word","arguments":%s}}'
    )
    upload = request.replace("word", "upload") % (8, '{"image":"@blob:1","t":1e999}')
    with proxied(tmp_path) as host:
        tools(host, 1, cursor="more")
        host.say(upload.encode())
        echoed = json.loads(host.hear())
        answers = []
        for number, arguments in enumerate(texts):
            host.say((request % (number, arguments)).encode())
            answers.append(host.hear())
        assert host.leave() == 0
    assert echoed["result"]["content"][0]["text"] == '{"image": "@blob:1", "t": Infinity}'
    assert answers == [mcp_server.ANSWERS["word"] % number for number in range(2)]
    entries = history(tmp_path / "data")
    calls = calls_in(entries)
    assert [call["function"]["arguments"] for call in calls[1:]] == texts
    assert len(entries) == 2 * 3


def test_arguments_that_are_too_long_leave_the_call_in_the_history(tmp_path: Path) -> None:
    size = 9 * mcp_server.MIB
    with proxied(tmp_path) as host:
        tools(host, 1)
        host.call(2, "picture", of="x" * size)
        rendered = json.loads(host.hear())
        own = json.loads(host.call(1.5, "save_page", content="x" * size))
        assert host.leave() == 0
    assert [item["type"] for item in rendered["result"]["content"]] == ["text", "image", "text"]
    assert (own["id"], own["result"]["isError"]) == (1.5, True)
    assert "longer than 8 MiB" in own["result"]["content"][0]["text"]
    call, result = history(tmp_path / "data")
    written = json.loads(calls_in([call])[0]["function"]["arguments"])
    beginning = "9.4 MB of arguments, which are not kept. They begin: "
    assert written == {"input": beginning + '{"of": "' + "x" * 991}
    assert calls_in([call])[0]["id"] == result["toolCallId"]
    warning = f"pagefault: handles for picture stay as they are: its arguments are {UNREADABLE}\n"
    assert (tmp_path / "stderr").read_text() == warning


def test_any_number_is_the_id_of_a_call_and_others_are_reported(tmp_path: Path) -> None:
    call = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":{}}}'
    with proxied(tmp_path) as host:
        tools(host, 1)
        host.say((call % ("2.50", "picture")).encode())
        host.hear()
        assert len(json.loads(host.hear())["result"]["content"]) == 3
        long = json.loads(host.call("i" * 5_000, "list_media"))
        host.say((call % ("null", "list_media")).encode())
        null = json.loads(host.hear())
        host.say((call % ("null", "picture")).encode())
        host.hear()
        assert len(json.loads(host.hear())["result"]["content"]) == 2
        assert host.leave() == 0
    assert (long["id"], "result" in long, null["id"]) == ("i" * 5_000, True, None)
    warning = (
        "pagefault: a call of picture is not stored, and no file is put into it: "
        "its id is no string and no number, or too long\n"
    )
    assert (tmp_path / "stderr").read_text() == warning


def test_call_that_was_asked_for_input_is_one_call_with_one_result(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        host.call(1, "asks", text="blue")
        again: Json = {"name": "asks", "arguments": {"text": "blue"}, "requestState": "s"}
        assert b'"blue"' in host.ask(2, "tools/call", **again, inputResponses={})
        assert host.leave() == 0
    call, result = history(tmp_path / "data")
    assert calls_in([call])[0]["id"] == result["toolCallId"]
    assert result["sanitized"]["parts"] == [{"type": "text", "text": "blue"}]


def test_text_that_is_a_handle_arrives_as_the_same_bytes(tmp_path: Path) -> None:
    handle = HANDLE.split()[1]
    with proxied(tmp_path) as host:
        host.call(1, "picture")
        host.hear()
        answer = host.call(2, "echo", text=handle)
        assert host.leave() == 0
    with direct(tmp_path) as host:
        assert host.call(2, "echo", text=handle) == answer


def test_history_names_the_server_of_a_call(tmp_path: Path) -> None:
    with proxied(tmp_path) as host:
        start(host)
        host.call(1, "picture")
        host.hear()
        host.call(2, "word")
        assert host.leave() == 0
    settings = Settings(data_dir=tmp_path / "data", log_level="error")
    with serving(settings) as service, service.client() as client:
        entries = client.get("/api/sessions/demo/messages").json()["items"]
        rendered = client.get("/api/sessions/demo/render?target=openai-chat").json()
    server = {"pagefault/server": "said"}
    assert [
        entry["message"]["_meta"] if "message" in entry else entry["sanitized"]["meta"]["_meta"]
        for entry in entries
    ] == [
        server,
        {**server, "a": [1]},
        server,
        server,
    ]
    # A model can call a tool only by the name of its host.
    calls = [
        message["tool_calls"][0] for message in rendered["messages"] if "tool_calls" in message
    ]
    assert [call["function"]["name"] for call in calls] == ["picture", "word"]
    assert "said" not in json.dumps(rendered["messages"])
