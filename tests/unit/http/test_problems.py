import ast
import json
from typing import Annotated, Literal
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs

from app.errors import (
    ConflictError,
    DigestMismatchError,
    InvalidCursorError,
    MalformedRequestError,
    MemoryExhaustedError,
    NotFoundError,
    RangeNotSatisfiableError,
    ServiceError,
    StoreFullError,
    StoreUnavailableError,
    UnauthorizedError,
)
from app.http.problem_pages import PROBLEM_SUBCODES, format_errors_markdown, list_problem_types
from app.http.problem_types import (
    PROBLEMS_PATH,
    build_problem_response,
    describe_errors,
    find_problem_type,
)
from app.http.problems import install_problem_handlers
from app.telemetry.metrics import Metrics
from app.wire.problem import PROBLEM_REFERENCE, build_problem_components
from app.wiring.services import Services
from pagefault_dialects.errors import (
    Fault,
    InvalidPayloadError,
    PagefaultError,
    PayloadTooLargeError,
)
from tests.kit.sources import sources

BUNDLED = ("session", "page", "tool-result", "message", "interaction")
"""Return the conflicts of an import, whose codes are joined."""


class BlobLostError(StoreUnavailableError):
    """An error of an adapter, with a code of its own and no row."""

    code = "blob-lost"


class UnlistedError(PagefaultError):
    """An error whose parents have no row either."""


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: int


class Square(BaseModel):
    kind: Literal["square"]
    side: int


class Drawing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    shape: Annotated[Circle | Square, Field(discriminator="kind")] | None = None
    owner: UUID | None = None
    tags: list[int] = []


RAISED: dict[str, Exception] = {
    "missing": NotFoundError("page"),
    "conflict": ConflictError("It differs.", code="still-referenced"),
    "unauthorized": UnauthorizedError(),
    "range": RangeNotSatisfiableError(100),
    "memory": MemoryExhaustedError(),
    "unavailable": StoreUnavailableError("database"),
    "full": StoreFullError(),
    "blob": BlobLostError("blob store"),
    "unlisted": UnlistedError("Not for the caller."),
    "broken": ZeroDivisionError("secret"),
    "framework": HTTPException(500, "secret"),
    "teapot": HTTPException(418, "secret"),
    "nonsense": HTTPException(499, "secret"),
    "gone": ClientDisconnect(),
    "surrogate": MalformedRequestError("It says \ud800."),
    "faults": InvalidPayloadError(
        "Two faults.", faults=[Fault("/\ud800", "It is \udfff."), Fault("/b", "Too long.")]
    ),
}


def make_app() -> FastAPI:
    app = FastAPI()
    install_problem_handlers(app)

    @app.get("/raise/{name}")
    async def raise_error(request: Request, name: str) -> None:
        request.state.request_id = "req-1"
        raise RAISED[name]

    @app.post("/drawings")
    async def create_drawing(
        drawing: Drawing, limit: Annotated[int, Query(le=200)] = 50
    ) -> None: ...

    return app


def with_metrics(served: FastAPI, metrics: Metrics) -> ASGIApp:
    """The application as it is served: with services, of which problems use the metrics."""
    services = Services((), {Metrics: metrics})

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = {"services": services}
        await served(scope, receive, send)

    return serve


async def ask(method: str, path: str, content: bytes | None = None) -> httpx.Response:
    transport = httpx.ASGITransport(make_app(), raise_app_exceptions=False)
    headers = {"content-type": "application/json"}
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        response = await client.request(method, path, content=content, headers=headers)
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    assert len(response.content) < 8 * 1024
    return response


def problem(status: int, type_code: str, title: str, detail: str, **more: object) -> object:
    return {
        "type": f"/docs/errors#{type_code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": type_code,
        "requestId": "req-1",
    } | more


UNAVAILABLE = "The blob store did not answer, so nothing was stored. Send the same request again."
INTERNAL = problem(
    500,
    "internal-error",
    "Something went wrong inside the service",
    "The service failed on this request. It was logged under the request id.",
)

PROBLEMS = {
    "missing": problem(404, "not-found", "Not found", NotFoundError("page").detail),
    "conflict": problem(
        409,
        "conflict",
        "The request contradicts what is stored",
        "It differs.",
        code="still-referenced",
    ),
    "blob": problem(
        503, "store-unavailable", "A store did not answer", UNAVAILABLE, code="blob-lost"
    ),
    "unlisted": INTERNAL,
    "broken": INTERNAL,
    "framework": INTERNAL,
    "teapot": problem(418, "i-m-a-teapot", "I'm a Teapot", "I'm a Teapot.", type="about:blank"),
    "nonsense": problem(499, "error", "Error", "Error.", type="about:blank"),
    "gone": problem(
        400,
        "malformed-request",
        "The request cannot be read",
        "The body ended before it was complete.",
    ),
    "surrogate": problem(400, "malformed-request", "The request cannot be read", "It says \ufffd."),
    "faults": problem(
        422,
        "invalid-payload",
        "The request is not what the route takes",
        "Two faults.",
        errors=[
            {"pointer": "/\ufffd", "detail": "It is \ufffd."},
            {"pointer": "/b", "detail": "Too long."},
        ],
    ),
}

