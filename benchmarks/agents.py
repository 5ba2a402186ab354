"""Cost of a step of an agent: through the proxy, in one request, and in tokens.

The proxy stands between a client and a server of MCP that answers at once with 2 KB of text; beside
it the same client talks to the same server. A step of an agent is a turn of three entries with its
rendering; beside it the same is sent in four requests. A session of forty calls (screenshots, long
logs, JSON) is what a model is given of it through the proxy, beside what the tools returned.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_most, value_at_most
from benchmarks.live_server import serving
from pagefault_dialects.pages.sizes import estimate_image_tokens, estimate_text_tokens
from tests.kit.media import b64, jpeg
from tests.kit.process import COMMAND, ROOT, environment

GROUP = "agents"
_TEXT = "A line of what a tool has found out. " * 54
_SERVER = f"""
import json, sys
for line in sys.stdin.buffer:
    asked = json.loads(line)
    content = [{{"type": "text", "text": {_TEXT!r}}}]
    answer = {{"jsonrpc": "2.0", "id": asked["id"], "result": {{"content": content}}}}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""
# It answers with the recorded results, in order.
_RECORDED = """
import json, sys
results = json.load(open(sys.argv[1]))
for line, content in zip(sys.stdin.buffer, results):
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"content": content}}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""
_SIDE = (1_280, 800)

Json = dict[str, Any]
_SHORT: list[Json] = [{"type": "text", "text": _TEXT}]


async def measure(scale: Scale) -> Sequence[Figure]:
    """Everything that an agent's step is made of."""
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        proxied = _proxied(Path(folder), rounds=scale.pick(400, 5))
        with serving(Path(folder) / "service") as service, service.client() as client:
            steps = _steps(client, rounds=scale.pick(100, 3))
        tokens = _tokens(Path(folder), calls=scale.pick(40, 4))
    return [proxied, *steps, tokens]


def _proxied(folder: Path, *, rounds: int) -> Figure:
    """Return the time that the proxy adds to a result of 2 KB: the median of all rounds."""
    program = folder / "server.py"
    program.write_text(_SERVER)
    server = [sys.executable, str(program)]
    proxy = [str(COMMAND), "proxy", "--session", "s", "--data-dir", str(folder / "proxy"), "--"]
    with _talking(server) as direct, _talking([*proxy, *server]) as through:
        # The store is open when the first result has passed it.
        for item in (direct, through):
            if any(item() != _SHORT for _ in range(5)):
                raise WrongAnswerError("a result is not what the server said")
        times = [(_timed(direct), _timed(through)) for _ in range(rounds)]
    direct_ms, through_ms = (statistics.median(item) for item in zip(*times, strict=True))
    return Figure(
        group=GROUP,
        name="2 KB through the proxy, added",
        value=through_ms - direct_ms,
        unit="ms",
        baseline=direct_ms,
        baseline_name="the server alone",
        aim=value_at_most(5),
    )


@contextmanager
def _talking(command: Sequence[str]) -> Iterator[Callable[[], list[Json]]]:
    """Make calls of a tool, one after the other; each returns the content of its result."""
    process = subprocess.Popen(  # noqa: S603 - our own commands
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise WrongAnswerError("the pipes were asked for")
    number = 0

    def call() -> list[Json]:
        nonlocal number
        number += 1
        params = {"name": "look", "arguments": {"number": number}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
        content: list[Json] = json.loads(stdout.readline())["result"]["content"]
        return content

    with process:
        yield call
        stdin.close()


def _timed(work: Callable[[], object], *, rounds: int = 1) -> float:
    """Return the milliseconds of the last round."""
    began = time.perf_counter()
    for _ in range(rounds):
        began = time.perf_counter()
        work()
    return (time.perf_counter() - began) * 1e3


def _entries(number: int) -> list[Json]:
    call_id = f"call_{number}"
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function}]
    result = {"toolName": "look", "toolCallId": call_id, "result": _TEXT}
    return [
        {"message": {"role": "user", "content": f"And {number}?"}},
        {"message": {"role": "assistant", "content": None, "tool_calls": calls}},
        {"toolResult": result},
    ]


