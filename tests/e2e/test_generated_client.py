"""The OpenAPI document as SDK generators meet it, and a generated client against a live service."""

import base64
import importlib
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import openapi_spec_validator
import pytest

from tests.kit import media
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import ROOT, PagefaultProcess, environment

DOCUMENT = ROOT / "openapi" / "openapi.json"
PACKAGE = "generated_pagefault"
METHODS = {"get", "head", "post", "put", "patch", "delete"}
VIDEO = media.mp4()


class Operation(NamedTuple):
    """One operation of the document."""

    path: str
    method: str
    body: dict[str, Any]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return loaded


@pytest.fixture(scope="module")
def operations(document: dict[str, Any]) -> list[Operation]:
    return [
        Operation(path, method, item[method])
        for path, item in document["paths"].items()
        for method in METHODS & item.keys()
    ]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the output of the generator; its package can be imported during the block."""
    folder = tmp_path_factory.mktemp("sdk")
    scripts = Path(sys.executable).parent
    config = DOCUMENT.with_name("openapi-python-client.yml")
    arguments = ["--path", str(DOCUMENT), "--output-path", str(folder / PACKAGE), "--meta", "none"]
    arguments += ["--config", str(config)]
    done = subprocess.run(  # noqa: S603 - a tool of our own environment
        [scripts / "openapi-python-client", "generate", *arguments],
        # It tidies up with ruff, which is beside it.
        env=environment({"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield done.stdout + done.stderr


@pytest.fixture(scope="module")
def sdk(
    generated: str, pagefault: LoadedCommand, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, PagefaultProcess]]:
    """The generated client with a key, and the service it talks to."""
    assert generated
    data_dir = tmp_path_factory.mktemp("sdk-service") / "data"
    made = pagefault.run("keys", "create", "--project", "demo", "--data-dir", str(data_dir))
    with PagefaultProcess(data_dir, env={"PAGEFAULT_AUTH": "api-key"}) as process:
        client = part_of("client").AuthenticatedClient(process.base_url, made.stdout.strip())
        with client:
            yield client, process


def part_of(name: str) -> Any:  # noqa: ANN401 - its types exist only after generation
    """A module of the generated package."""
    return importlib.import_module(f"{PACKAGE}.{name}")


def call(client: Any, operation: str, *path: str, **arguments: Any) -> Any:  # noqa: ANN401
    """Return the detailed answer of the generated function of an operation."""
    return part_of(f"api.{operation}").sync_detailed(*path, client=client, **arguments)


def tool_result(call_id: str) -> Any:  # noqa: ANN401
    """A request with a video, as a user of the client writes it."""
    video = base64.b64encode(VIDEO).decode()
    resource = {"uri": "file:///demo.mp4", "mimeType": "video/mp4", "blob": video}
    return part_of("models").ToolResultRequest(
        tool_name="camera",
        tool_call_id=call_id,
        session_id="sdk",
        result={"content": [{"type": "resource", "resource": resource}]},
    )


def test_document_is_valid(document: dict[str, Any]) -> None:
    openapi_spec_validator.validate(document)


def test_generator_has_no_warnings(generated: str) -> None:
    assert [line for line in generated.splitlines() if "warning" in line.lower()] == []


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_values_of("$ref", document)) - schemas == set()


def test_every_operation_has_tags_summary_and_an_id_of_its_own(operations: list[Operation]) -> None:
    lacking = [op for op in operations if not (op.body.get("tags") and op.body.get("summary"))]
    ids = Counter(op.body.get("operationId") for op in operations)
    assert (lacking, [identity for identity, times in ids.items() if times > 1]) == ([], [])
    assert None not in ids


def test_every_tag_is_described(document: dict[str, Any], operations: list[Operation]) -> None:
    described = {tag["name"] for tag in document["tags"]}
    assert {tag for op in operations for tag in op.body["tags"]} == described


def test_every_status_is_a_number(operations: list[Operation]) -> None:
    statuses = {status for op in operations for status in op.body["responses"]}
    assert {status for status in statuses if not status.isdigit()} == set()


def test_every_error_is_a_problem(operations: list[Operation]) -> None:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    others = {
        (op.body["operationId"], status): schema_of(answer, "application/problem+json")
        for op in operations
        for status, answer in op.body["responses"].items()
        if int(status) >= 400 and answer.get("content") != problem
    }
    # With the member that OpenAI's clients read.
    ours = {key: name for key, name in others.items() if name != "OpenAIProblem"}
    assert {name for name, _ in others.keys() - ours.keys()} == {
        "compact_response",
        "count_input_tokens",
    }
    # With the tool message for the model.
    assert ours == {
        ("fault_page", "404"): "PageFaultProblem",
        ("fault_page", "422"): "PageFaultRefusal",
    }


def test_binary_answers_have_the_binary_format(operations: list[Operation]) -> None:
    binary = {"schema": {"type": "string", "format": "binary"}}
    assert {
        op.body["operationId"]: [
            op.body["responses"][status]["content"] for status in ("200", "206")
        ]
        for op in operations
        if op.method == "get" and "206" in op.body["responses"]
    } == {
        "get_blob": [{"*/*": binary}] * 2,
        "get_resource_content": [{"*/*": binary}] * 2,
        "get_resource_poster": [{"image/jpeg": binary}, {"*/*": binary}],
        "download_page": [{"*/*": binary}] * 2,
    }


def test_no_word_that_generators_choke_on(document: dict[str, Any]) -> None:
    parameters = [
        entry["name"]
        for found in _values_of("parameters", document)
        for entry in found
        # The header is called by its name; generators write `range_`.
        if entry["in"] != "header"
    ]
    assert ("range" in map(str.lower, parameters), list(_values_of("itemSchema", document))) == (
        *(False, []),
    )


def schema_of(answer: dict[str, Any], media_type: str) -> str:
    """The name of the schema of an answer."""
    reference: str = answer["content"][media_type]["schema"]["$ref"]
    return reference.rpartition("/")[2]


def _values_of(key: str, value: object) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _values_of(key, item)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name == key:
                yield member
            yield from _values_of(key, member)


def test_generated_client_creates_and_reads_a_tool_result(sdk: tuple[Any, Any]) -> None:
    client, _ = sdk
    made = call(client, "tool_results.create_tool_result", body=tool_result("call-1"))
    read = call(client, "tool_results.get_tool_result", made.parsed.id)
    listed = call(client, "sessions.list_messages", "sdk")
    part = made.parsed.sanitized.parts[0]
    assert (made.status_code, read.content) == (201, made.content)
    assert read.parsed.to_dict() == made.parsed.to_dict()
    assert [item.sanitized for item in listed.parsed.items] == [made.parsed.sanitized]
    assert (type(part).__name__, str(part.media_kind.value), part.filename) == (
        *("FilePart", "video"),
        "demo.mp4",
    )


def test_generated_client_reads_the_content_of_a_resource(sdk: tuple[Any, Any]) -> None:
    client, _ = sdk
    made = call(client, "tool_results.create_tool_result", body=tool_result("call-2"))
    uri = made.parsed.sanitized.resources[0].uri
    content = call(client, "resources.get_resource_content", uri)
    assert (content.status_code, content.parsed.payload.read()) == (200, VIDEO)


def test_generated_client_writes_reads_and_faults_a_page(sdk: tuple[Any, Any]) -> None:
    client, _ = sdk
    models = part_of("models")
    draft = models.PageDraft(
        modality=models.Modality.IMAGE,
        content="https://example.com/a.png",
        caption="A cat",
    )
    made = call(client, "pages.put_page", "sdk-page", body=draft)
    listed = call(client, "pages.list_pages", modality=models.Modality.IMAGE)
    abstract = models.LevelName.ABSTRACT
    typed = call(client, "pages.get_page_content", "sdk-page", level=abstract)
    query = models.FaultRequest(target_level=models.LevelName.FULL, session_id="sdk-pages")
    message = call(client, "pages.fault_page", "sdk-page", body=query)
    again = models.FaultRequest(target_level=models.Level.FULL, session_id="sdk-pages")
    assert call(client, "pages.fault_page", "sdk-page", body=again).parsed == message.parsed
    history = call(client, "sessions.list_messages", "sdk-pages")
    assert (made.status_code, made.parsed.version) == (201, 1)
    assert [item.page_id for item in listed.parsed.items] == ["sdk-page"]
    assert (type(typed.parsed).__name__, typed.parsed.caption) == ("ImageContent", "A cat")
    assert [type(block).__name__ for block in message.parsed.content] == [
        "TextContent",
        "ImageUrlBlock",
    ]
    assert [(type(item).__name__, item.content) for item in history.parsed.items] == [
        ("PageFaultMessage", message.parsed.content)
    ] * 2
    missing = call(client, "pages.fault_page", "absent", body=query)
    assert type(missing.parsed).__name__ == "PageFaultProblem"
    assert (missing.parsed.role, missing.parsed.page_id) == ("tool", "absent")


def test_generated_client_uploads_a_file(sdk: tuple[Any, Any]) -> None:
    client, _ = sdk
    picture = media.png(32, 32)
    file = part_of("types").File(io.BytesIO(picture), "picture.png", "image/png")
    made = call(client, "resources.create_resource", body=file, filename="picture.png")
    read = call(client, "resources.get_resource_content", made.parsed.uri)
    assert (made.status_code, made.parsed.mime_type, made.parsed.filename) == (
        *(201, "image/png"),
        "picture.png",
    )
    assert read.parsed.payload.read() == picture


def test_generated_client_parses_a_problem(sdk: tuple[Any, Any]) -> None:
    client, _ = sdk
    absent = call(client, "tool_results.get_tool_result", "no-such-result")
    assert type(absent.parsed).__name__ == "Problem"
    assert (absent.parsed.status, absent.parsed.code, absent.parsed.instance) == (
        *(404, "not-found"),
        "/api/tool-results/no-such-result",
    )


def test_generated_client_without_a_key_gets_a_problem(sdk: tuple[Any, Any]) -> None:
    _, process = sdk
    with part_of("client").AuthenticatedClient(process.base_url, "pf_wrong") as stranger:
        refused = call(stranger, "resources.list_resources")
    assert (refused.status_code, refused.parsed.status) == (401, 401)
