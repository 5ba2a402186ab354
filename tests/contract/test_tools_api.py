"""`GET /api/tools` and `POST …/tool-calls`: tools that a model calls, run by the service."""

import hashlib
import json
import re

import httpx
import pytest
from anthropic.types import ToolParam
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from google.genai import types as gemini
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp.types import Tool
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from pagefault_dialects.pages.sizes import estimate_text_tokens
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.targets.tokens import count_tokens
from tests.contract.render_requests import Json, all_words, read_rendering, rendering, shows
from tests.contract.session_requests import append, call_tool, listed, upload
from tests.kit import media
from tests.kit.media import b64
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

TOOL_CALLS = "/api/sessions/s/tool-calls"
NAMES = ["page_fault", "search_pages", "read_text", "view_media", "save_page", "list_media"]
PICTURE = media.png(noise=True)
LOG = "\n".join(f"{number} GET /cart {200 + number % 7}" for number in range(1, 2_001))


def call(
    client: httpx.Client, name: str, arguments: object = None, call_id: str = "c", **more: object
) -> httpx.Response:
    """Have a call run; it may be refused."""
    body = {"target": "openai-chat", "id": call_id, "name": name, "arguments": arguments, **more}
    return client.post(TOOL_CALLS, json=body)


def words(client: httpx.Client, name: str, arguments: object = None, call_id: str = "c") -> str:
    """Return the text that a model gets as the answer to its call."""
    record = read_rendering(call(client, name, arguments, call_id), "openai-chat")
    return str(record["messages"][0]["content"])


def put_page(client: httpx.Client, page_id: str, **page: object) -> None:
    answer = client.put(f"/api/pages/{page_id}", json={"modality": "text", **page})
    assert answer.status_code == 201, answer.text[:500]


def show_picture(client: httpx.Client) -> str:
    """An image that a tool returned in the session; returns its handle."""
    record = call_tool(client, "seen", [{"type": "image", "data": b64(PICTURE)}])
    assert isinstance(record, dict)
    return str(record["sanitized"]["parts"][0]["image"])


def show_log(client: httpx.Client) -> str:
    """A long text that a tool returned in the session; returns its handle."""
    record = call_tool(client, "log", LOG)
    assert isinstance(record, dict)
    return f"@{record['sanitized']['resources'][0]['uri']}"


def tools(client: httpx.Client, target: str, **query: str) -> list[Json]:
    answer = client.get("/api/tools", params={"target": target, **query})
    assert answer.status_code == 200, answer.text[:500]
    assert answer.json()["target"] == target
    return list(answer.json()["tools"])


class TestDefinitions:
    def test_every_target_has_all_tools_or_those_asked_for(
        self, shared_client: httpx.Client
    ) -> None:
        for target in TARGETS:
            spelled = json.dumps(tools(shared_client, target))
            assert [name for name in NAMES if f'"{name}"' in spelled] == NAMES
            few = json.dumps(tools(shared_client, target, only="read_text,page_fault"))
            assert [name for name in NAMES if f'"{name}"' in few] == ["page_fault", "read_text"]

    def test_definitions_are_short(self, shared_client: httpx.Client) -> None:
        for target in TARGETS:
            spelled = json.dumps(tools(shared_client, target), separators=(",", ":"))
            assert estimate_text_tokens(spelled) <= 1_200

    @pytest.mark.slow
    def test_openai_and_langchain_take_them(self, shared_client: httpx.Client) -> None:
        for target in ("openai-chat", "openai-compat", "langchain"):
            for item in tools(shared_client, target):
                taken = TypeAdapter(ChatCompletionToolParam).validate_python(item, strict=True)
                assert taken == item
                assert convert_to_openai_tool(item) == item
                check_strict(item["function"])
        for tool in tools(shared_client, "openai-responses"):
            check_strict(tool)
            assert TypeAdapter(FunctionToolParam).validate_python(tool, strict=True) == tool

    def test_anthropic_takes_them(self, shared_client: httpx.Client) -> None:
        for tool in tools(shared_client, "anthropic"):
            assert TypeAdapter(ToolParam).validate_python(tool) == tool

    def test_gemini_takes_them(self, shared_client: httpx.Client) -> None:
        for tool in tools(shared_client, "gemini"):
            taken = gemini.Tool.model_validate(tool)
            assert taken.model_dump(mode="json", by_alias=True, exclude_unset=True) == tool

    def test_bedrock_takes_them(self, shared_client: httpx.Client) -> None:
        model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
        shape = model.shape_for("ToolConfiguration")
        configured = {"tools": tools(shared_client, "bedrock")}
        assert not ParamValidator().validate(configured, shape).has_errors()

    def test_mcp_takes_them(self, shared_client: httpx.Client) -> None:
        for tool in tools(shared_client, "mcp"):
            taken = Tool.model_validate(tool)
            assert taken.model_dump(mode="json", by_alias=True, exclude_unset=True) == tool

    def test_names_that_no_tool_has_are_refused(self, shared_client: httpx.Client) -> None:
        answer = shared_client.get("/api/tools?target=mcp&only=page_fault,rm")
        assert (answer.status_code, answer.json()["errors"]) == (
            422,
            [{"pointer": "/query/only", "detail": f"has 1 names beside {', '.join(NAMES)}"}],
        )

    def test_instructions_are_text_in_two_styles(self, shared_client: httpx.Client) -> None:
        strict, relaxed = (
            shared_client.get("/api/tools/instructions", params={"style": style}).text
            for style in ("strict", "relaxed")
        )
        assert shared_client.get("/api/tools/instructions").text == strict
        assert "Do not answer from a summary" in strict
        assert "Do not answer from a summary" not in relaxed
        for text in (strict, relaxed):
            assert "do not fault it again" in text
            assert "@blob:" in text


