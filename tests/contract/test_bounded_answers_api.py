"""Answers of our tools fit the budget of the turn that asks; cut arguments are not executed."""

import json
import re

import httpx
import pytest

from pagefault_dialects.context.cut_arguments import cut_arguments
from pagefault_dialects.targets.tokens import count_tokens
from tests.contract.page_requests import put
from tests.contract.render_requests import read_rendering
from tests.contract.session_requests import append, listed, upload

pytestmark = pytest.mark.engines("embedded")

PAGE = "\n".join(f"{number} GET /cart {200 + number % 7}" for number in range(1, 20_001))
WAY = re.compile(
    r"\n\[… \d+ characters left out; an answer has (\d+) tokens at most; "
    r"read_text\(\"log\", offset=(\d+)\) reads on …\]\n"
)
CUT = cut_arguments({"content": "x" * 900}, "@entry:2/arguments/0")["content"]
REFUSED = (
    "The call was not run: a text in its arguments is only the beginning of one, copied from where "
    '"[... characters left out ...]" stands. Call read_text with ref '
    '"@entry:2/arguments/0/content" first, then make this call again with the whole text.'
)


def call(client: httpx.Client, name: str, arguments: object, **more: object) -> str:
    """Return the text that a model gets as the answer to a call."""
    body = {"target": "openai-chat", "id": json.dumps(arguments)[:300], "name": name}
    sent = {**body, "arguments": arguments, "handles": False, **more}
    answer = client.post("/api/sessions/s/tool-calls", json=sent)
    return str(read_rendering(answer, "openai-chat")["messages"][0]["content"])


def turn(client: httpx.Client, name: str, arguments: object, max_tokens: int) -> str:
    """Return the text that a model gets as the answer to a call of a turn with a budget."""
    call_id = json.dumps([name, max_tokens, arguments])[:300]
    called = {"id": call_id, "name": name, "arguments": arguments}
    render = {"target": "openai-chat", "maxTokens": max_tokens, "handles": False}
    body = {"entries": [{"toolCall": called}], "render": render}
    answer = client.post("/api/sessions/s/turns", json=body).json()
    assert answer.get("problem") is None, answer
    return str(answer["rendering"]["messages"][-1]["content"])


class TestBounds:
    @pytest.mark.promise(
        "security.md#what-models-ask-for",
        "A page that is larger than the budget of its session does not keep it from being rendered",
        kept_by="app/services/pages/page_views.py",
        tried="2 budgets, a page of 340 kB",
    )
    @pytest.mark.parametrize("max_tokens", [4_000, 20_000])
    def test_page_beyond_the_budget_is_its_ends_and_the_way_on(
        self, client: httpx.Client, max_tokens: int
    ) -> None:
        put(client, "log", content=PAGE, modality="text")
        append(client, content="Read the log.")
        words = turn(client, "page_fault", {"page_id": "log", "target_level": 0}, max_tokens)
        assert max_tokens // 3 <= count_tokens(words) <= max_tokens // 2
        found = WAY.search(words)
        assert found is not None, words[:300]
        assert int(found[1]) == max_tokens // 2
        head = words[: found.start()].removeprefix("Page log (text, FULL):\n")
        assert head == PAGE[: int(found[2])]
        assert PAGE.endswith(words[found.end() :])
        assert len(words[found.end() :]) > 100
        piece = turn(client, "read_text", {"ref": "log", "offset": int(found[2])}, max_tokens)
        assert PAGE[int(found[2]) :].startswith(piece.partition("\n")[2])
        rendered = client.get(f"/api/sessions/s/render?target=openai-chat&maxTokens={max_tokens}")
        assert rendered.status_code == 200, rendered.text[:500]

    def test_page_is_bounded_where_no_budget_is_given(self, client: httpx.Client) -> None:
        put(client, "log", content=PAGE, modality="text")
        words = call(client, "page_fault", {"page_id": "log", "target_level": 0})
        assert 7_000 <= count_tokens(words) <= 8_000
        assert (found := WAY.search(words)) is not None
        assert found[1] == "8000"
        fewer = call(client, "page_fault", {"page_id": "log", "target_level": "0"}, maxTokens=900)
        assert count_tokens(fewer) <= 450

    def test_stored_fault_stays_one_of_the_page(self, client: httpx.Client) -> None:
        put(client, "log", content=PAGE, modality="text")
        call(client, "page_fault", {"page_id": "log", "target_level": 0})
        rendered = client.get("/api/sessions/s/render?target=openai-chat").json()
        made = rendered["messages"][0]["tool_calls"][0]["function"]
        assert made == {"name": "page_fault", "arguments": '{"page_id":"log","target_level":0}'}
        fault = {"target_level": 0, "tool_call_id": "whole"}
        whole = client.post("/api/pages/log/fault", json=fault).json()
        assert whole["content"] == f"Page log (text, FULL):\n{PAGE}"

    def test_session_renders_though_an_application_has_faulted_a_page_in_whole(
        self, client: httpx.Client
    ) -> None:
        put(client, "log", content=PAGE, modality="text")
        append(client, content="Read the log.")
        fault = {"target_level": 0, "session_id": "s", "tool_call_id": "whole"}
        assert PAGE in client.post("/api/pages/log/fault", json=fault).json()["content"]
        rendered = client.get("/api/sessions/s/render?target=anthropic&maxTokens=4000")
        assert rendered.status_code == 200, rendered.text[:500]
        assert rendered.json()["tokensEst"] <= 4_000
        assert "@entry:2" in rendered.text or "page_fault" in rendered.text

    @pytest.mark.engines("embedded")
    def test_smaller_level_that_is_too_long_leads_to_the_whole_page(
        self, client: httpx.Client
    ) -> None:
        levels = {"ABSTRACT": "short words " * 500}
        put(client, "log", content=PAGE, modality="text", representations=levels)
        words = call(client, "page_fault", {"page_id": "log", "target_level": 2}, maxTokens=600)
        assert count_tokens(words) <= 300
        assert 'read_text("log") reads the whole page' in words

    @pytest.mark.slow
    @pytest.mark.engines("embedded")
    def test_lists_of_hits_and_media_fit_and_count_the_rest(self, client: httpx.Client) -> None:
        for number in range(20):
            put(client, f"{number}-{'word' * 30}", content="Ten sheep.", modality="text")
            uri = upload(client, b"%d sheep" % number, filename=f"{'long ' * 30}{number}.txt")[
                "uri"
            ]
            append(client, content=f"@{uri}")
        asked = {"query": "ten sheep", "limit": 20}
        hits = call(client, "search_pages", asked, maxTokens=800)
        assert count_tokens(hits) <= 400
        assert re.search(r"\n1\d more hits do not fit this answer: add a word\.", hits)
        listed_media = call(client, "list_media", {}, maxTokens=800)
        assert count_tokens(listed_media) <= 400
        assert re.search(r"\n1\d more do not fit this answer: ask for one kind\.$", listed_media)


