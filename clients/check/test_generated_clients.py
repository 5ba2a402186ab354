"""Clients that six generators make compile, and call a live service through their types."""

import hashlib
import json
from pathlib import Path

import httpx
import pytest

from clients.check.generators import GENERATORS, Generator, called, prepared

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)
def test_generated_client_compiles_and_makes_a_round_trip(
    client: httpx.Client, picture: Path, tmp_path: Path, generator: Generator
) -> None:
    session = generator.name
    variables = {
        "PAGEFAULT_URL": str(client.base_url).rstrip("/"),
        "PAGEFAULT_KEY": client.headers["authorization"].removeprefix("Bearer "),
        "PICTURE": str(picture),
        "SESSION": session,
        **generator.variables,
    }
    prepared(generator, tmp_path)
    for command in (generator.generate, *generator.check):
        called(command, tmp_path, variables)
    told = json.loads(called(generator.run, tmp_path, variables))
    content = picture.read_bytes()
    assert told == {
        "page": "Hello.",
        "rendered": "anthropic",
        "fault": f"Page {session} (text, FULL):\nHello.",
        "refused": [404, "tool", "absent"],
        "history": [
            ["tool_result", "camera"],
            ["page_fault", "call_2"],
            ["message", "Thanks."],
        ],
        "uploaded": len(content),
        "downloaded": hashlib.sha256(content).hexdigest(),
        # More than 32 bits hold.
        "length": 3_000_000_000,
        "event": ["llmservice:toolResult", "camera"],
    }