def check_strict(tool: Json) -> None:
    """Raise unless OpenAI's strict mode takes a tool."""
    schema = tool["parameters"]
    assert tool["strict"] is True
    assert schema["additionalProperties"] is False
    assert schema["required"] == [*schema["properties"]]


class TestCalls:
    def test_call_and_answer_are_entries_of_the_history(self, client: httpx.Client) -> None:
        put_page(client, "notes", content="Ten sheep.")
        answered = call(client, "page_fault", '{"page_id": "notes", "target_level": 0}')
        assert read_rendering(answered, "openai-chat")["messages"] == [
            {"role": "tool", "tool_call_id": "c", "content": "Page notes (text, FULL):\nTen sheep."}
        ]
        calling, answer = listed(client, "/api/sessions/s/messages")
        function = {"name": "page_fault", "arguments": '{"page_id": "notes", "target_level": 0}'}
        calls = [{"id": "c", "type": "function", "function": function}]
        assert (calling["role"], calling["content"], calling["tool_calls"]) == (
            "assistant",
            None,
            calls,
        )
        assert (answer["role"], answer["tool_call_id"]) == ("tool", "c")

    def test_call_that_the_history_has_already_is_not_appended_again(
        self, client: httpx.Client
    ) -> None:
        function = {"name": "list_media", "arguments": "{}"}
        calls = [{"id": "c", "type": "function", "function": function}]
        append(client, role="assistant", content=None, tool_calls=calls)
        assert call(client, "list_media", "{}").status_code == 200
        entries = listed(client, "/api/sessions/s/messages")
        assert len(entries) == 2
        rendered = rendering(client, "/api/sessions/s/render", "openai-chat")
        assert [message["role"] for message in rendered["messages"]] == ["assistant", "tool"]

    def test_answer_is_stored_alone_if_the_message_with_the_call_follows(
        self, client: httpx.Client
    ) -> None:
        assert call(client, "list_media", call_id="c", callFollows=True).status_code == 200
        function = {"name": "list_media", "arguments": "{}"}
        calls = [{"id": "c", "type": "function", "function": function}]
        append(client, role="assistant", content="I look.", tool_calls=calls)
        rendered = client.get("/api/sessions/s/render?target=openai-chat").json()
        assert [message["role"] for message in rendered["messages"]] == ["assistant", "tool"]
        assert (rendered["messages"][0]["content"], rendered["loss"]) == ("I look.", [])

    @pytest.mark.engines("embedded")
    @pytest.mark.parametrize(
        "message",
        [
            {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "list_media"}}]},
            {"content": [{"type": "tool_use", "id": "c", "name": "list_media", "input": {}}]},
            {"content": [{"toolUse": {"toolUseId": "c", "name": "list_media", "input": {}}}]},
            {"content": [{"type": "tool-call", "toolCallId": "c", "toolName": "list_media"}]},
            {"content": [{"type": "function_call", "call_id": "c", "name": "list_media"}]},
            {"tool_calls": [{"type": "tool_call", "id": "c", "name": "list_media", "args": {}}]},
            {"tool_calls": [{"id": "c", "function": {"name": "list_media", "arguments": {}}}]},
        ],
    )
    def test_call_in_a_message_of_any_dialect_is_not_appended_again(
        self, client: httpx.Client, message: Json
    ) -> None:
        append(client, **{"role": "assistant", "content": None, **message})
        assert call(client, "list_media").status_code == 200
        rendered = rendering(client, "/api/sessions/s/render", "openai-chat")
        assert rendered["loss"] == []
        assert len(listed(client, "/api/sessions/s/messages")) == 2

    @pytest.mark.slow
    @pytest.mark.engines("embedded")
    def test_parallel_calls_are_appended_once_however_many_they_are(
        self, client: httpx.Client
    ) -> None:
        function = {"name": "list_media", "arguments": "{}"}
        calls = [{"id": f"c{number}", "function": function} for number in range(45)]
        append(client, role="assistant", content=None, tool_calls=calls)
        for item in calls:
            # A page takes a number of the history, too.
            put_page(client, str(item["id"]), content="x", session_id="s")
            assert call(client, "list_media", "{}", str(item["id"])).status_code == 200
        rendered = rendering(client, "/api/sessions/s/render", "openai-chat")
        assert (rendered["loss"], len(rendered["messages"])) == ([], 46)
        assert len(listed(client, "/api/sessions/s/messages")) == 46

    @pytest.mark.engines("embedded")
    def test_model_that_saves_another_page_by_the_same_call_is_told_to_make_a_new_one(
        self, client: httpx.Client
    ) -> None:
        saved = {"id": "c", "name": "save_page", "arguments": {"content": "One."}}
        turn = {"entries": [{"toolCall": saved}], "expectedSeq": 9}
        assert client.post("/api/sessions/s/turns", json=turn).status_code == 409
        assert words(client, "save_page", {"content": "Two."}) == (
            "[The tool reported an error.]\n\n"
            "Another page was saved by a call of this id. Make a new call."
        )

    def test_same_call_again_is_answered_and_not_run_again(self, client: httpx.Client) -> None:
        arguments = {"content": "Ten sheep.", "caption": "sheep"}
        first, again = (call(client, "save_page", arguments) for _ in range(2))
        assert again.content == first.content
        assert len(listed(client, "/api/pages")) == 1
        assert len(listed(client, "/api/sessions/s/messages")) == 2

    @pytest.mark.engines("embedded")
    def test_same_arguments_as_text_and_as_an_object_are_the_same_call(
        self, client: httpx.Client
    ) -> None:
        given = ('{"kind": "image", "session": null}', {"session": None, "kind": "image"})
        first, again = (call(client, "list_media", arguments) for arguments in given)
        assert (first.status_code, again.content) == (200, first.content)
        none: list[object] = ["{}", {}, None, "", "cut{"]
        answers = [call(client, "list_media", arguments, "n") for arguments in none]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 409]
        assert len(listed(client, "/api/sessions/s/messages")) == 4

    def test_call_of_a_deleted_session_says_nothing_about_another_one_of_its_name(
        self, client: httpx.Client
    ) -> None:
        arguments = {"content": "Ten sheep."}
        assert call(client, "save_page", arguments).status_code == 200
        # Where a turn is refused, only the page that was saved knows of the call.
        saved = {"toolCall": {"id": "t", "name": "save_page", "arguments": arguments}}
        turn = {"entries": [saved], "expectedSeq": 9}
        assert client.post("/api/sessions/s/turns", json=turn).status_code == 409
        assert client.delete("/api/sessions/s").status_code == 200
        for word in ("One.", "Two.", "Three."):
            append(client, content=word)
        for call_id in ("c", "t"):
            assert words(client, "save_page", arguments, call_id).startswith("Saved as page ")
        assert len(listed(client, "/api/pages")) == 2
        assert len(listed(client, "/api/sessions/s/messages")) == 7

    @pytest.mark.engines("embedded")
    def test_calls_whose_ids_read_alike_behind_their_sessions_are_two(
        self, client: httpx.Client
    ) -> None:
        for session, call_id, content in [("s:1", "c", "One."), ("s", "1:c", "Two.")]:
            body = {"target": "mcp", "id": call_id, "name": "save_page"}
            sent = {**body, "arguments": {"content": content}}
            answer = client.post(f"/api/sessions/{session}/tool-calls", json=sent)
            assert read_rendering(answer, "mcp")["messages"][0]["isError"] is False
        assert len(listed(client, "/api/pages")) == 2

    @pytest.mark.engines("embedded")
    def test_message_that_only_says_the_id_of_a_call_does_not_make_it(
        self, client: httpx.Client
    ) -> None:
        append(client, content="c")
        append(client, role="assistant", content=[{"type": "text", "text": "c"}])
        assert call(client, "list_media", "{}").status_code == 200
        rendered = rendering(client, "/api/sessions/s/render", "openai-chat")
        assert [message["role"] for message in rendered["messages"]][-2:] == ["assistant", "tool"]
        assert rendered["loss"] == []
        assert len(listed(client, "/api/sessions/s/messages")) == 4

    def test_another_call_of_the_same_id_is_a_conflict(self, client: httpx.Client) -> None:
        assert call(client, "list_media").status_code == 200
        for other in (call(client, "list_media", {"kind": "image"}), call(client, "page_fault")):
            assert (other.status_code, other.json()["code"]) == (409, "tool-call-answered")
        call_tool(client, "taken")
        answer = call(client, "list_media", call_id="taken")
        assert (answer.status_code, answer.json()["code"]) == (409, "tool-call-answered")

    @pytest.mark.engines("embedded")
    @pytest.mark.parametrize("target", TARGETS)
    def test_every_target_takes_answers_and_failures(
        self, client: httpx.Client, target: str
    ) -> None:
        handle = show_picture(client)
        put_page(client, "shot", modality="image", content=handle, mime_type="image/png")
        asked: list[tuple[str, object]] = [
            ("view_media", {"ref": handle}),
            ("page_fault", {"page_id": "shot", "target_level": 0}),
            ("search_pages", {"query": "shot"}),
            ("page_fault", {"page_id": "absent"}),
            ("no_such_tool", {}),
        ]
        for number, (name, arguments) in enumerate(asked):
            answer = call(client, name, arguments, call_id=f"c{number}", target=target)
            record = read_rendering(answer, target)
            if number < 2 and target != "text":
                assert shows(record, PICTURE)
                assert handle in all_words(record)
        rendering(client, "/api/sessions/s/render", target)

    def test_failed_call_has_the_mark_of_its_provider(self, client: httpx.Client) -> None:
        def failed(target: str) -> Json:
            answer = call(client, "page_fault", {"page_id": "x"}, call_id=target, target=target)
            return dict(read_rendering(answer, target)["messages"][0])

        assert failed("anthropic")["content"][0]["is_error"] is True
        assert failed("bedrock")["content"][0]["toolResult"]["status"] == "error"
        assert failed("mcp")["isError"] is True
        assert failed("openai-chat")["content"].startswith("[The tool reported an error.]")

    @pytest.mark.parametrize(
        ("name", "arguments", "said"),
        [
            ("page_fault", '{"page_id": "no', "cut off"),
            ("page_fault", {}, "page_fault takes page_id, target_level."),
            ("page_fault", [1], "arguments are no object. page_fault takes page_id, target_level."),
            ("page_fault", "null", "arguments are no object."),
            ("page_fault", {"page_id": "x", "target_level": 7}, "target_level"),
            ("page_fault", {"page_id": "x", "level": 1}, "page_fault takes page_id"),
            ("page_fault", {"page_id": "x"}, "There is no page x"),
            ("page_fault", {"page_id": "two words"}, "is no page id"),
            ("search_pages", {"query": "!?"}, "no word to search for"),
            ("search_pages", {"query": "sheep"}, "No page has any of these words"),
            ("read_text", {"ref": "the log"}, "list_media"),
            ("read_text", {"ref": f"@blob:{'0' * 32}"}, "list_media"),
            ("view_media", {"ref": f"@blob:{'0' * 32}"}, "list_media"),
            ("save_page", {}, "either content or ref"),
            ("save_page", {"content": "a", "ref": f"@blob:{'0' * 32}"}, "either content or ref"),
            ("list_media", {"session": "another"}, "leave session out"),
            ("delete_everything", {}, "There are page_fault, search_pages"),
        ],
    )
    def test_wrong_call_is_answered_with_what_to_do_instead(
        self, client: httpx.Client, name: str, arguments: object, said: str
    ) -> None:
        assert said in words(client, name, arguments)
        assert len(listed(client, "/api/sessions/s/messages")) == 2

    def test_host_that_asks_for_no_target_is_refused(self, client: httpx.Client) -> None:
        for body in ({}, {"target": "x", "id": "c", "name": "n"}, {"target": "mcp", "id": ""}):
            answer = client.post(TOOL_CALLS, json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid-payload")
        assert client.get("/api/sessions/s").status_code == 404


class TestPageFault:
    @pytest.mark.parametrize(
        "said", ["img_001", "[ref: img_001]", '"img_001"', "img_001.", "page img_001", "`img_001`"]
    )
    @pytest.mark.parametrize("level", [None, 2, "2", 2.0, "ABSTRACT", " abstract "])
    @pytest.mark.engines("embedded")
    def test_what_models_make_of_ids_and_levels_is_understood(
        self, shared_client: httpx.Client, said: str, level: object
    ) -> None:
        page = {"modality": "text", "content": "Ten sheep. " * 500}
        shared_client.put("/api/pages/img_001", json=page)
        arguments = {"page_id": said, "target_level": level}
        got = words(shared_client, "page_fault", arguments, call_id=repr(arguments))
        assert got.startswith("Page img_001 (text, ABSTRACT")

    def test_id_that_names_two_pages_is_asked_for_again(self, client: httpx.Client) -> None:
        for page_id in ("one", "two"):
            put_page(client, page_id, content=page_id)
        assert "one for each call" in words(client, "page_fault", {"page_id": "one, two"})

    def test_long_page_is_not_previewed(self, client: httpx.Client) -> None:
        put_page(client, "log", content=LOG[:12_000])
        assert LOG[:12_000] in words(client, "page_fault", {"page_id": "log", "target_level": 0})


# What no tokenizer knows takes a token for every two or three characters of an id.
DIGITS = hashlib.sha512(b"page").hexdigest()
IDS = [(DIGITS, 40), (DIGITS, 128)]


class TestSearchPages:
    def test_five_hits_are_small(self, client: httpx.Client) -> None:
        for number in range(9):
            put_page(client, f"page_{number}", content="The red sunset over the sea. " * 50)
        got = words(client, "search_pages", {"query": "red sunset", "modality": None})
        assert len(got.splitlines()) == 5
        assert got.startswith("page_8 (text, FULL, ~")
        assert count_tokens(got) <= 300

    @pytest.mark.engines("embedded")
    @pytest.mark.parametrize(
        "text",
        [
            "The red sunset over the sea. ",
            "Die Abendröte sunset überm Meer. ",
            "赤い夕日 sunset 海の上 ",
            "夕阳 sunset 落在海面上 ",
            "🌅 sunset 🌊🏖 ",
            "sunset/%20/0x7F_",
        ],
    )
    def test_five_hits_are_small_in_any_language(self, client: httpx.Client, text: str) -> None:
        for _ in range(6):
            page = {"modality": "text", "content": text * 50, "caption": text * 20}
            assert client.post("/api/pages", json=page).status_code == 201
        whole = words(client, "search_pages", {"query": "sunset", "modality": None})
        some = words(client, "search_pages", {"query": "sunset at noon"}, call_id="some")
        assert some.startswith("No page has all of these words. These have some:\n")
        for got in (whole, some.partition("\n")[2]):
            assert len(got.splitlines()) == 5
            for line in got.splitlines():
                assert re.fullmatch(
                    r'[0-9a-f-]{36} \(text, FULL, ~\d+ tokens\): ".*sunset.*"', line
                )
        assert max(map(count_tokens, (whole, some))) <= 300

    @pytest.mark.engines("embedded")
    def test_words_give_way_to_long_ids_which_stay_whole(self, client: httpx.Client) -> None:
        shorter, longest = ([f"p{n}.{digits}"[:size] for n in range(5)] for digits, size in IDS)
        for page_id in (*shorter, *longest):
            word = "sunset" if page_id in shorter else "sunrise"
            put_page(client, page_id, content=f"The red {word} over the sea. " * 50)
        got = words(client, "search_pages", {"query": "sunset"})
        lines = got.splitlines()
        assert sorted(line.partition(" ")[0] for line in lines) == shorter
        assert all(re.search(r'\(text, FULL, ~\d+ tokens\): ".+…"$', line) for line in lines)
        assert count_tokens(got) <= 300
        alone = words(client, "search_pages", {"query": "sunrise"}, call_id="longest").splitlines()
        assert sorted(line.partition(" ")[0] for line in alone) == longest
        assert all(line.endswith(" tokens)") for line in alone)

    @pytest.mark.engines("embedded")
    def test_what_short_words_leave_goes_to_longer_ones(self, client: httpx.Client) -> None:
        put_page(client, "long", content="The red sunset over the calm sea and the town. " * 9)
        for number in range(4):
            put_page(client, f"p{number}", content="A sunset.")
        got = words(client, "search_pages", {"query": "sunset"})
        (line,) = [name for name in got.splitlines() if name.startswith("long ")]
        assert 150 < len(line) <= 200

    def test_query_of_a_model_finds_what_has_some_of_its_words(self, client: httpx.Client) -> None:
        put_page(client, "sea", content="A red sunset over the sea.")
        put_page(client, "farm", content="Ten sheep at sunset.")
        got = words(client, "search_pages", {"query": "the sunset picture by the sea"})
        assert [line.partition(" ")[0] for line in got.splitlines()] == ["No", "sea", "farm"]

    def test_what_is_found_outside_of_pages_is_named_with_its_call(
        self, client: httpx.Client
    ) -> None:
        call_tool(client, "c0", {"report": "A red sunset over the sea."})
        for name in ("sunset.png", "sunset.txt"):
            data = PICTURE if name.endswith("png") else b"A text."
            call_tool(client, name, f"@{upload(client, data, filename=name)['uri']}")
        found = words(client, "search_pages", {"query": "sunset"}).splitlines()
        assert found[:2] == [
            'No page has any of these words: "sunset".',
            "Not in a page, but in this session:",
        ]
        calls = [line.partition(" (")[0] for line in found[2:]]
        assert len(calls) == 3
        put_page(client, "sea", content="A red sunset over the sea.")
        again = words(client, "search_pages", {"query": "sunset"}, call_id="again").splitlines()
        assert again[0].startswith("sea (text, FULL, ")
        assert again[1:] == found[1:]
        narrowed = {"query": "sunset", "modality": "audio"}
        assert len(words(client, "search_pages", narrowed, call_id="narrow").splitlines()) == 1
        for number, text in enumerate(calls):
            name, _, ref = text.removesuffix(")").partition("(")
            read = words(client, name, {"ref": json.loads(ref)}, call_id=f"read {number}")
            assert "There is no" not in read


class TestReadText:
    def test_text_is_read_in_pieces_that_make_the_whole(self, client: httpx.Client) -> None:
        handle = show_log(client)
        whole, offset, number = "", 0, 0
        while True:
            arguments = {"ref": handle, "offset": offset, "limit": None}
            piece = words(client, "read_text", arguments, call_id=f"r{number}")
            head, _, text = piece.partition("\n")
            whole, number = whole + text, number + 1
            if "go on with offset=" not in head:
                break
            offset = int(head.rpartition("=")[2].rstrip("]"))
        assert whole == LOG
        assert number == -(-len(LOG) // 6_000)

    def test_lines_matches_and_values_are_read(self, client: httpx.Client) -> None:
        handle = show_log(client)

        def read(**arguments: object) -> str:
            return words(client, "read_text", {"ref": handle, **arguments}, repr(arguments))

        assert read(lines="2-3") == (
            "[text/plain, lines 2 to 3 of 2000 lines]\n2 GET /cart 202\n3 GET /cart 203"
        )
        assert read(lines="1999-").endswith("\n1999 GET /cart 204\n2000 GET /cart 205")
        assert read(grep="get /CART 203", lines="1-20") == (
            "[text/plain, 3 of 2000 lines match]\n"
            "3: 3 GET /cart 203\n10: 10 GET /cart 203\n17: 17 GET /cart 203"
        )
        assert 'go on with lines="' in read(lines="1-").partition("\n")[0]
        assert "10-40" in read(lines="ten")
        assert "not JSON" in read(pointer="/a")
        assert "is behind its end" in read(offset=10**9)
        descriptor = upload(client, b'{"a":[1,{"b":"two"}]}', filename="a.json")
        append(client, content=f"@{descriptor['uri']}")
        handle = f"@{descriptor['uri']}"
        assert read(pointer="/a/1/b") == "[application/json, at /a/1/b]\ntwo"

    def test_text_of_before_unicode_is_decoded(self, client: httpx.Client) -> None:
        text = "Grüße aus München,\ndie Straße ist gesperrt\n"
        descriptor = upload(client, text.encode("cp1252"), filename="a.txt")
        append(client, content=f"@{descriptor['uri']}")
        name = "[text/plain, decoded from windows-1252"
        for arguments, answer in (
            ({"lines": "2"}, f"{name}, lines 2 to 2 of 2 lines]\ndie Straße ist gesperrt"),
            ({"grep": "MÜNCHEN"}, f"{name}, 1 of 2 lines match]\n1: Grüße aus München,"),
            ({}, f"{name}, characters 0 to 43; this is its end]\n{text}"),
        ):
            asked = {"ref": f"@{descriptor['uri']}", **arguments}
            assert words(client, "read_text", asked, repr(asked)) == answer

    def test_line_longer_than_an_answer_is_read_by_characters(self, client: httpx.Client) -> None:
        record = call_tool(client, "long", "é" * 20_000)
        assert isinstance(record, dict)
        ref = record["sanitized"]["resources"][0]["uri"]
        got = words(client, "read_text", {"ref": ref, "offset": 19_999, "limit": 5})
        assert got == "[text/plain, characters 19999 to 20000; this is its end]\né"
        asked = {"ref": ref, "lines": "1-"}
        assert words(client, "read_text", asked, "l") == (
            "[text/plain, lines 1 to 1 of 1 lines; line 1 is cut: read it by offset, without "
            f"lines]\n{'é' * 6_000} […]"
        )

    @pytest.mark.engines("embedded")
    def test_pieces_that_are_shorter_than_a_character_lead_on(self, client: httpx.Client) -> None:
        family = "\U0001f469\u200d\U0001f467\r\n"
        whole = f"{family}{'.' * 9_000}"
        record = call_tool(client, "long", whole)
        assert isinstance(record, dict)
        ref = record["sanitized"]["resources"][0]["uri"]
        got = [
            words(client, "read_text", {"ref": ref, "offset": name, "limit": 1}, f"r{name}")
            for name in range(6)
        ]
        assert got == [
            f"[text/plain, characters {name} to {name + 1}; go on with offset={name + 1}]\n"
            f"{whole[name]}"
            for name in range(6)
        ]

    @pytest.mark.engines("embedded")
    def test_pointer_without_its_slash_is_asked_for_again(self, client: httpx.Client) -> None:
        stored = upload(client, b'[{"a": 1}]', filename="a.json")
        ref = f"@{stored['uri']}"
        append(client, content=ref)
        wrong = ["0/a", "$.0.a", "#/0/a", "/~2"]
        got = [words(client, "read_text", {"ref": ref, "pointer": item}, item) for item in wrong]
        text = "[The tool reported an error.]\n\npointer begins with a slash, such as /items/0."
        assert got == [text] * 4

    def test_image_is_no_text(self, client: httpx.Client) -> None:
        got = words(client, "read_text", {"ref": show_picture(client)})
        assert "image/png and no text. Use view_media." in got


def written_with(handle: str) -> list[Json]:
    """Messages in which a model or a tool has written a handle, of many dialects."""
    function = {"name": "f", "arguments": {"image": handle}}
    return [
        {"role": "assistant", "content": handle},
        {"role": "assistant", "tool_calls": [{"id": handle, "function": function}]},
        {"role": "assistant", "content": [{"type": "text", "text": handle}]},
        {"role": "assistant", "content": [{"type": "tool_use", "input": {"ref": handle}}]},
        {"role": "assistant", "content": [{"toolUse": {"input": [handle]}}]},
        {"role": "assistant", "content": [{"type": "tool-call", "args": {"ref": handle}}]},
        {
            "role": "model",
            "parts": [{"text": handle}, {"functionCall": {"args": {"a": handle}}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": handle},
        {"role": "user", "content": [{"type": "tool_result", "content": handle}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"text": handle}]}]},
        {"role": "user", "content": [{"toolResult": {"content": [{"json": {"a": handle}}]}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {"a": handle}}}]},
        {"role": "assistant", "parsed": {"a": handle}, "tool_plan": handle},
        {"role": "assistant", "tool_calls": [{"function": {"parsed_arguments": [handle]}}]},
        {"role": "assistant", "content": [{"action": {"command": ["cat", handle]}}]},
        {"role": "model", "parts": [{"executableCode": {"code": handle}}]},
        {"role": "tool", "content": "", "artifact": {"a": handle}},
        {"role": "tool", "content": [{"type": "tool-result", "result": {"a": handle}}]},
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "output": {"type": "json", "value": {"a": handle}}}
            ],
        },
        {
            "role": "tool",
            "content": [{"output": {"type": "json", "value": [{"url": handle}]}}],
        },
    ]


