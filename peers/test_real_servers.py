"""Results of real MCP servers, stored in every spelling and rendered for every target."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from pagefault_dialects.targets.table import TARGETS
from peers.conversations import printed_lines, results_of
from peers.servers import FOLDER, servers
from tests.kit.node import NODE, installed
from tests.providers import CHECKS

Json: TypeAlias = dict[str, Any]

_SERVERS = tuple(servers(Path()))
# The others answer otherwise the second time, or FastMCP's own reading renames a member.
_READ_ALIKE = frozenset(("filesystem", "git", "sequential-thinking", "typed"))
# Shorter texts may occur anywhere.
_FEWEST_LETTERS = 14


@dataclass(frozen=True)
class Taken:
    """The result of a call, and its record."""

    client: httpx.Client
    server: str
    tool: str
    spelled: Mapping[str, Json]
    record: Json

    @property
    def result(self) -> Json:
        """The result as the SDK writes it by default."""
        return self.spelled["camelCase"]

    def rendered(self, target: str) -> Json:
        """Return the rendering for a target."""
        path = f"/api/tool-results/{self.record['id']}/render"
        answer = self.client.get(path, params={"target": target})
        assert answer.status_code == 200, answer.text
        rendering: Json = answer.json()
        return rendering

    @cached_property
    def facts(self) -> list[str]:
        """The texts of the result that are long enough to be looked for, each once."""
        said = [text for text in _strings(self.result) if len(text) >= _FEWEST_LETTERS]
        return sorted({line for text in said for line in text.splitlines() if _is_fact(line)})


@pytest.fixture(scope="module", params=_SERVERS)
def taken(request: pytest.FixtureRequest, client: httpx.Client, folder: Path) -> list[Taken]:
    """Return the result of each call of a server."""
    name: str = request.param
    server = servers(folder)[name]
    calls = zip(server.calls, results_of(server, folder), strict=True)
    return [
        _take(client, name, number, tool, spelled)
        for number, ((tool, _), spelled) in enumerate(calls)
    ]


def _take(
    client: httpx.Client, server: str, number: int, tool: str, spelled: Mapping[str, Json]
) -> Taken:
    record = _created(client, f"{server} {number} {tool}", tool, spelled["camelCase"])
    return Taken(client, server, tool, spelled, record)


def _created(client: httpx.Client, call_id: str, tool: str, result: object) -> Json:
    body = {"toolName": tool, "toolCallId": call_id, "result": result}
    answer = client.post("/api/tool-results", json=body)
    assert answer.status_code == 201, answer.text
    record: Json = answer.json()
    return record


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


def _is_fact(line: str) -> bool:
    return len(line) >= _FEWEST_LETTERS and " " in line and not line.startswith(("{", "["))


def _shown(rendering: Json) -> str:
    return "\n".join(_strings(rendering["messages"]))


def _counted(text: str, fact: str) -> int:
    """Return how often a fact stands in a text, as it is or inside of JSON."""
    forms = {fact, json.dumps(fact)[1:-1], json.dumps(fact, ensure_ascii=False)[1:-1]}
    return sum(text.count(form) for form in forms)


def test_spellings_of_a_result_are_one_record(taken: list[Taken]) -> None:
    for item in taken:
        for name, result in item.spelled.items():
            if name == "FastMCP" and item.server not in _READ_ALIKE:
                continue
            call_id = f"{item.record['toolCallId']} {name}"
            spelled = _created(item.client, call_id, item.tool, result)["sanitized"]
            assert _comparable(spelled) == _comparable(item.record["sanitized"]), (item.tool, name)


def _comparable(sanitized: Json) -> Json:
    # A call has an id of its own, and FastMCP's client adds who the server is.
    left_out = {"toolCallId", "_meta"}
    meta = {key: value for key, value in sanitized["meta"].items() if key not in left_out}
    return {**sanitized, "meta": meta}


def test_failures_are_failures(taken: list[Taken]) -> None:
    success = [item.record["sanitized"]["meta"]["success"] for item in taken]
    assert success == [not item.result["isError"] for item in taken]


def test_nothing_absent_is_told(taken: list[Taken]) -> None:
    for item in taken:
        assert '":null' not in json.dumps(_without_structure(item.record["sanitized"]))


def _without_structure(sanitized: Json) -> Json:
    meta = {key: value for key, value in sanitized["meta"].items() if key != "structuredContent"}
    return {**sanitized, "meta": meta}


def test_media_are_read_back_byte_for_byte(taken: list[Taken]) -> None:
    for item in taken:
        wanted = {base64.b64decode(data) for data in _media(item.result["content"])}
        kept = {_bytes(item.client, part) for part in item.record["sanitized"]["parts"]}
        assert wanted <= kept, item.tool


def _media(blocks: list[Json]) -> Iterator[str]:
    for block in blocks:
        if block["type"] in {"image", "audio"}:
            yield block["data"]
        elif block["type"] == "resource" and "blob" in block["resource"]:
            yield block["resource"]["blob"]


def _bytes(client: httpx.Client, part: Json) -> bytes:
    if part["type"] == "text":
        return str(part["text"]).encode()
    held: str = part.get("image") or part["data"]
    if held.startswith("@blob:"):
        return client.get(f"/api/resources/{held[1:]}/content").content
    return base64.b64decode(held)


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_rendering_is_taken_by_its_provider(taken: list[Taken], target: str) -> None:
    for item in taken:
        CHECKS[target](item.rendered(target)["messages"])


@pytest.mark.parametrize("target", sorted(set(TARGETS) - {"mcp"}))
def test_a_model_is_told_everything_once(taken: list[Taken], target: str) -> None:
    for item in taken:
        shown = _shown(item.rendered(target))
        content = "\n".join(_strings(item.result["content"]))
        for fact in item.facts:
            told = max(_counted(content, fact), 1)
            at_most = 2 * told if _says_more(item.result) else told
            assert told <= _counted(shown, fact) <= at_most, (item.tool, fact, shown[:2_000])


def _says_more(result: Json) -> bool:
    """Return whether structured content differs from the texts, wrapped or not."""
    structured = result["structuredContent"]
    value = structured
    if isinstance(structured, dict) and len(structured) == 1:
        value = structured.get("result", structured.get("content", structured))
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    read = [_as_json(text) for text in texts]
    return structured is not None and value not in (texts, read, *texts[:1], *read[:1])


def _as_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_renderings_for_mcp_are_taken_by_the_sdk_for_typescript(taken: list[Taken]) -> None:
    messages = [message for item in taken for message in item.rendered("mcp")["messages"]]
    text = "".join(json.dumps(message) + "\n" for message in messages)
    told = printed_lines([NODE, installed(FOLDER) / "check.mjs"], text)
    assert [json.loads(line) for line in told] == [""] * len(messages)