EXTRA_HEADERS = {
    "unauthorized": ("www-authenticate", "Bearer"),
    "range": ("content-range", "bytes */100"),
    "unavailable": ("retry-after", "1"),
    "blob": ("retry-after", "1"),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "expected"), PROBLEMS.items())
async def test_every_error_becomes_a_problem(name: str, expected: dict[str, object]) -> None:
    with capture_logs():
        response = await ask("GET", f"/raise/{name}")
    assert response.json() == expected | {"instance": f"/raise/{name}"}
    assert response.status_code == expected["status"]


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "header"), EXTRA_HEADERS.items())
async def test_an_error_carries_the_header_its_status_needs(
    name: str, header: tuple[str, str]
) -> None:
    response = await ask("GET", f"/raise/{name}")
    assert response.headers[header[0]] == header[1]


@pytest.mark.anyio
async def test_a_full_store_is_not_to_be_asked_again_at_once() -> None:
    response = await ask("GET", "/raise/full")
    assert (response.status_code, response.headers.get("retry-after")) == (507, None)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["broken", "framework", "unlisted"])
async def test_a_fault_of_the_service_is_logged_under_the_request_id(name: str) -> None:
    with capture_logs() as logs:
        await ask("GET", f"/raise/{name}")
    assert logs == [
        {
            "event": "request_failed",
            "log_level": "error",
            "request_id": "req-1",
            "exc_info": RAISED[name],
        }
    ]


@pytest.mark.anyio
async def test_what_the_caller_did_wrong_is_not_logged() -> None:
    with capture_logs() as logs:
        await ask("GET", "/raise/missing")
    assert logs == []


@pytest.mark.anyio
async def test_an_unknown_path_is_a_problem() -> None:
    response = await ask("GET", "/no/such%0A%C3%A9%25path?token=secret")
    assert response.json() == problem(
        404,
        "no-such-route",
        "There is nothing at this address",
        "There is nothing at this address.",
        instance="/no/such%0A%C3%A9%25path",
        requestId="-",
    )


@pytest.mark.anyio
async def test_a_long_path_is_shortened_to_a_valid_reference() -> None:
    response = await ask("GET", "/" + "%C3%A9" * 1000)
    assert response.json()["instance"] == "/" + "%C3%A9" * 85


@pytest.mark.anyio
async def test_a_wrong_method_is_a_problem_that_says_which_are_right() -> None:
    response = await ask("DELETE", "/drawings")
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert response.json()["code"] == "method-not-allowed"


BODY_FAULTS = {
    b'{"tags":[1,"x"]}': ("/tags/1", "unable to parse"),
    b'{"shape":{"kind":"\\ud800"}}': ("/shape", "one of 'circle', 'square'"),
    b'{"owner":"\\ud800"}': ("/owner", "valid"),
    b'{"a/b~c":1}': ("/a~1b~0c", "not permitted"),
    b'{"\\ud800":1}': ("", "unicode string"),
    b"{": ("", "JSON decode error"),
    b"NaN": ("", "be an object"),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("body", "fault"), BODY_FAULTS.items())
async def test_a_body_that_does_not_fit_is_pointed_into(
    body: bytes, fault: tuple[str, str]
) -> None:
    response = await ask("POST", "/drawings", body)
    assert response.status_code == 422
    [error] = response.json()["errors"]
    assert error["pointer"] == fault[0]
    assert fault[1] in error["detail"]


@pytest.mark.anyio
async def test_a_parameter_that_does_not_fit_is_pointed_at() -> None:
    response = await ask("POST", "/drawings?limit=1000", b"{}")
    assert response.json()["errors"] == [
        {"pointer": "/query/limit", "detail": "Input should be less than or equal to 200"}
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "body",
    [
        b'{"tags":["canary-value"]}',
        b'{"owner":"canary-value"}',
        b'{"shape":{"kind":"canary-value"}}',
        b'{"shape":{"kind":"circle","radius":"canary-value"}}',
        b'"canary-value"',
    ],
)
async def test_the_input_is_never_echoed(body: bytes) -> None:
    response = await ask("POST", "/drawings", body)
    assert response.status_code == 422
    assert "canary" not in response.text


@pytest.mark.anyio
async def test_at_most_twenty_faults_are_listed() -> None:
    response = await ask("POST", "/drawings", json.dumps({"tags": ["x"] * 1000}).encode())
    assert [error["pointer"] for error in response.json()["errors"]] == [
        f"/tags/{index}" for index in range(20)
    ]
    assert "1000" in response.json()["detail"]


@pytest.mark.anyio
async def test_many_long_names_still_make_a_small_problem() -> None:
    names = {f"{index:02}" + "\x01" * 190: 1 for index in range(30)}
    response = await ask("POST", "/drawings", json.dumps(names).encode())
    assert 1 <= len(response.json()["errors"]) < 20


