"""The package beside the service it belongs to."""

import json
import re
import tomllib

import httpx
import pytest

import pagefault_client
from clients.python.tests.servers import ROOT
from pagefault_client import errors, operations


def test_version_is_that_of_the_service() -> None:
    version = re.search(r'VERSION = "(.+)"', (ROOT / "app" / "version.py").read_text())
    assert version is not None
    assert pagefault_client.__version__ == version[1]


def test_every_operation_of_the_document_is_there() -> None:
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    named = {
        operation["operationId"]
        for item in document["paths"].values()
        for method, operation in item.items()
        if method in {"get", "head", "post", "put", "patch", "delete", "options"}
    }
    assert {name for name in named if not hasattr(operations, name)} == set()


def test_every_status_of_the_service_is_an_error_of_its_kind() -> None:
    listed = re.findall(r"^\*\*(\d{3})\*\*", (ROOT / "docs" / "errors.md").read_text(), re.M)
    assert set(map(int, listed)) > {400, 404, 409, 429, 503}
    for status in map(int, listed):
        made = errors.problem_of(httpx.Response(status, json={"code": "x"}))
        base_class = errors.InternalServerError if status >= 500 else errors.APIStatusError
        assert isinstance(made, base_class)
        assert (made.status_code, made.code) == (status, "x")


@pytest.mark.parametrize("name", ["openai-agents", "langchain", "pydantic-ai", "mcp", "fsspec"])
def test_every_extra_is_declared(name: str) -> None:
    declared = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())
    assert name in declared["project"]["optional-dependencies"]