class TestCutArguments:
    @pytest.mark.promise(
        "security.md#what-models-ask-for",
        "A memory tool is not run with an argument that was cut in an old call",
        kept_by="app/services/agents/prepared_calls.py",
        tried="2 spellings",
    )
    @pytest.mark.parametrize("spelled", [dict, json.dumps])
    def test_page_with_a_cut_argument_is_not_saved(
        self, client: httpx.Client, spelled: type
    ) -> None:
        arguments = spelled({"content": CUT, "caption": "all of it"})
        assert call(client, "save_page", arguments).endswith(REFUSED)
        assert listed(client, "/api/pages") == []
        assert len(listed(client, "/api/sessions/s/messages")) == 2

    def test_turn_answers_a_call_with_a_cut_argument_without_running_it(
        self, client: httpx.Client
    ) -> None:
        for name in ("save_page", "files__write_file"):
            assert turn(client, name, {"path": "a", "content": [CUT]}, 4_000).endswith(REFUSED)
        assert listed(client, "/api/pages") == []

    def test_mark_leads_read_text_to_the_whole(self, client: httpx.Client) -> None:
        append(client, content="Write it.")
        function = {"name": "write", "arguments": json.dumps({"content": "x" * 900})}
        calls = [{"id": "w", "type": "function", "function": function}]
        append(client, role="assistant", content=None, tool_calls=calls)
        assert call(client, "read_text", {"ref": CUT}).endswith("\n" + "x" * 900)