class TestMedia:
    def test_handle_works_with_what_stands_around_it(self, client: httpx.Client) -> None:
        handle = show_picture(client)
        sent = [handle, handle[1:], handle.removeprefix("@blob:"), f"[image {handle} 64x48]"]
        for number, ref in enumerate(sent):
            answer = call(client, "view_media", {"ref": ref}, call_id=f"v{number}")
            assert shows(read_rendering(answer, "openai-chat"), PICTURE)

    def test_handle_of_another_session_works_in_the_scope_of_the_project(
        self, client: httpx.Client
    ) -> None:
        descriptor = upload(client, PICTURE)
        arguments = {"ref": f"@{descriptor['uri']}"}
        assert "list_media" in words(client, "view_media", arguments, "c1")
        wider = call(client, "view_media", arguments, "c2", scope="project")
        assert shows(read_rendering(wider, "openai-chat"), PICTURE)
        # By now it is part of the session.
        here = call(client, "view_media", arguments, "c3")
        assert shows(read_rendering(here, "openai-chat"), PICTURE)

    @pytest.mark.engines("embedded")
    def test_handle_of_another_session_that_a_model_or_a_tool_has_written_stays_text(
        self, client: httpx.Client
    ) -> None:
        handle = show_picture(client)
        body = {"target": "mcp", "id": handle, "name": handle, "arguments": handle}
        assert client.post("/api/sessions/t/tool-calls", json=body).status_code == 200
        for message in written_with(handle):
            answer = append(client, "t", **{"content": None, **message})
            assert answer.status_code == 201, answer.text[:500]
        resolved = client.post("/api/resolve", json={"sessionId": "t", "arguments": handle}).json()
        assert resolved == {
            "arguments": handle,
            "resolved": [],
            "unresolved": [
                {
                    "pointer": "",
                    "reference": handle,
                    "reason": "Nothing in this session refers to such a resource.",
                }
            ],
        }
        shown_so_far = rendering(client, "/api/sessions/t/render", "openai-chat")
        assert not shows(shown_so_far, PICTURE)
        # What a client shows a model is in its session.
        shown = {"type": "image_url", "image_url": {"url": handle}}
        media = [{"type": "media", "data": handle, "mediaType": "image/png"}]
        returned: list[Json] = [
            {"type": "tool-result", "output": {"type": "content", "value": media}},
            {"type": "tool-result", "result": {"content": media}},
            {"type": "function_call_output", "output": [{"image_url": handle}]},
        ]
        for number, block in enumerate(returned):
            append(client, f"t{number}", role="tool", content=[block])
            requested = {"sessionId": f"t{number}", "arguments": handle}
            assert client.post("/api/resolve", json=requested).json()["unresolved"] == []
        append(client, "t", role="assistant", content=[shown])
        query = {"target": "mcp", "id": "v", "name": "view_media", "arguments": {"ref": handle}}
        viewed = client.post("/api/sessions/t/tool-calls", json=query)
        assert shows(read_rendering(viewed, "mcp"), PICTURE)

    def test_handle_of_another_project_leads_nowhere(
        self, client: httpx.Client, service: LiveService
    ) -> None:
        handle = show_picture(client)
        with service.client() as other:
            for number, scope in enumerate(("session", "project")):
                refused = call(other, "view_media", {"ref": handle}, f"c{number}", scope=scope)
                assert "list_media" in all_words(refused.json())

    def test_words_only_at_a_higher_level(self, client: httpx.Client) -> None:
        handle = show_picture(client)
        put_page(client, "shot", modality="image", content=handle, mime_type="image/png")
        by = "\N{MULTIPLICATION SIGN}"
        assert words(client, "view_media", {"ref": handle, "level": 2}) == (
            f"[image {handle} 64{by}48, image/png, {len(PICTURE)} bytes]\n"
            'Page shot has words about it: page_fault("shot", 2).'
        )

    def test_media_are_listed_newest_first_and_by_kind(self, client: httpx.Client) -> None:
        picture, log = show_picture(client), show_log(client)
        everything = words(client, "list_media", {"session": None, "kind": None}, "l1").splitlines()
        assert [line.split()[1].rstrip(",") for line in everything] == [log, picture]
        images = words(client, "list_media", {"kind": "image"}, "l2").splitlines()
        assert [line.split()[1] for line in images] == [picture]
        assert words(client, "list_media", {"kind": "video"}, "l3") == (
            "There are no stored media of kind video."
        )


