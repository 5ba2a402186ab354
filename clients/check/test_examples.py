"""The programs in `examples/` run against a stub of each provider."""

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from app.config.settings import Settings
from app.wiring.stores import migrate_database
from tests.kit.mcp_server import PNG
from tests.kit.media import b64, png
from tests.kit.node import NODE, installed
from tests.kit.process import COMMAND, ROOT, environment
from tests.kit.servers import LiveService, serving
from tests.kit.stub_models import Json, stub_model

EXAMPLES = ROOT / "examples"
AI = ROOT / "tests" / "e2e" / "ai"
CLIENT = ROOT / "clients" / "typescript" / "client"


def run(command: list[str], service: LiveService, **variables: str) -> str:
    """Run an example, and return its output."""
    env = environment({"PAGEFAULT_URL": service.base_url, **variables})
    done = subprocess.run(  # noqa: S603 - our own examples
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def unused_url() -> Iterator[str]:
    """A URL without a server: the port is bound, but not listening."""
    with socket.socket() as unlistening:
        unlistening.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unlistening.getsockname()[1]}"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path that only has the command `pagefault`."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "pagefault").symlink_to(COMMAND)
    return str(folder)


def call(name: str, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Run an example, and return its exit status, its output and its error output."""
    done = subprocess.run(  # noqa: S603 - our own examples
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=ROOT,
        env={key: value for key, value in environment().items() if key not in KEYS} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py"))
KEYS = {"OPENAI_API_KEY": "stub", "ANTHROPIC_API_KEY": "stub"}
SERVER = ("--", sys.executable, "-m", "tests.kit.mcp_server")
# Failing calls: the arguments, whether there are keys, the exit status, a pattern of the output.
FAILURES: dict[str, list[tuple[tuple[str, ...], bool, int, str]]] = {
    "openai_chat.py": [
        ((), True, 2, r"usage: openai_chat.py .*arguments are required: question"),
        (("Hi",), False, 1, r"OpenAIError: .*OPENAI_API_KEY"),
        (("Hi",), True, 1, r"APIConnectionError: .*no connection to URL .*PAGEFAULT_URL"),
    ],
    "image_page.py": [
        (("a", "b"), False, 2, r"usage: image_page.py .*unrecognized arguments: b"),
        (("no-such.png",), False, 1, r"FileNotFoundError: .*no-such.png"),
        ((), False, 1, r"APIConnectionError: .*no connection to URL "),
    ],
    "mcp_host.py": [
        ((), True, 2, r"usage: mcp_host.py .*required: question, command"),
        (("Hi",), True, 2, r"usage: mcp_host.py .*QUESTION -- COMMAND.*required: command"),
        (("Hi", *SERVER), False, 1, r"Set ANTHROPIC_API_KEY"),
        (("Hi", *SERVER), True, 1, r"APIConnectionError: .*no connection to URL "),
        (("Hi", "--", "no-such-command"), True, 1, r"FileNotFoundError: .*no-such-command"),
        (("Hi", "--", "/bin/false"), True, 1, r"The connection failed\. Try .* /bin/false\n"),
    ],
    "record_proxy.py": [
        ((), True, 1, r"There is no command npx: install it"),
        (("picture",), True, 2, r"usage: .*arguments of picture are missing: {}"),
        (("picture", "{x", *SERVER), True, 1, r"The arguments of a tool are JSON"),
        (("--", "no-such-command"), True, 1, r"There is no command no-such-command"),
        (("--", "/bin/false"), True, 1, r"The connection failed\. Try .* /bin/false\n"),
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_of_an_example_says_what_it_needs(name: str) -> None:
    status, printed, complaint = call(name, "--help")
    (documented,) = re.findall(r'^"""(.*?)"""$', (EXAMPLES / name).read_text(), re.M | re.S)
    assert (status, complaint) == (0, "")
    assert printed.startswith(f"usage: {name} ")
    assert documented in printed


@pytest.mark.parametrize("name", PROGRAMS)
def test_example_says_what_is_missing_and_what_to_do(name: str, unused_url: str, path: str) -> None:
    for arguments, has_keys, expected, words in FAILURES[name]:
        variables = {"PAGEFAULT_URL": unused_url, "PATH": path, **(KEYS if has_keys else {})}
        status, _, complaint = call(name, *arguments, **variables)
        assert status == expected, (arguments, complaint)
        assert "Traceback" not in complaint
        assert re.search(words.replace("URL ", f"{unused_url} "), complaint, re.S), complaint


def test_example_without_a_key_of_the_service_asks_for_one(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", auth="api-key", log_level="error")
    anyio.run(migrate_database, settings)
    with serving(settings) as service:
        status, _, complaint = call("openai_chat.py", "Hi", PAGEFAULT_URL=service.base_url, **KEYS)
    assert status == 1
    assert complaint.startswith("AuthenticationError: 401 unauthorized")
    assert complaint.endswith("Pass `api_key`, or set PAGEFAULT_API_KEY.\n")


def completion(content: str | None, *calls: tuple[str, str, object]) -> Json:
    """A reply of Chat Completions."""
    made = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for call_id, name, arguments in calls
    ]
    message: Json = {"role": "assistant", "content": content}
    message |= {"tool_calls": made} if made else {}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {
        "id": "r",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [choice],
    }


def claude(*blocks: Json) -> Json:
    """A reply of Anthropic's Messages."""
    return {
        "id": "r",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[LiveService]:
    """A service without keys, with a page in the session of the examples."""
    settings = Settings(data_dir=tmp_path / "data", auth="none", log_level="error")
    anyio.run(migrate_database, settings)
    with serving(settings) as service:
        page = {"modality": "text", "content": "Ten sheep.", "session_id": "demo"}
        httpx.put(f"{service.base_url}/api/pages/notes", json=page)
        yield service


def entries(service: LiveService) -> int:
    """Return the number of entries in the history of the examples."""
    items = httpx.get(f"{service.base_url}/api/sessions/demo/messages").json()["items"]
    return len(items)


@pytest.mark.parametrize("is_large", [False, True], ids=["its own picture", "a large one"])
def test_image_page_is_stored_and_faulted_in_as_two_blocks(
    demo: LiveService, tmp_path: Path, is_large: bool
) -> None:
    path = tmp_path / "shot.png"
    path.write_bytes(png(noise=True))
    arguments = [str(path)] if is_large else []
    printed = run([sys.executable, str(EXAMPLES / "image_page.py"), *arguments], demo)
    heading, attached, url = printed.splitlines()
    assert (heading, attached) == ("Page img_001 (image, FULL):", "  [image attached below]")
    assert url.startswith("data:image/png;base64,iVBORw0KGgo")


def test_agent_on_chat_completions(demo: LiveService) -> None:
    call = ("call_1", "page_fault", {"page_id": "notes", "target_level": 0})
    with stub_model(completion(None, call), completion("Ten sheep, by my notes.")) as model:
        printed = run(
            [sys.executable, str(EXAMPLES / "openai_chat.py"), "What is in the notes?"],
            demo,
            OPENAI_BASE_URL=f"{model.url}/v1",
            OPENAI_API_KEY="stub",
        )
    assert printed == "Ten sheep, by my notes.\n"
    assert [message["role"] for message in model.requests[1]["messages"]] == [
        *("system", "user", "assistant", "tool")
    ]
    assert "Ten sheep." in model.requests[1]["messages"][3]["content"]
    assert entries(demo) == 4


def test_agent_on_claude_with_an_mcp_server(demo: LiveService) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "picture", "input": {}}
    fault = {"page_id": "notes", "target_level": 0}
    own = {"type": "tool_use", "id": "toolu_2", "name": "page_fault", "input": fault}
    answer = {"type": "text", "text": "A picture, and sheep."}
    with stub_model(claude(use, own), claude(answer)) as model:
        printed = run(
            [
                *(sys.executable, str(EXAMPLES / "mcp_host.py"), "What do you see?", "--"),
                *(sys.executable, "-m", "tests.kit.mcp_server"),
            ],
            demo,
            ANTHROPIC_BASE_URL=model.url,
            ANTHROPIC_API_KEY="stub",
        )
    assert printed == "A picture, and sheep.\n"
    messages = json.dumps(model.requests[1]["messages"])
    assert b64(PNG) in messages
    assert "Ten sheep." in messages
    assert entries(demo) == 5


def test_tools_for_the_vercel_ai_sdk(demo: LiveService, tmp_path: Path) -> None:
    program = """
        import { generateText, stepCountIs, jsonSchema, tool } from "ai";
        import { MockLanguageModelV4 } from "ai/test";
        import { toolsWithMemory } from "./vercel_ai.mjs";
        const clock = tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "Ten." });
        const replies = [
          [{ type: "tool-call", toolCallId: "c0", toolName: "clock", input: "{}" }],
          [{ type: "tool-call", toolCallId: "c1", toolName: "page_fault",
             input: JSON.stringify({ page_id: "notes", target_level: 0 }) }],
          [{ type: "text", text: "Ten sheep." }],
        ];
        const prompts = [];
        const model = new MockLanguageModelV4({ doGenerate: async ({ prompt }) => {
          prompts.push(prompt);
          const content = replies.shift();
          return { content, warnings: [], usage: { inputTokens: {}, outputTokens: {} },
            finishReason: { unified: content[0].type === "text" ? "stop" : "tool-calls" } };
        } });
        const tools = await toolsWithMemory("demo", { clock });
        const { text } = await generateText({
          model, prompt: "What is in the notes?", tools, stopWhen: stepCountIs(4),
        });
        const results = prompts[2].filter(({ role }) => role === "tool");
        console.log(JSON.stringify({ text, results }));
    """
    install_beside_ai(tmp_path)
    shutil.copy(EXAMPLES / "vercel_ai.mjs", tmp_path)
    (tmp_path / "example.mjs").write_text(program)
    printed: dict[str, Any] = json.loads(run([str(NODE), str(tmp_path / "example.mjs")], demo))
    assert printed["text"] == "Ten sheep."
    outputs = [answer["output"] for result in printed["results"] for answer in result["content"]]
    assert outputs == [
        {"type": "text", "value": "Ten."},
        {"type": "text", "value": "Page notes (text, FULL):\nTen sheep."},
    ]
    assert entries(demo) == 4


def test_recording_of_a_host_behind_the_proxy() -> None:
    server = [sys.executable, "-m", "tests.kit.mcp_server"]
    calls = ["picture", "{}", "view_media", '{"ref": "{handle}"}', "page_fault", '{"page_id": "x"}']
    path = f"{COMMAND.parent}:{environment()['PATH']}"
    done = subprocess.run(  # noqa: S603 - our own example
        [sys.executable, str(EXAMPLES / "record_proxy.py"), *calls, "--", *server],
        cwd=ROOT,
        env=environment({"PATH": path}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    size = len(b64(PNG))
    handle = re.search(r"\[image (@blob:[0-9a-f]{32}) ", done.stdout)
    assert handle is not None
    image = f"<image image/png, {size} characters of base64>\n       {handle[0]}"
    assert f"model: picture {{}}\n       a picture\n       {image}" in done.stdout
    assert f'model: view_media {{"ref": "{handle[1]}"}}\n       {image}' in done.stdout
    assert done.stdout.endswith("search_pages finds pages by words.\n       (an error)\n\n")


def install_beside_ai(folder: Path) -> None:
    """Copy the sources of the client, and link the packages that the example needs.

    Node.js does not run TypeScript below `node_modules`, so the client is linked from there.
    """
    client = folder / "pagefault-client"
    shutil.copytree(CLIENT / "src", client / "src")
    manifest: Json = json.loads((CLIENT / "package.json").read_text())
    manifest["exports"] = {".": "./src/index.ts", "./vercel": "./src/vercel.ts"}
    (client / "package.json").write_text(json.dumps(manifest))
    modules = folder / "node_modules"
    (modules / "@pagefault").mkdir(parents=True)
    (modules / "@pagefault" / "client").symlink_to(client)
    (modules / "ai").symlink_to(installed(AI) / "node_modules" / "ai")


def replied(text: str) -> Json:
    """A reply of Messages."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def generated(text: str) -> Json:
    """A reply of GenerateContent."""
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}


@pytest.mark.parametrize(
    ("name", "reply", "path", "variables"),
    [
        ("openai", completion, "/v1", ("OPENAI_BASE_URL", "OPENAI_API_KEY")),
        ("anthropic", replied, "", ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")),
        ("google", generated, "", ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY")),
    ],
)
def test_list_of_an_sdk_is_made_to_fit(
    demo: LiveService,
    name: str,
    reply: Callable[[str], Json],
    path: str,
    variables: tuple[str, str],
) -> None:
    program = EXAMPLES / "fit" / f"fit_{name}.py"
    code = [line for line in program.read_text().splitlines()[1:] if line.strip()]
    assert len(code) <= 10
    with stub_model(reply("Ten sheep."), reply("Yes.")) as model:
        url, key = variables
        urls = {url: f"{model.url}{path}", key: "stub"}
        printed = run([sys.executable, str(program)], demo, **urls)
        sent = model.requests
    assert printed == "Ten sheep.\nYes.\n"
    messages = [item.get("messages") or item["contents"] for item in sent]
    assert [len(message) for message in messages] == [1, 3]
    stored = httpx.get(f"{demo.base_url}/api/sessions/fit-{name}").json()
    assert stored["lastSeq"] == 3