class TestCutCallsOfHosts:
    """Calls of tools that the host runs, in the messages of turns."""

    @pytest.mark.promise(
        "security.md#what-models-ask-for",
        "A turn answers a call of the host's with an argument that was cut in an old call",
        kept_by="app/services/agents/session_turns.py",
        tried="2 dialects, repeated with its key",
    )
    @pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
    def test_receipt_names_the_call_and_the_rendering_has_its_answer(
        self, client: httpx.Client, dialect: str
    ) -> None:
        append(client, content="Write it again.")
        arguments = {"edits": [CUT]}
        function = {"name": "edit", "arguments": json.dumps(arguments)}
        sound = {"name": "edit", "arguments": "{}"}
        message: dict[str, object] = {
            "content": None,
            "tool_calls": [
                {"id": "cut", "type": "function", "function": function},
                {"id": "sound", "type": "function", "function": sound},
            ],
        }
        if dialect == "anthropic":
            used = {"type": "tool_use", "name": "edit"}
            message = {
                "content": [
                    {**used, "id": "cut", "input": arguments},
                    {**used, "id": "sound", "input": {}},
                ]
            }
        body = {
            "entries": [{"message": {"role": "assistant", **message}}],
            "render": {"target": "openai-chat"},
        }
        for _ in range(2):
            answer = client.post(
                "/api/sessions/s/turns", json=body, headers={"Idempotency-Key": "t"}
            ).json()
            assert answer["seqs"] == [2]
            assert answer["refused"] == [{"callId": "cut", "seq": 3}]
            assert answer["rendering"]["openCalls"] == ["sound"]
            assert answer["rendering"]["messages"][2]["content"].endswith(REFUSED)
        result = {"toolResult": {"toolName": "edit", "toolCallId": "sound", "result": "done"}}
        done = client.post("/api/sessions/s/turns", json={"entries": [result]}).json()
        assert done == {"seqs": [4], "rendering": None}
        again = {"toolResult": {"toolName": "edit", "toolCallId": "cut", "result": "done"}}
        refused = client.post("/api/sessions/s/turns", json={"entries": [again]})
        assert refused.status_code == 409
        assert "was answered before, by entry 3" in refused.json()["detail"]

    def test_call_that_the_turn_answers_was_run_already(self, client: httpx.Client) -> None:
        function = {"name": "edit", "arguments": json.dumps({"text": CUT})}
        calls = [{"id": letter, "type": "function", "function": function} for letter in "ab"]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        entries = [
            {"message": message},
            {"toolResult": {"toolName": "edit", "toolCallId": "a", "result": "done"}},
            {"message": {"role": "tool", "tool_call_id": "b", "content": "done"}},
        ]
        answer = client.post("/api/sessions/s/turns", json={"entries": entries}).json()
        assert answer == {"seqs": [1, 2, 3], "rendering": None}

    def test_call_of_our_tools_that_a_turn_has_refused_is_answered_alike(
        self, client: httpx.Client
    ) -> None:
        arguments = {"content": CUT}
        function = {"name": "save_page", "arguments": json.dumps(arguments)}
        calls = [{"id": "p", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        body = {"entries": [{"message": message}]}
        answer = client.post("/api/sessions/s/turns", json=body).json()
        assert answer["refused"] == [{"callId": "p", "seq": 2}]
        called = {"target": "openai-chat", "id": "p", "name": "save_page", "arguments": arguments}
        again = client.post("/api/sessions/s/tool-calls", json=called)
        words = read_rendering(again, "openai-chat")["messages"][0]["content"]
        assert words.endswith(REFUSED)
        assert listed(client, "/api/pages") == []
        assert len(listed(client, "/api/sessions/s/messages")) == 2


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_every_cut_argument_of_a_rendering_leads_to_the_whole(
    client: httpx.Client, target: str
) -> None:
    append(client, content="Write the files.")
    written: dict[str, str] = {}
    for number in range(12):
        texts = [f"{number}-{index} " + "word ~/ \n" * 1_400 for index in range(1 + number % 3)]
        written |= {text[:8]: text for text in texts}
        parts = [{"a/b~c": [text], "path": "a"} for text in texts]
        ids = [f"c{number}-{index}" for index in range(len(texts))]
        used = [
            {"type": "tool_use", "id": call_id, "name": "write", "input": part}
            for call_id, part in zip(ids, parts, strict=True)
        ]
        called = [
            {
                "id": item["id"],
                "function": {"name": "write", "arguments": json.dumps(item["input"])},
            }
            for item in used
        ]
        made = {"content": used} if number % 2 else {"content": None, "tool_calls": called}
        message = {"role": "assistant", **made}
        results = [
            {"toolResult": {"toolName": "write", "toolCallId": call_id, "result": "done"}}
            for call_id in ids
        ]
        body = {"entries": [{"message": message}, *results]}
        assert client.post("/api/sessions/s/turns", json=body).is_success
    query = {"target": target, "maxTokens": 8_000, "frontier": "main"}
    rendered = client.post("/api/sessions/s/render", json=query)
    assert rendered.status_code == 200, rendered.text[:500]
    assert rendered.json()["tokensEst"] <= 8_000
    handles = set(re.findall(r"read_text (@entry:[^ ]+/a~1b~0c/0) shows", rendered.text))
    assert handles
    request = {"sessionId": "s", "as": "text", "arguments": sorted(handles)}
    resolved = client.post("/api/resolve", json=request).json()
    assert resolved["unresolved"] == []
    for text in resolved["arguments"]:
        assert text == written[text[:8]]


@pytest.mark.slow
def test_list_that_a_fold_names_is_read_to_its_end(client: httpx.Client) -> None:
    append(client, content="Look at all of it.")
    function = {"name": "bash", "arguments": json.dumps({"command": "ls -l /srv/data"})}
    for start in range(0, 120, 40):
        entries: list[dict[str, object]] = []
        for number in range(start, start + 40):
            calls = [{"id": f"c{number}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
            result = {"toolName": "bash", "toolCallId": f"c{number}", "result": "file " * 60}
            entries += [{"message": message}, {"toolResult": result}]
        assert client.post("/api/sessions/s/turns", json={"entries": entries}).is_success
    rendered = client.get("/api/sessions/s/render?target=openai-chat&maxTokens=4000")
    assert rendered.status_code == 200, rendered.text[:500]
    folds = re.findall(r"bash (\d+)\. read_text @entries:(\d+)-(\d+) lists them\.", rendered.text)
    ((calls_folded, first, last),) = folds
    ref = f"@entries:{first}-{last}"
    counted = call(client, "read_text", {"ref": ref, "grep": "calls bash"})
    assert f", {calls_folded} of {int(last) - int(first) + 1} lines match" in counted
    end = call(client, "read_text", {"ref": ref, "lines": "-1"})
    assert f"\n{last} tool bash, 300 characters:" in end
