"""The conformance cases of memory pages, from `tests/data/pages.jsonl`, and how one is sent."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from pagefault_dialects.json.values import JsonValue

CASES: dict[str, dict[str, Any]] = {
    case["name"]: case
    for case in map(
        json.loads,
        (Path(__file__).parents[1] / "data" / "pages.jsonl").read_text().splitlines(),
    )
}


@dataclass(frozen=True)
class Case:
    """A case, its page as it is sent, and the service that has it."""

    client: httpx.Client
    page: dict[str, Any]
    args: dict[str, Any]

    @property
    def path(self) -> str:
        return f"/api/pages/{self.page['page_id']}"

    def store(self, **members: object) -> None:
        created = self.client.post("/api/pages", json=self.page | members)
        assert created.status_code == 201, created.text[:500]

    def read(self, what: str, **query: str | int) -> JsonValue:
        answer = self.client.get(f"{self.path}/{what}", params=query)
        assert answer.status_code == 200, answer.text[:500]
        return answer.json()

    def fault(self, **more: object) -> JsonValue:
        answer = self.client.post(f"{self.path}/fault", json=self.args | more)
        assert answer.status_code == 200, answer.text[:500]
        return answer.json()["content"]

    def level(self, level: int) -> JsonValue:
        return self.read(f"representations/{level}")["content"]

    def patch(self, **members: object) -> None:
        assert self.client.patch(self.path, json=members).status_code == 200

    def details(self) -> dict[str, str]:
        answer = self.client.get(self.path, headers={"Accept": "text/plain"})
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        lines = (line.partition(":") for line in answer.text.splitlines())
        return {label: value.strip() for label, _, value in lines}

    def downloaded(self) -> tuple[str, bytes]:
        answer = self.client.get(f"{self.path}/download")
        assert answer.status_code == 200, answer.text[:500]
        disposition = re.fullmatch(
            r'attachment; filename="([^"]+)"', answer.headers["content-disposition"]
        )
        assert disposition
        return disposition.group(1), answer.content

    def resources(self) -> list[Any]:
        items: list[Any] = self.client.get("/api/resources").json()["items"]
        return items


def built(value: JsonValue) -> JsonValue:
    """A value with its `$repeat` spelled out; `$bytes`, which JSON cannot send, stays an object."""
    match value:
        case {"$repeat": [str(text), int(times)]}:
            return text * times
        case dict():
            return {name: built(member) for name, member in value.items()}
        case _:
            return value


def attached(text: str, url: str) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": text},
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
    ]
