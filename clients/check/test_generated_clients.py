"""The clients of six generators compile, and call a service through their types.

The answers of the service have undocumented members, as those of a later version may.
"""

import hashlib
import json
import re
from pathlib import Path

import httpx
import pytest

from clients.check.generators import GENERATORS, UNIONS, Generator, prepare_folder, run_command

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
    prepare_folder(generator, tmp_path)
    for command in (generator.generate, *generator.check):
        run_command(command, tmp_path, variables)
    output = json.loads(run_command(generator.run, tmp_path, variables))
    content = picture.read_bytes()
    assert output == {
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
        # The length does not fit into 32 bits.
        "length": 3_000_000_000,
        "event": ["llmservice:toolResult", "camera"],
    }


def test_generated_python_client_has_no_names_by_number(tmp_path: Path) -> None:
    (generator,) = [field for field in GENERATORS if field.name == "openapi_python_client"]
    run_command(generator.generate, tmp_path, {})
    modules = [path.read_text() for path in tmp_path.rglob("*.py")]
    classes = {
        name for module in modules for name in re.findall(r"^class (\w+)", module, re.MULTILINE)
    }
    assert "PageRecord" in classes
    assert [name for name in sorted(classes) if re.search(r"Type\d|\d$", name)] == []


@pytest.mark.parametrize("language", UNIONS)
def test_generated_union_holds_its_values(tmp_path: Path, language: str) -> None:
    command, types = UNIONS[language]
    run_command(command, tmp_path, {})
    text = "\n".join(path.read_text() for path in tmp_path.glob(types))
    assert "InteractionInput" in text
    # A structure without members, or in Rust a variant with the path of a type as its name.
    empty = re.findall(
        r"(?:struct|class) (\w+) ?[({]\s*[)}]|^    (\w+::[\w:]+)\(", text, re.MULTILINE
    )
    assert empty == []