class TestSavePage:
    def test_text_is_saved_and_found_again(self, client: httpx.Client) -> None:
        arguments = {
            "content": "Ten sheep.",
            "ref": None,
            "caption": "flock",
            "page_type": "claim",
            "pinned": True,
        }
        got = words(client, "save_page", arguments)
        (page,) = listed(client, "/api/pages")
        assert got == (
            f'Saved as page {page["page_id"]}. Read it with page_fault("{page["page_id"]}", 0).'
        )
        assert (page["caption"], page["page_type"], page["pinned"], page["session_id"]) == (
            "flock",
            "claim",
            True,
            "s",
        )
        assert "Ten sheep." in words(
            client, "page_fault", {"page_id": page["page_id"], "target_level": 0}, "c2"
        )

    def test_stored_medium_is_saved_as_a_page_of_its_kind(self, client: httpx.Client) -> None:
        assert "Saved as page" in words(client, "save_page", {"ref": show_picture(client)})
        (page,) = listed(client, "/api/pages")
        assert (page["modality"], page["mime_type"]) == ("image", "image/png")
        descriptor = upload(client, b"PK\x03\x04" + bytes(2_000), filename="all.zip")
        append(client, content=f"@{descriptor['uri']}")
        assert "is no kind of page" in words(client, "save_page", {"ref": descriptor["uri"]}, "c2")