def _steps(client: httpx.Client, *, rounds: int) -> Sequence[Figure]:
    """A turn beside its parts, in sessions that grow alike; and the bytes of an answer."""
    sent: list[int] = []
    whole: list[int] = []

    def turn(number: int) -> None:
        render = {"target": "openai-chat", "since": 3 * number}
        body = {"entries": _entries(number), "render": render}
        answer = client.post("/api/sessions/turns/turns", json=body).raise_for_status()
        if len(answer.json()["rendering"]["messages"]) != 3:
            raise WrongAnswerError("a turn was not rendered")
        sent.append(len(answer.content))

    def parts(number: int) -> None:
        said, called, returned = _entries(number)
        for entry in (said, called):
            path = "/api/sessions/parts/messages"
            client.post(path, json=entry["message"]).raise_for_status()
        result = {**returned["toolResult"], "sessionId": "parts"}
        client.post("/api/tool-results", json=result).raise_for_status()
        params: dict[str, str | int] = {"target": "openai-chat", "handles": 1, "since": 3 * number}
        client.get("/api/sessions/parts/render", params=params).raise_for_status()

    times = [
        (_timed(partial(turn, number)), _timed(partial(parts, number))) for number in range(rounds)
    ]
    params: dict[str, str | int] = {"target": "openai-chat", "handles": 1}
    whole.append(len(client.get("/api/sessions/turns/render", params=params).content))
    turn_ms, parts_ms = (statistics.median(item) for item in zip(*times, strict=True))
    return [
        Figure(
            group=GROUP,
            name="a step in one turn",
            value=turn_ms,
            unit="ms",
            baseline=parts_ms,
            baseline_name="the same in four requests",
            aim=ratio_at_most(1),
        ),
        Figure(
            group=GROUP,
            name=f"bytes of an answer with `since`, step {rounds}",
            value=sent[-1],
            unit="B",
            baseline=whole[-1],
            baseline_name="the whole session",
            aim=ratio_at_most(0.1 if rounds > 50 else 1),
        ),
    ]


def _tokens(folder: Path, *, calls: int) -> Figure:
    """Compare the tokens of results through the proxy with those of the direct answers."""
    results = folder / "results.json"
    results.write_text(json.dumps([_content(number) for number in range(calls)]))
    program = folder / "results.py"
    program.write_text(_RECORDED)
    server = [sys.executable, str(program), str(results)]
    proxy = [str(COMMAND), "proxy", "--session", "forty", "--data-dir", str(folder / "forty"), "--"]
    counted = []
    for command in ([*proxy, *server], server):
        with _talking(command) as call:
            counted.append(sum(_counted(call()) for _ in range(calls)))
    through, direct = counted
    return Figure(
        group=GROUP,
        name=f"tokens of {calls} calls",
        value=through,
        unit="tokens",
        baseline=direct,
        baseline_name="the server alone",
        aim=ratio_at_most(0.5),
    )


def _content(number: int) -> list[Json]:
    """Return the result of a tool: a screenshot, a log, JSON or a short text, in turn."""
    kind = number % 4
    if kind == 0:
        picture = jpeg(*_SIDE, noise=True)
        return [{"type": "image", "data": b64(picture), "mimeType": "image/jpeg"}]
    if kind == 1:
        text = "\n".join(f"{line} GET /cart/{number} 200" for line in range(4_000))
    elif kind == 2:
        items = [{"id": item, "name": f"item {item}"} for item in range(1_500)]
        text = json.dumps({"items": items})
    else:
        text = _TEXT
    return [{"type": "text", "text": text}]


def _counted(content: list[Json]) -> int:
    return sum(
        estimate_image_tokens(*_SIDE)
        if block["type"] == "image"
        else estimate_text_tokens(block["text"])
        for block in content
    )