@pytest.mark.anyio
async def test_a_pointer_that_is_too_long_is_cut_back_to_an_ancestor() -> None:
    response = await ask("POST", "/drawings", json.dumps({"x" * 10_000: 1}).encode())
    assert [error["pointer"] for error in response.json()["errors"]] == [""]


def domain_errors(error_class: type[PagefaultError] = PagefaultError) -> list[type[PagefaultError]]:
    below = [
        domain_error
        for child in error_class.__subclasses__()
        for domain_error in domain_errors(child)
    ]
    return [
        subclass
        for subclass in (*error_class.__subclasses__(), *below)
        if subclass is not ServiceError
    ]


def test_every_error_of_the_domain_has_a_row_of_its_own() -> None:
    homes = {"app.errors", "pagefault_dialects.errors"}
    domain = [domain_error for domain_error in domain_errors() if domain_error.__module__ in homes]
    assert {item.__module__ for item in domain} == homes
    assert [item for item in domain if find_problem_type(item).code != item.code] == []


def test_every_error_of_an_adapter_has_a_row_above_it() -> None:
    packages = ("app.", "pagefault_bundles.", "pagefault_dialects.", "pagefault_doctor.")
    adapters = [
        domain_error
        for domain_error in domain_errors()
        if domain_error.__module__.startswith(packages)
    ]
    assert [
        adapter for adapter in adapters if find_problem_type(adapter).code == "internal-error"
    ] == []


def test_an_error_outside_the_handlers_can_be_rendered() -> None:
    response = build_problem_response(
        PayloadTooLargeError("Too many bytes."), instance="/api/resources", request_id="req-1"
    )
    assert json.loads(bytes(response.body)) == problem(
        413, "payload-too-large", "Too large", "Too many bytes.", instance="/api/resources"
    )


def test_routes_declare_one_entry_for_each_status() -> None:
    content = {"application/problem+json": {"schema": PROBLEM_REFERENCE}}
    assert describe_errors(
        NotFoundError, InvalidCursorError, DigestMismatchError, InvalidCursorError
    ) == {
        400: {
            "description": "The cursor is not valid; or: The digest does not match",
            "content": content,
        },
        404: {"description": "Not found", "content": content},
    }


def test_the_declared_schema_exists_and_requires_all_but_the_faults() -> None:
    components = build_problem_components()
    assert set(components) == {
        *("Problem", "ProblemFault", "PageFaultProblem", "PageFaultRefusal"),
        *("OpenAIProblem", "OpenAIError"),
    }
    assert components["Problem"]["required"] == [
        "type",
        "title",
        "status",
        "detail",
        "instance",
        "code",
        "requestId",
    ]
    items = components["Problem"]["properties"]["errors"]["items"]
    assert items == {"$ref": "#/components/schemas/ProblemFault"}


def test_every_kind_of_problem_is_explained_once() -> None:
    kinds = list_problem_types()
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert [kind for kind in kinds if not kind.meaning] == []
    headings = [
        line[3:] for line in format_errors_markdown().splitlines() if line.startswith("## ")
    ]
    assert headings == codes


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A refusal for lack of memory says so and is counted",
    kept_by="app/http/problems.py",
    tried="503 `memory-exhausted`",
)
@pytest.mark.anyio
async def test_refusal_for_want_of_memory_says_so_and_is_counted() -> None:
    metrics = Metrics()
    transport = httpx.ASGITransport(with_metrics(make_app(), metrics))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        refused = await client.get("/raise/memory")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    record = refused.json()
    assert (record["type"], record["code"]) == ("/docs/errors#memory-exhausted", "memory-exhausted")
    assert "memory" in record["detail"]
    assert b"\npagefault_memory_refusals_total 1.0\n" in metrics.exposition()


@pytest.mark.slow
def test_every_narrower_code_is_explained_below_its_kind() -> None:
    explained = {code for codes in PROBLEM_SUBCODES.values() for code in codes}
    kinds = {kind.code for kind in list_problem_types()}
    assert set(PROBLEM_SUBCODES) <= kinds
    assert explained == raised_codes() - kinds
    page = format_errors_markdown()
    assert [code for code in explained if f"\n- `{code}`: " not in page] == []


def raised_codes() -> set[str]:
    """The codes that an error is given somewhere in the service: by its class, or where it is."""
    trees = [ast.parse(text) for _, text in sources()]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = [node for node in nodes if isinstance(node, ast.Call | ast.ClassDef)]
    values = [keyword.value for node in named for keyword in node.keywords if keyword.arg == "code"]
    said = {value.value for value in values if isinstance(value, ast.Constant)}
    return {code for code in said if isinstance(code, str)} | {f"{noun}-exists" for noun in BUNDLED}


@pytest.mark.anyio
async def test_the_type_of_every_problem_leads_to_its_explanation() -> None:
    transport = httpx.ASGITransport(make_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        page = await client.get(PROBLEMS_PATH)
    assert page.status_code == 200
    fragments = [kind.type.removeprefix(f"{PROBLEMS_PATH}#") for kind in list_problem_types()]
    assert [fragment for fragment in fragments if f'id="{fragment}"' not in page.text] == []
