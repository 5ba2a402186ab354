"""Requests made from the OpenAPI document, as it says and as it does not, and what becomes of them.

`TORTURE=long` tries 5,000 of them, each on both engines. Streams have no end, and a page may be a
URL whose file the service would fetch, so those routes are left to tests of their own.
"""

import os
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import httpx
import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import strategies
from schemathesis import APIOperation, Case, GenerationMode, checks
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.kit.described_api import api_document

pytestmark = pytest.mark.xdist_group("both engines")

Operation: TypeAlias = APIOperation[Any, Any, Any, Any]

IS_LONG = os.environ.get("TORTURE") == "long"
ELSEWHERE = ("/api/pages/{page_id}/download", "/api/events", "/api/sessions/{session_id}/events")
PROMISES = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    ignored_auth,
]
DOCUMENT = api_document()
OPERATIONS = [
    operation
    for result in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()
    if isinstance(result, Ok) and (operation := result.ok()).path not in ELSEWHERE
]
EXAMPLES = 5_000 // len(OPERATIONS) + 1 if IS_LONG else 2


@schemathesis.serializer("application/zip", "application/offset+octet-stream")
def as_it_is(_: schemathesis.SerializationContext, value: object) -> bytes:
    """A body that is a file."""
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.fixture(scope="module")
def connection() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Every answer to any request is one that the OpenAPI document lists",
    kept_by="app/routers",
    tried="62 operations; 5,000 requests with `TORTURE=long`",
)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_request_is_answered_as_documented(
    both: tuple[httpx.Client, httpx.Client], connection: requests.Session, operation: Operation
) -> None:
    @hypothesis.settings(
        max_examples=EXAMPLES,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(strategies.one_of(*(operation.as_strategy(mode) for mode in GenerationMode)))
    def ask(case: Case[Any]) -> None:
        for client in both:
            headers = {"Authorization": client.headers["authorization"]}
            answer = case.call(base_url=str(client.base_url), headers=headers, session=connection)
            case.validate_response(answer, PROMISES, headers=headers)

    ask()


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_method_that_is_not_taken_is_told_those_of_the_document(
    both: tuple[httpx.Client, httpx.Client], path: str
) -> None:
    documented = ", ".join(sorted(DOCUMENT["paths"][path])).upper()
    refused = [client.request("PROPFIND", re.sub("{.*?}", "0", path)) for client in both]
    assert [(answer.status_code, answer.headers["allow"]) for answer in refused] == [
        (405, documented)
    ] * 2


def test_problem_may_have_more_members_than_are_documented(
    both: tuple[httpx.Client, httpx.Client],
) -> None:
    problems = [client.post("/api/pages/absent/fault", json={}).json() for client in both]
    described = DOCUMENT["components"]["schemas"]["Problem"]
    assert [problem.keys() > set(described["required"]) for problem in problems] == [True, True]
    assert "additionalProperties" not in described
