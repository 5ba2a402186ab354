"""Look-ups a second, beside a bare route that answers with a constant.

Four lookups, each on SQLite and with a key: a tool result, a resource's descriptor, a page, and 50
entries of a session's history. Beside each a FastAPI route, under the same server on the same core,
returns as many bytes without looking anything up, and asks for no key. Both are asked in turns.
"""

import base64
import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_least
from benchmarks.live_server import Bare, Service, bare_server, serving
from benchmarks.load_client import request
from benchmarks.machine import CLIENT, on_cores
from benchmarks.turns import Side, in_words, rates_in_turns
from tests.kit.media import png

GROUP = "lookups"
AIM = ratio_at_least(0.4)
ENTRIES = 50
_TEXT = "What the tool has found, in a few words of no importance. " * 12


@dataclass(frozen=True, slots=True)
class Lookup:
    """Something to look up."""

    name: str
    path: str
    answer: bytes


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every lookup, on one connection and on 16."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as service:
        lookups = _prepared(service)
        constants = {_slug(lookup): lookup.answer for lookup in lookups}
        with (
            bare_server(Path(folder) / "bare", constants=constants) as bare,
            on_cores(CLIENT),
        ):
            _check_same(lookups, bare)
            return [
                await _compare(
                    lookup, _sides(lookup, service, bare), connections=connections, scale=scale
                )
                for connections in (1, 16)
                for lookup in lookups
            ]


def _sides(lookup: Lookup, service: Service, bare: Bare) -> list[Side]:
    return [
        Side(service, request("GET", lookup.path, headers=service.headers)),
        Side(bare, request("GET", f"/constants/{_slug(lookup)}")),
    ]


async def _compare(
    lookup: Lookup, sides: Sequence[Side], *, connections: int, scale: Scale
) -> Figure:
    served, bare = await rates_in_turns(
        sides,
        connections=connections,
        rounds=scale.pick(15, 1),
        seconds=scale.pick(0.5, 0.05),
    )
    return Figure(
        group=GROUP,
        name=f"{lookup.name}, {connections} connection{'s' if connections > 1 else ''}",
        value=median(served.a_second),
        unit="req/s",
        baseline=median(bare.a_second),
        baseline_name=f"constant of {len(lookup.answer):,} bytes",
        aim=AIM,
        detail=in_words(served, bare),
    )


def _prepared(service: Service) -> list[Lookup]:
    """Write the records, and look each up once."""
    addresses = ("", "")
    with service.client() as client:
        for number in range(0, ENTRIES, 2):
            message = {"role": "user", "content": f"{number}. {_TEXT[:400]}"}
            client.post("/api/sessions/s/messages", json=message).raise_for_status()
            result = client.post("/api/tool-results", json=_tool_result(number)).raise_for_status()
            kept = result.json()["sanitized"]["resources"][0]["uri"].removeprefix("blob:")
            addresses = result.headers["location"], f"/api/resources/{kept}"
        client.put("/api/pages/p", json={"content": _TEXT, "session_id": "s"}).raise_for_status()
        return [
            _looked_up(client, "tool result", addresses[0]),
            _looked_up(client, "resource descriptor", addresses[1]),
            _looked_up(client, "page", "/api/pages/p"),
            _looked_up(client, f"{ENTRIES} entries of history", _history()),
        ]


def _tool_result(number: int) -> dict[str, object]:
    image = base64.b64encode(png(240 + number, 160, noise=True)).decode()
    return {
        "toolName": "look",
        "toolCallId": f"call_{number}",
        "sessionId": "s",
        "result": {
            "content": [
                {"type": "text", "text": f"{number}. {_TEXT}"},
                {"type": "image", "data": image, "mimeType": "image/png"},
            ]
        },
    }


def _history() -> str:
    return f"/api/sessions/s/messages?limit={ENTRIES}"


def _looked_up(client: httpx.Client, name: str, path: str) -> Lookup:
    answer = client.get(path).raise_for_status().content
    if name.endswith("history") and len(client.get(path).json()["items"]) != ENTRIES:
        raise WrongAnswerError(f"{path} has not {ENTRIES} entries")
    return Lookup(name, path, answer)


def _check_same(lookups: Sequence[Lookup], server: Bare) -> None:
    for lookup in lookups:
        address = f"http://127.0.0.1:{server.port}/constants/{_slug(lookup)}"
        answer = httpx.get(address, trust_env=False).raise_for_status().content
        if hashlib.sha256(answer).digest() != hashlib.sha256(lookup.answer).digest():
            raise WrongAnswerError(f"{address} has other bytes than the service")


def _slug(lookup: Lookup) -> str:
    return lookup.name.replace(" ", "-")
