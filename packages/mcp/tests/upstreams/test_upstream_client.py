"""The HTTP client of a server follows redirects on its own origin only."""

import httpx
import pytest

from pagefault_mcp.upstreams.server_connections import UpstreamClient

pytestmark = [pytest.mark.engines("embedded"), pytest.mark.anyio]

HERE = "http://here.example/mcp"
OK = httpx.Response(200)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("status", "location", "expected", "answered"),
    [
        (307, "/mcp/", [("POST", HERE), ("POST", f"{HERE}/")], 200),
        (308, f"{HERE}/", [("POST", HERE), ("POST", f"{HERE}/")], 200),
        (302, "/mcp/", [("POST", HERE)], 302),
        (307, "https://here.example/mcp", [("POST", HERE)], 307),
        (307, "http://here.example:81/mcp", [("POST", HERE)], 307),
        (307, "http://there.example/mcp", [("POST", HERE)], 307),
        (307, "/mcp", [("POST", HERE)] * 6, 307),
    ],
)
async def test_message_goes_on_to_the_origin_that_it_was_for_and_to_no_other(
    status: int, location: str, expected: list[tuple[str, str]], answered: int
) -> None:
    sent: list[tuple[str, str, bytes, str]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        key = request.headers["x-key"]
        sent.append((request.method, str(request.url), request.content, key))
        is_here = str(request.url) == HERE
        return httpx.Response(status, headers={"location": location}) if is_here else OK

    transport = httpx.MockTransport(handle)
    async with UpstreamClient(headers={"x-key": "secret"}, transport=transport) as client:
        answer = await client.post(HERE, content=b"{}")
    assert answer.status_code == answered
    assert sent == [(*item, b"{}", "secret") for item in expected]
