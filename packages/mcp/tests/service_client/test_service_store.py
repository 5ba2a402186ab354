"""A service that answers oddly where results are kept: words, and no error of another kind."""

import httpx
import pytest

from pagefault_dialects.model.render_options import RenderOptions
from pagefault_mcp.service_client.service_exchange import ServiceRefusedError, ServiceRequestError
from pagefault_mcp.service_client.service_store import ServiceStore, StoredResult, parse_detail

pytestmark = pytest.mark.engines("embedded")


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (b'{"detail": "It is\\nwrong."}', "It is wrong."),
        (b'{"detail": 1e999}', "inf"),
        (b"[]", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
    ],
)
def test_detail_is_read_where_there_is_one(answer: bytes, detail: str | None) -> None:
    assert parse_detail(httpx.Response(500, content=answer)) == detail


@pytest.mark.anyio
async def test_id_that_is_in_no_address_is_a_failure_in_words() -> None:
    async with httpx.AsyncClient(base_url="http://127.0.0.1:1") as client:
        store = ServiceStore(client, "demo", RenderOptions(), None, "the service")
        with pytest.raises(ServiceRequestError, match="its address is not valid"):
            await store.render(StoredResult("\x00", is_changed=True), "2025-06-18")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "is_sure"), [(413, True), (503, True), (500, False), (502, False), (504, False)]
)
async def test_gateway_that_gives_up_does_not_say_that_nothing_was_done(
    status: int, *, is_sure: bool
) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(status))
    async with httpx.AsyncClient(base_url="http://service", transport=transport) as client:
        store = ServiceStore(client, "demo", RenderOptions(), None, "the service")
        with pytest.raises(ServiceRequestError) as refused:
            await store.render(StoredResult("1", is_changed=True), "2025-06-18")
    assert isinstance(refused.value, ServiceRefusedError) == is_sure


@pytest.mark.anyio
async def test_service_of_an_earlier_version_is_told_of() -> None:
    problem = {"detail": "The body is not a tool result."}
    transport = httpx.MockTransport(lambda _: httpx.Response(422, json=problem))
    async with httpx.AsyncClient(base_url="http://service", transport=transport) as client:
        store = ServiceStore(client, "demo", RenderOptions(), None, "the service")
        with pytest.raises(
            ServiceRefusedError, match=r"tool result\. The service may be of an earlier version"
        ):
            await store.render(StoredResult("1", is_changed=True), "2025-06-18")
