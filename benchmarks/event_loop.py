"""Time for which one large value blocks the interpreter, and so the event loop.

    python -m benchmarks --only event-loop

The widest values that the limits let through, on every route that takes JSON, of up to 1 MiB and
above, one after the other. The value is the longest hold (see `benchmarks.watched_service`), the
detail has the slowest `/healthz` on another connection meanwhile. Where a figure is above
its aim, the detail says where the threads were then.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Service, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL
from benchmarks.watched_service import COMMAND, HOLDS_FILE

GROUP = "event-loop"
MIB = 1 << 20
_MAX_MS = 50
_MAX_MS_ABOVE = 150
_PATIENCE_SECONDS = 120.0
# Of 250,000 that one body may have.
_VALUES = 240_000
_MESSAGES = 25_000
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Attack:
    """A request; `{call}` in its body is another word each time."""

    name: str
    method: str
    path: str
    body: str

    def request(self, headers: Mapping[str, str]) -> bytes:
        """Return the bytes of it."""
        body = self.body.replace("{call}", f"c{next(_numbers)}").encode()
        kind = "application/json"
        return request(self.method, self.path, headers={**headers, "Content-Type": kind}, body=body)


class _Holds:
    """The file in which the watched service notes its holds."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read_bytes = 0

    def read(self) -> list[tuple[float, list[str]]]:
        """Return those that were noted since the last time."""
        noted = self.file.read_bytes()[self._read_bytes :]
        self._read_bytes += len(noted)
        return [json.loads(line) for line in noted.splitlines()]


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every attack, once."""
    with tempfile.TemporaryDirectory() as name:
        holds = _Holds(Path(name) / "holds.jsonl")
        env = {HOLDS_FILE: str(holds.file)}
        with serving(Path(name), env=env, cores=ALL, command=COMMAND) as served:
            # The first call of each kind loads modules.
            for attack in _attacks(scale.pick(1_000, 100)):
                await _send(served, attack)
            many = scale.pick(_VALUES, 1_000)
            return [await _figure(served, attack, holds) for attack in _attacks(many)]


async def _figure(service: Service, attack: Attack, holds: _Holds) -> Figure:
    holds.read()
    times: list[float] = []
    asking = asyncio.create_task(_ask(service, times))
    try:
        status = await _send(service, attack)
    finally:
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
    longest, places = max(holds.read(), default=(0.0, []))
    size_bytes = len(attack.body.encode())
    detail = f"{size_bytes:,} bytes, answered {status}; slowest `/healthz` {max(times):.0f} ms"
    max_ms = _MAX_MS if size_bytes <= MIB else _MAX_MS_ABOVE
    if longest > max_ms:
        detail += f"; then at {'; '.join(places)}"
    return Figure(
        group=GROUP,
        name=attack.name,
        value=longest,
        unit="ms",
        aim=value_at_most(max_ms),
        detail=detail,
    )


async def _ask(service: Service, times: list[float]) -> None:
    """Ask how the service is, all the time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    try:
        while True:
            began = time.perf_counter()
            writer.write(request("GET", "/healthz"))
            await _status(reader)
            times.append((time.perf_counter() - began) * 1e3)
            # What measures is not to be what keeps the service busy.
            await asyncio.sleep(0.002)
    finally:
        writer.close()


async def _send(service: Service, attack: Attack) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            writer.write(attack.request(service.headers))
            status = await _status(reader)
    finally:
        writer.close()
    if status >= 500:
        raise WrongAnswerError(f"{attack.name} was answered with {status}")
    return status


async def _status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head[9:12])


def _attacks(many: int) -> Iterator[Attack]:
    for shape, value in _values(many).items():
        for route, write in _ROUTES.items():
            method, path, body = write(value)
            yield Attack(
                f"{route}, {shape}",
                method,
                path.replace("{shape}", shape),
                body.replace("{shape}", shape),
            )
    messages = min(many, _MESSAGES)
    histories: dict[str, list[dict[str, object]]] = {
        "messages": [{"role": "user", "content": f"m{n}"} for n in range(messages)],
        "answers to no calls": [
            {"role": "tool", "tool_call_id": f"m{n}", "content": "x"} for n in range(messages)
        ],
    }
    for name, history in histories.items():
        body = json.dumps(history)
        yield Attack(f"doctor, {messages:,} {name}", "POST", "/api/doctor?apply=true", body)
    wrong = f"[{'1,' * many}1]"
    yield Attack("turn, wrong entries", "POST", "/api/sessions/w/turns", f'{{"entries":{wrong}}}')
    parts = f'{{"input":{{"parts":{wrong}}},"input_kind":"multimodal"}}'
    yield Attack("interaction, wrong parts", "POST", "/api/sessions/w/interactions", parts)


def _values(many: int) -> dict[str, str]:
    half = many // 2
    return {
        "arrays": f"[{'[],' * half}1]",
        "members": json.dumps({f"k{n}": n for n in range(many)}),
        "objects": json.dumps([{"a": n} for n in range(half)]),
        "decimals": f"[{'1.10,' * many}1]",
        "nested": f"{'[' * 900}{'[],' * half}1{']' * 900}",
    }


_Write = Callable[[str], tuple[str, str, str]]
_ROUTES: dict[str, _Write] = {
    "tool result": lambda value: (
        *("POST", "/api/tool-results"),
        f'{{"toolName":"t","toolCallId":"{{call}}","result":{value}}}',
    ),
    "message": lambda value: (
        *("POST", "/api/sessions/{shape}/messages"),
        f'{{"role":"user","content":[{{"type":"x{{call}}","a":{value}}}]}}',
    ),
    "rendering": lambda _: ("GET", "/api/sessions/{shape}/render?target=anthropic", ""),
    "turn": lambda value: (
        *("POST", "/api/sessions/t-{shape}/turns"),
        '{"entries":[{"toolResult":{"toolName":"t","toolCallId":"{call}","result":'
        f'{value}}}}}],"render":{{"target":"openai-chat"}}}}',
    ),
    "interaction": lambda value: (
        *("POST", "/api/sessions/i-{shape}/interactions"),
        f'{{"input":{{"a":{value},"b":"{{call}}"}}}}',
    ),
    "page": lambda value: (
        *("PUT", "/api/pages/{shape}"),
        f'{{"page_id":"{{shape}}","modality":"structured","content":[{value},"{{call}}"]}}',
    ),
    "level of a page": lambda _: ("GET", "/api/pages/{shape}/content?level=1", ""),
    "references": lambda value: (
        *("POST", "/api/resolve"),
        f'{{"sessionId":"{{shape}}","arguments":{value}}}',
    ),
    "history": lambda value: (
        *("POST", "/api/doctor?apply=true"),
        f'[{{"role":"user","content":[{{"type":"x","a":{value}}}]}}]',
    ),
}
