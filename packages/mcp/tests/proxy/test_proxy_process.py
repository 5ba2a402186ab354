"""A service at a URL, where the environment keeps a client of it from being made."""

import httpx
import pytest

from pagefault_dialects.model.render_options import RenderOptions
from pagefault_mcp.proxy.proxy_process import HostOptions, make_remote_service
from pagefault_mcp.service_client.service_exchange import ServiceRequestError
from pagefault_mcp.service_client.service_store import StoredResult


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "value"), [("SSL_CERT_FILE", "/nowhere.pem"), ("HTTPS_PROXY", "ftp://127.0.0.1")]
)
async def test_client_that_cannot_be_made_fails_each_result_alone_and_says_why(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    warned: list[str] = []
    host = HostOptions(RenderOptions(), prefix=None)
    url = httpx.URL("https://user:secret@service.example")
    service = make_remote_service(url, httpx.Headers(), "demo", host, warned.append)
    async with service.connected():
        with pytest.raises(
            ServiceRequestError, match=r"https://service\.example cannot be reached: "
        ):
            await service.store.render(StoredResult("1", is_changed=True), "2025-06-18")
        await service.check(service.store.client)
    warnings = "\n".join(warned)
    assert "Results are passed on and not stored until it takes them." in warnings
    assert "secret" not in warnings
