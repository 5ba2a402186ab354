"""Requests for renderings, each of which has to succeed, and what is read out of their answers."""

from collections.abc import Iterator
from typing import Any

import httpx

from pagefault_dialects.targets.sequence_rules import find_sequence_faults
from pagefault_dialects.targets.table import TARGETS
from tests.kit.media import b64
from tests.providers import CHECKS

Json = dict[str, Any]

SESSION_RENDER = "/api/sessions/s/render"


def rendering(client: httpx.Client, path: str, target: str, **query: str | int) -> Json:
    """The rendering at a path, whose messages the provider's own types take."""
    answer = client.get(path, params={"target": target, **query})
    return read_rendering(answer, target)


def read_rendering(answer: httpx.Response, target: str) -> Json:
    """The rendering in an answer, whose messages the provider's own types take.

    Those of a whole session keep the rules of order as well.
    """
    record = unchecked(answer, target)
    CHECKS[target](record["messages"])
    if "prefixHash" in record and "sinceHash" not in record:
        found = find_sequence_faults(record["messages"], target)
        assert [(finding.rule, finding.pointer, finding.actual) for finding in found] == []
    return record


def unchecked(answer: httpx.Response, target: str) -> Json:
    """The rendering in an answer, of a history that may yet have open calls."""
    assert answer.status_code == 200, answer.text[:500]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-length"] == str(len(answer.content))
    record: Json = answer.json()
    assert record["target"] == target
    assert record["profile"] == f"{target}/{TARGETS[target].version}"
    return record


def strings(value: object) -> Iterator[str]:
    """Every string of a JSON value, in order; no keys."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def shows(record: Json, content: bytes) -> bool:
    """Return whether the messages contain bytes, as base64 or in a data URI."""
    sought = b64(content)
    return any(text.endswith(sought) for text in strings(record["messages"]))


def all_words(record: Json) -> str:
    """All that a model reads in the messages."""
    return "\n".join(strings(record["messages"]))


def steps(record: Json) -> list[tuple[str, str, str, str]]:
    """The loss: where, from where to where, and why."""
    return [
        (finding["pointer"], finding["from"], finding["to"], finding["code"])
        for finding in record["loss"]
    ]
