"""Whole conversations: put at each step as an SDK has them, and forked.

python -m benchmarks --only conversations
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_most, value_at_most
from benchmarks.live_server import serving
from benchmarks.machine import ALL

GROUP = "conversations"
_ROUNDS = 9
Json = dict[str, Any]


async def measure(scale: Scale) -> Sequence[Figure]:
    """A step of a long conversation beside ten of a short one, and a fork beside an export."""
    few, many = scale.pick((100, 1_000), (4, 40))
    entries = scale.pick(10_000, 60)
    with (
        tempfile.TemporaryDirectory() as name,
        serving(Path(name), cores=ALL) as service,
        service.client() as client,
    ):
        short, long = (_step_ms(client, f"put-{count}", count) for count in (few, many))
        put(client, "long", conversation(entries))
        fork, export = _fork_seconds(client, entries), _export_seconds(client)
    return [
        Figure(
            group=GROUP,
            name=f"put {many:,} messages, of which one is new",
            value=long,
            unit="ms",
            baseline=short * many / few,
            baseline_name=f"as many messages, {few} at a time",
            aim=ratio_at_most(1.5),
        ),
        Figure(
            group=GROUP,
            name=f"fork a session of {entries:,} entries",
            value=fork,
            unit="s",
            baseline=export,
            baseline_name="an export of it",
            aim=value_at_most(2),
        ),
    ]


def conversation(count: int) -> list[Json]:
    """Return messages of a user, and of a model that calls a tool."""
    messages: list[Json] = []
    for number in range(count):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
        }
        result = f"Result {number}. " + "A line of the output. " * 30
        sides: list[Json] = [
            {"role": "user", "content": f"Question {number}. " + "Some words more. " * 20},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number - 1}", "content": result},
            {"role": "assistant", "content": f"Answer {number}. " + "Some words more. " * 20},
        ]
        messages.append(sides[number % 4])
    return messages


def put(client: httpx.Client, session: str, messages: list[Json]) -> float:
    """Put a conversation; return how many seconds that took."""
    began = time.perf_counter()
    answer = client.put(f"/api/sessions/{session}/history", json=messages)
    took = time.perf_counter() - began
    if answer.is_error or answer.json()["lastSeq"] != len(messages):
        raise WrongAnswerError(answer.text[:500])
    return took


def _step_ms(client: httpx.Client, session: str, count: int) -> float:
    """Return how long a step takes at the end of a conversation, in milliseconds."""
    messages = conversation(count + _ROUNDS)
    put(client, session, messages[:count])
    steps = (put(client, session, messages[: count + step + 1]) for step in range(_ROUNDS))
    return median(steps) * 1000


def _fork_seconds(client: httpx.Client, entries: int) -> float:
    took: list[float] = []
    for number in range(3):
        began = time.perf_counter()
        body = {"upTo": entries, "as": f"fork-{number}"}
        answer = client.post("/api/sessions/long/fork", json=body)
        took.append(time.perf_counter() - began)
        if answer.status_code != 201:
            raise WrongAnswerError(answer.text[:500])
    return median(took)


def _export_seconds(client: httpx.Client) -> float:
    began = time.perf_counter()
    client.get("/api/sessions/long/bundle").raise_for_status()
    return time.perf_counter() - began
