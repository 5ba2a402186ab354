"""The doctor of the service and `heal` of the library return the same messages and losses."""

from typing import Any

import httpx
import pytest

from pagefault_dialects import PagefaultError, heal
from tests.contract.broken_histories import BROKEN

pytestmark = pytest.mark.engines("embedded")

MADE = {"smaller", "larger", "repaired"}
"""Images that the service makes, and the library does not."""


def healed_by_service(client: httpx.Client, request: object, target: str | None) -> dict[str, Any]:
    """Return the doctor's answer to a history."""
    params = {"apply": "true", **({} if target is None else {"target": target})}
    answer = client.post("/api/doctor", params=params, json=request).json()
    known = ("messages", "system", "loss", "tokensEst", "code")
    return {name: answer[name] for name in known if name in answer}


def healed_by_library(request: object, target: str | None) -> dict[str, Any]:
    """Return the library's answer, in the shape of the doctor's."""
    try:
        healed = heal(request, target)
    except PagefaultError as exc:
        return {"code": exc.problem_code}
    return {
        "messages": healed.messages,
        **({"system": healed.system} if healed.system else {}),
        "loss": [entry.wire() for entry in healed.loss],
        "tokensEst": healed.tokens,
    }


@pytest.mark.slow
@pytest.mark.parametrize("target", [None, "anthropic", "gemini"])
def test_doctor_and_library_heal_alike(client: httpx.Client, target: str | None) -> None:
    healed = {field.name: healed_by_service(client, field.request, target) for field in BROKEN}
    alike = [
        field
        for field in BROKEN
        if MADE.isdisjoint(entry["to"] for entry in healed[field.name].get("loss", []))
    ]
    assert len(alike) > len(BROKEN) - 10
    by_library = {field.name: healed_by_library(field.request, target) for field in alike}
    assert {field.name: healed[field.name] for field in alike} == by_library
