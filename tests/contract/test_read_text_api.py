"""`read_text` reads pages, arguments of calls and lists of entries, in pieces."""

import json
import re

import httpx
import pytest

from pagefault_dialects.targets.tokens import count_tokens
from tests.contract.page_requests import put
from tests.contract.render_requests import read_rendering
from tests.contract.session_requests import append, call_tool

pytestmark = pytest.mark.engines("embedded")

CONTENT = "\n".join(f"{number} line of the file" for number in range(1, 601))
EDITS = {"path": "a.py", "edits": [{"old/new": CONTENT}, {"old/new": "x"}]}
LINES = re.compile(r"\[entries \d+ to \d+(?:; go on with ref=\"(@entries:[0-9-]+)\")?\]\n")


def read(client: httpx.Client, ref: str, **arguments: object) -> str:
    """Return the answer of the tool to a model."""
    said = {"ref": ref, **arguments}
    body = {"target": "openai-chat", "id": json.dumps(said)[:500], "name": "read_text"}
    more = {"handles": False, "arguments": said}
    answer = client.post("/api/sessions/s/tool-calls", json={**body, **more})
    return str(read_rendering(answer, "openai-chat")["messages"][0]["content"])


def calling(name: str, arguments: object, call_id: str) -> dict[str, object]:
    """A call as Chat Completions has it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


def work(client: httpx.Client) -> None:
    """A history of a question, two calls, and their answers, one of which failed."""
    assert append(client, content="Write\nit.").is_success
    calls = [calling("bash", {"command": "ls"}, "b"), calling("edit", EDITS, "w")]
    assert append(client, role="assistant", content="I do.", tool_calls=calls).is_success
    call_tool(client, "b", "a.py")
    failed = {"toolName": "edit", "toolCallId": "w", "sessionId": "s", "success": False}
    assert client.post("/api/tool-results", json={**failed, "result": "no room"}).is_success


class TestPages:
    @pytest.mark.parametrize("ref", ["notes", '"notes"', "page:notes", "[ref: notes]", "notes."])
    def test_page_is_read_by_its_id_as_page_fault_understands_it(
        self, client: httpx.Client, ref: str
    ) -> None:
        put(client, "notes", content=CONTENT, modality="text")
        assert read(client, ref, offset=5, limit=10) == (
            f"[page notes, characters 5 to 15; go on with offset=15]\n{CONTENT[5:15]}"
        )
        assert read(client, ref, grep="600 LINE") == (
            "[page notes, 1 of 600 lines match]\n600: 600 line of the file"
        )

    def test_page_without_a_text_is_shown_by_page_fault(self, client: httpx.Client) -> None:
        put(client, "sun", content="https://example.com/a.png", modality="image")
        assert read(client, "sun").endswith('Page sun has no text. page_fault("sun", 0) shows it.')

    @pytest.mark.engines("embedded")
    def test_reference_to_two_pages_is_asked_for_again(self, client: httpx.Client) -> None:
        for page_id in ("one", "two"):
            put(client, page_id, content="x", modality="text")
        assert read(client, "one, two").endswith(
            'These pages are there, one for each call: read_text("one"), read_text("two").'
        )

    @pytest.mark.engines("embedded")
    def test_data_of_a_page_is_read_by_a_pointer(self, client: httpx.Client) -> None:
        put(client, "rows", content={"rows": [1, {"a": "b"}]}, modality="structured")
        assert read(client, "rows", pointer="/rows/1/a") == "[page rows, at /rows/1/a]\nb"


class TestArguments:
    def test_argument_of_a_call_is_read_whole_in_pieces(self, client: httpx.Client) -> None:
        work(client)
        ref, whole, offset = "@entry:2/arguments/1/edits/0/old~1new", "", 0
        while True:
            head, _, piece = read(client, ref, offset=offset).partition("\n")
            whole += piece
            following = re.search(r"go on with offset=(\d+)", head)
            if following is None:
                break
            offset = int(following[1])
        assert whole == CONTENT
        assert read(client, ref, lines="600") == (
            "[argument of a call in entry 2, lines 600 to 600 of 600 lines]\n600 line of the file"
        )

    @pytest.mark.engines("embedded")
    def test_object_is_read_as_its_json(self, client: httpx.Client) -> None:
        work(client)
        assert read(client, "[@entry:2/arguments/0]").endswith('\n{"command":"ls"}')
        assert read(client, "@entry:2/arguments/1/edits/1").endswith('\n{"old/new":"x"}')
        assert read(client, "@entry:2/arguments/1", pointer="/path").endswith("\na.py")

    @pytest.mark.engines("embedded")
    @pytest.mark.parametrize(
        ("ref", "said"),
        [
            (
                "@entry:2/arguments/2/path",
                "Entry 2 makes 2 calls: @entry:2/arguments/0 (bash), @entry:2/arguments/1 (edit). "
                "read_text @entry:2 reads what it says.",
            ),
            (
                "@entry:1/arguments/0",
                "Entry 1 makes no call. read_text @entry:1 reads what it says.",
            ),
            (
                "@entry:2/arguments/1/content",
                '@entry:2/arguments/1 (edit) has nothing at "/content". There are "path", "edits".',
            ),
            (
                "@entry:2/arguments/1/edits/7",
                '@entry:2/arguments/1 (edit) has nothing at "/edits/7". At "/edits" there are '
                "items 0 to 1.",
            ),
            (
                "@entry:2/arguments/1/path/x",
                '@entry:2/arguments/1 (edit) has nothing at "/path/x". At "/path" there is a value '
                "without members: leave the rest out.",
            ),
            ("@entry:99/arguments/0", "This session has no entry 99. @entries:1-4 lists"),
            ("@entry:99", "This session has no entry 99. @entries:1-4 lists those there are."),
            ("@entries:90-99", "has no entry with such a number. @entries:1-4 lists"),
        ],
    )
    def test_handle_that_leads_nowhere_is_answered_with_the_nearest_way(
        self, client: httpx.Client, ref: str, said: str
    ) -> None:
        work(client)
        assert said in read(client, ref)


class TestLists:
    def test_list_has_a_line_for_each_entry(self, client: httpx.Client) -> None:
        work(client)
        assert read(client, "@entries:1-4") == (
            "[entries 1 to 4]\n"
            '1 user, 9 characters: "Write\\nit."\n'
            '2 assistant calls bash {"command":"ls"}, edit '
            '{"path":"a.py","edits":[{"old/new":"1 line of the …, 5 characters: "I do."\n'
            '3 tool camera, 4 characters: "a.py"\n'
            '4 tool edit, failed, 7 characters: "no room"'
        )

    def test_step_is_found_by_what_it_was_called_with(self, client: httpx.Client) -> None:
        append(client, content="Write.")
        written = [{"content": "x = 1\n" * 90, "path": f"src/{number}.py"} for number in range(3)]
        for number, arguments in enumerate(written):
            call = calling("write_file", arguments, f"w{number}")
            assert append(client, role="assistant", content=None, tool_calls=[call]).is_success
        begins = "x = 1\\n" * 6 + "x = …"
        line = f'3 assistant calls write_file {{"content":"{begins}","path":"src/1.py"}}'
        assert read(client, "@entries:2-4", grep="src/1.py") == (
            f"[list of entries, 1 of 3 lines match]\n2: {line}"
        )
        whole = json.dumps(written[2], separators=(",", ":"))
        assert read(client, "@entry:4") == (
            f"[entry 4, characters 0 to {len(whole) + 35}; this is its end]\n"
            f"@entry:4/arguments/0 (write_file): {whole}"
        )

    def test_list_is_searched_and_read_by_lines(self, client: httpx.Client) -> None:
        work(client)
        assert read(client, "@entries:2-4", grep="FAILED") == (
            '[list of entries, 1 of 3 lines match]\n3: 4 tool edit, failed, 7 characters: "no room"'
        )
        assert read(client, "@entries:2-4", lines="2") == (
            '[list of entries, lines 2 to 2 of 3 lines]\n3 tool camera, 4 characters: "a.py"'
        )
        assert read(client, "@entries:1-2", offset=2, limit=4) == (
            "[list of entries, characters 2 to 6; go on with offset=6]\nuser"
        )

    @pytest.mark.slow
    def test_pieces_of_a_long_list_lead_through_all_of_it(self, client: httpx.Client) -> None:
        for start in range(0, 450, 90):
            messages = [{"role": "user", "content": f"Say {start + n}."} for n in range(90)]
            turn = {"entries": [{"message": message} for message in messages]}
            assert client.post("/api/sessions/s/turns", json=turn).is_success
        lines: list[str] = []
        ref = "@entries:1-450"
        while ref:
            answer = read(client, ref)
            found = LINES.match(answer)
            assert found is not None, answer[:200]
            assert len(answer) < 6_200
            lines += answer[found.end() :].split("\n")
            ref = found[1]
        assert [line.partition(" ")[0] for line in lines] == list(map(str, range(1, 451)))
        assert lines[449].endswith('"Say 449."')
        assert read(client, "@entries:1-450", lines="450").endswith(
            '\n450 user, 8 characters: "Say 449."'
        )
        assert "Say 7." in read(client, "@entries:3-", grep="Say 7.")

    def test_search_of_a_long_list_is_bounded_and_goes_on(
        self, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.services.agents.text_reader._MAX_SEARCHED_ENTRIES", 3)
        for number in range(1, 9):
            append(client, content=f"Say {number}.")
        assert read(client, "@entries:2-8", grep="say 8") == (
            '[list of entries up to 4, ref="@entries:5-8" has the others, 0 of 3 lines match]'
        )
        assert read(client, "@entries:6-8", grep="say 8") == (
            '[list of entries, 1 of 3 lines match]\n3: 8 user, 6 characters: "Say 8."'
        )

    @pytest.mark.engines("embedded")
    def test_entries_may_hold_anything_and_take_a_line_each(self, client: httpx.Client) -> None:
        append(client, content="\u2028]\n[entries 1 to 9]\n" * 50)
        assert len(read(client, "@entries:1").splitlines()) == 2


def test_piece_has_no_more_tokens_than_the_turn_that_asks_has_room_for(
    client: httpx.Client,
) -> None:
    put(client, "notes", content="\U0001f9d9" * 20_000, modality="text")
    call = {"id": "c", "name": "read_text", "arguments": {"ref": "notes"}}
    turn = {
        "entries": [{"toolCall": call}],
        "render": {"target": "openai-chat", "maxTokens": 1_000, "since": 1},
    }
    answer = client.post("/api/sessions/s/turns", json=turn)
    words = str(answer.json()["rendering"]["messages"][-1]["content"])
    assert count_tokens(words) <= 500
    head, _, piece = words.partition("\n")
    assert head == f"[page notes, characters 0 to {len(piece)}; go on with offset={len(piece)}]"
