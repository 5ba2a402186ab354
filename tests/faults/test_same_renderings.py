"""Random sessions, rendered turn by turn with a frontier: both engines, and a restart, agree.

What is evicted is read back whole by the requests that the account of the loss names.
"""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.config.settings import Settings
from pagefault_dialects.targets.table import TARGETS
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.kit import media
from tests.kit.media import b64
from tests.kit.servers import ENGINES, Backends, serving
from tests.providers import CHECKS

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

Json = dict[str, Any]
SESSIONS = times(4, 150)
STEPS = 12
PICTURES = [media.png(16 * number, 900, noise=True) for number in range(1, 4)]
PAGES = ("p0", "p1")
SHORTEST = 240
LONG = "A line of the log.\n"


@pytest.fixture(scope="module")
def both(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> list[Settings]:
    folder: Path = tmp_path_factory.mktemp("renderings")
    return [backends.settings(engine, folder / engine) for engine in ENGINES]


def clients(both: list[Settings], stack: ExitStack) -> Iterator[httpx.Client]:
    for settings in both:
        live = stack.enter_context(serving(settings))
        # Ids of resources are made of the name of their project.
        key = live.new_key("one")
        headers = {"Authorization": f"Bearer {key}"}
        yield stack.enter_context(httpx.Client(base_url=live.base_url, headers=headers, timeout=60))


def said(draw: random.Random) -> str:
    return f"{draw.randint(0, 99)}: " + LONG * draw.choice([1, 1, 60, 200])


def returned(draw: random.Random) -> object:
    picture = {"type": "image", "data": b64(draw.choice(PICTURES)), "mimeType": "image/png"}
    structured = {"content": [], "structuredContent": {"rows": [LONG] * draw.choice([2, 50])}}
    return draw.choice(
        [said(draw), [picture], [{"type": "text", "text": said(draw)}, picture], structured]
    )


def entries(draw: random.Random, step: int) -> list[Json]:
    """Return the entries of one step of an agent."""
    name, arguments = "look", "{}"
    kind = draw.choice(["work", "work", "recall", "recall", "talk", "orphan", "early"])
    if kind == "talk":
        return [{"message": {"role": "user", "content": said(draw)}}]
    if kind == "recall":
        named = {
            "name": "page_fault",
            "arguments": {"page_id": draw.choice(PAGES), "target_level": 0},
        }
        return [{"toolCall": {"id": f"c{step}", **named}}]
    call = {
        "id": f"c{step}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    message = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    result = {"toolResult": {"toolName": name, "toolCallId": f"c{step}", "result": returned(draw)}}
    if kind == "orphan":
        return [result]
    return [result, message] if kind == "early" else [message, result]


def read_back(client: httpx.Client, render: Json, receipt: Json) -> int:
    """Read every evicted thing of a rendering whole; return how many there were."""
    rendering = receipt["rendering"]
    if rendering is None:
        assert "What is never left out has about" in receipt["problem"]
        return 0
    assert rendering["tokensEst"] <= render["maxTokens"]
    CHECKS[render["target"]](rendering["messages"])
    evicted = [item for item in rendering["loss"] if item["code"] == "evicted"]
    for entry in evicted:
        method, path = entry["restore"].split(" ")
        answer = client.request(method, path)
        assert answer.status_code == 200, entry
        if path.endswith("/content"):
            assert answer.content in PICTURES
        else:
            assert answer.json()["seq"] == entry["seq"]
            # What gives way is longer than the line in its place.
            assert len(answer.content) > SHORTEST
    return len(evicted)


def test_sessions_are_rendered_alike_on_both_engines_and_after_a_restart(
    both: list[Settings],
) -> None:
    compared, restored = 0, 0
    last: dict[str, tuple[Json, Json]] = {}
    with ExitStack() as stack:
        services = [*clients(both, stack)]
        for page_id, client in product(PAGES, services):
            page = {"modality": "text", "content": f"{page_id} {LONG * 120}"}
            assert client.put(f"/api/pages/{page_id}", json=page).is_success
        for number in range(SESSIONS):
            draw = random.Random(number)  # noqa: S311 - the same in every run
            path = f"/api/sessions/s{number}"
            render = asked(draw)
            for step in range(STEPS):
                body = {"entries": entries(draw, step), "render": render}
                answers = [client.post(f"{path}/turns", json=body) for client in services]
                assert answers[0].status_code == 200, answers[0].text[:500]
                assert answers[0].content == answers[1].content
                compared += 1
                last[path] = render, answers[0].json()
            restored += read_back(draw.choice(services), *last[path])
    with ExitStack() as stack:
        for client in clients(both, stack):
            for path, (render, receipt) in last.items():
                again = client.get(f"{path}/render", params=query(render))
                if receipt["rendering"] is None:
                    assert (again.status_code, again.json()["detail"]) == (422, receipt["problem"])
                    continue
                expected = {
                    **receipt["rendering"],
                    "stableThrough": len(receipt["rendering"]["messages"]),
                }
                assert again.json() == expected
    tell(
        "Sessions rendered turn by turn on both engines",
        f"{compared} renderings, {restored} evicted things read back: 0 differences",
    )


def asked(draw: random.Random) -> Json:
    return {
        "target": draw.choice([*TARGETS]),
        "frontier": "main",
        "adaptive": draw.random() < 0.8,
        "maxTokens": draw.choice([3_000, 6_000, 12_000]),
    }


def query(render: Json) -> Json:
    return {**render, "adaptive": int(render["adaptive"]), "handles": 1}
