"""Traces through a proxy: from its requests to the server behind it, and to the service."""

import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.kit.otlp_receiver import OtlpReceiver, ReceivedSpan
from tests.kit.process import COMMAND, PagefaultProcess, environment
from tests.kit.servers import with_a_database

pytestmark = [pytest.mark.anyio, pytest.mark.engines("embedded"), pytest.mark.xdist_group("heavy")]


def proxied_request(receiver: OtlpReceiver) -> tuple[ReceivedSpan, ReceivedSpan] | None:
    """Return a request of the proxy to the server, and the same one at the server."""
    spans = receiver.spans()
    of_proxy = {each.span_id: each for each in spans if each.kind == "SPAN_KIND_CLIENT"}
    for each in spans:
        if each.attributes.get("http.route") == "/mcp" and each.parent_id in of_proxy:
            return of_proxy[each.parent_id], each
    return None


async def test_trace_goes_through_the_proxy_to_the_server_behind_it(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        env = receiver.environment()
        far = PagefaultProcess(tmp_path / "far", env=env, is_installed=True)
        with far:
            near = with_a_database(tmp_path / "near")
            proxy = StdioServerParameters(
                command=sys.executable,
                args=[
                    str(COMMAND),
                    *("proxy", "--session", "near", "--data-dir", str(near)),
                    *("--upstream", f"{far.base_url}/mcp?session=far"),
                ],
                env=environment(env),
            )
            async with Client(proxy) as host:
                saved = await host.call_tool("save_page", {"content": "Ten sheep."})
            assert not saved.is_error
            sent, received = receiver.wait_for(proxied_request)
    assert sent.trace_id == received.trace_id
    assert sent.resource["service.name"] == "pagefault-proxy"
    assert received.resource["service.name"] == "pagefault"
    assert "session=far" not in receiver.text
