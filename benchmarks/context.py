"""Cost of a long history at a provider that charges less for a known prefix.

A session of sixty screenshots and forty long results is rendered behind every step, with a frontier
and, beside it, with only the newest three images kept and all texts whole, and with nothing left
out. The frontier's limit is the one of some whose renderings have together at most as many tokens.
Text behind the common prefix with the last rendering is not cached.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.figures import Figure, Scale, ratio_at_most, value_at_most
from benchmarks.live_server import serving
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.targets.tokens import count_tokens
from tests.kit.media import b64, jpeg
from tests.kit.process import ROOT

GROUP = "context"
_TARGETS = ("anthropic", "openai-chat", "gemini")
_LIMITS = (20_000, 30_000, 40_000, 60_000, 80_000, 120_000, 160_000)
_SIDES = (1_280, 800)
# Beside limits: the newest three images kept, and nothing left out.
_OF_THREE_IMAGES = -3
_EVERYTHING = 0
_RENDER = "/api/sessions/long/render"

Json = dict[str, Any]


@dataclass
class _Sent:
    """The messages that one policy has sent so far."""

    tokens: int = 0
    uncached: int = 0
    changes: int = 0
    _last: list[str] = field(default_factory=list)

    def add(self, record: Json) -> None:
        """Count a rendering."""
        messages = [json.dumps(message) for message in record["messages"]]
        pairs = zip(self._last, messages, strict=False)
        same = next((at for at, (a, b) in enumerate(pairs) if a != b), len(self._last))
        costs = [_tokens_of(message, record["target"]) for message in record["messages"]]
        self.tokens += sum(costs)
        self.uncached += sum(costs[same:])
        self.changes += same < len(self._last)
        self._last = messages


async def measure(scale: Scale) -> Sequence[Figure]:
    """Prefixes that change, tokens that are not cached, and the time of a rendering."""
    with (
        tempfile.TemporaryDirectory(dir=ROOT) as folder,
        serving(Path(folder) / "service") as service,
        service.client() as client,
    ):
        return _long_session(client, steps=scale.pick(100, 6))


def _long_session(client: httpx.Client, *, steps: int) -> Sequence[Figure]:
    every = (_OF_THREE_IMAGES, _EVERYTHING, *_LIMITS)
    policies = [(target, most) for target in _TARGETS for most in every]
    sent = {policy: _Sent() for policy in policies}
    question = {"role": "user", "content": "Find out why the shop is slow."}
    client.post("/api/sessions/long/messages", json=question).raise_for_status()
    times = []
    for entries in _steps(steps):
        client.post("/api/sessions/long/turns", json={"entries": entries}).raise_for_status()
        for (target, most), counted in sent.items():
            began = time.perf_counter()
            answer = _rendered(client, target, most)
            if most == _LIMITS[2]:
                times.append((time.perf_counter() - began) * 1e3)
            counted.add(answer.json())
    figures = [figure for target in _TARGETS for figure in _compared(target, sent)]
    late = times[-len(times) // 5 :]
    return [
        *figures,
        Figure(
            group=GROUP,
            name=f"a rendering at {2 * steps} entries, its answer read",
            value=statistics.median(late),
            unit="ms",
            aim=value_at_most(20),
        ),
    ]


def _rendered(client: httpx.Client, target: str, most: int) -> httpx.Response:
    if most > _EVERYTHING:
        options = {"target": target, "maxTokens": most, "frontier": f"{target}-{most}"}
        return client.post(_RENDER, json=options).raise_for_status()
    query: dict[str, str | int] = {"target": target}
    if most == _OF_THREE_IMAGES:
        query["maxImages"] = 3
    return client.get(_RENDER, params=query).raise_for_status()


def _compared(target: str, sent: dict[tuple[str, int], _Sent]) -> Iterator[Figure]:
    newest = sent[target, _OF_THREE_IMAGES]
    fitting = [most for most in _LIMITS if sent[target, most].tokens <= newest.tokens]
    most = max(fitting, default=_LIMITS[0])
    held = sent[target, most]
    yield Figure(
        group=GROUP,
        name=f"{target}: prefixes that changed, at {most} tokens",
        value=held.changes,
        unit="changes",
        baseline=newest.changes,
        baseline_name="the newest three images kept",
        aim=ratio_at_most(0.2 if newest.changes > len(_LIMITS) else 2),
    )
    yield Figure(
        group=GROUP,
        name=f"{target}: tokens that were not cached",
        value=held.uncached,
        unit="tokens",
        baseline=newest.uncached,
        baseline_name="the newest three images kept",
        aim=ratio_at_most(0.8 if newest.changes > len(_LIMITS) else 2),
    )
    yield Figure(
        group=GROUP,
        name=f"{target}: tokens that were sent",
        value=held.tokens,
        unit="tokens",
        baseline=newest.tokens,
        baseline_name="the newest three images kept",
        aim=ratio_at_most(1),
    )
    everything = sent[target, _EVERYTHING]
    yield Figure(
        group=GROUP,
        name=f"{target}: tokens that were sent, beside everything",
        value=held.tokens,
        unit="tokens",
        baseline=everything.tokens,
        baseline_name="nothing left out",
    )
    yield Figure(
        group=GROUP,
        name=f"{target}: tokens that were not cached, beside everything",
        value=held.uncached,
        unit="tokens",
        baseline=everything.uncached,
        baseline_name="nothing left out",
    )


def _steps(count: int) -> Iterator[list[Json]]:
    """Yield the entries of each step: six screenshots, then four long results."""
    picture = b64(jpeg(*_SIDES))
    for number in range(count):
        result: object = [{"type": "image", "data": picture, "mimeType": "image/jpeg"}]
        if number % 10 >= 6:
            result = "\n".join(f"{line} GET /cart/{number}/{line} 200" for line in range(250))
        called = {"id": f"c{number}", "type": "function"}
        called["function"] = {"name": "look", "arguments": json.dumps({"at": number})}  # type: ignore[assignment]
        yield [
            {"message": {"role": "assistant", "content": None, "tool_calls": [called]}},
            {"toolResult": {"toolName": "look", "toolCallId": f"c{number}", "result": result}},
        ]


def _tokens_of(value: object, target: str) -> int:
    """Return the tokens of the strings and images of a message; keys and marks are not counted."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return sum(_tokens_of(item, target) for item in value)
    if not isinstance(value, str):
        return 0
    if value.startswith("data:image/") or len(value) > 100_000 or value.startswith("/9j/"):
        return TARGETS[target].tokens.image(*_SIDES)
    return count_tokens(value)