class TestMemoryOfASession:
    def test_rules_and_pages_stand_before_everything_else(self, client: httpx.Client) -> None:
        append(client, content="What is in the notes?")
        put_page(client, "notes", content="Ten sheep.", session_id="s")
        rules = client.get("/api/tools/instructions").text
        listed_pages = client.get("/api/sessions/s/manifest", headers={"Accept": "text/plain"}).text
        both, manifest, plain = (
            rendering(client, "/api/sessions/s/render", "openai-chat", **requested)["messages"]
            for requested in ({"memory": "instructions,manifest"}, {"memory": "manifest"}, {})
        )
        assert both == [{"role": "system", "content": f"{rules}\n\n{listed_pages}"}, *plain]
        assert manifest == [{"role": "system", "content": listed_pages}, *plain]
        apart = rendering(client, "/api/sessions/s/render", "anthropic", memory="manifest")
        assert apart["system"] == listed_pages
        assert apart["messages"][0]["role"] == "user"

    def test_list_of_pages_fits_its_tokens(self, client: httpx.Client) -> None:
        append(client, content="What is there?")
        for number in range(40):
            put_page(client, f"page_{number}", content="A red sunset. " * 30, session_id="s")
        requested: dict[str, str | int] = {"memory": "manifest", "memoryTokens": 300}
        system = rendering(client, "/api/sessions/s/render", "anthropic", **requested)["system"]
        assert 150 < count_tokens(system) <= 300
        assert system.splitlines()[1].startswith("- page_39 ")
        shown = len(system.splitlines()) - 2
        assert system.endswith(f"… {40 - shown} more")
        by_body = {"target": "anthropic", "sessionId": "s", "memory": ["manifest"]}
        posted = client.post("/api/render", json={**by_body, "memoryTokens": 300}).json()
        assert posted["system"] == system

    @pytest.mark.engines("embedded")
    def test_other_parts_of_memory_are_refused(self, client: httpx.Client) -> None:
        append(client)
        for memory in ("pages", "", "manifest,"):
            query = {"target": "mcp", "memory": memory}
            assert client.get("/api/sessions/s/render", params=query).status_code == 422
