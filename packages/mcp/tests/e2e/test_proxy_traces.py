"""Traces through a proxy: from its requests to the server behind it, and to the service."""

import base64
import sys
from pathlib import Path
from typing import cast

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import RequestParamsMeta

from tests.kit.otlp_receiver import OtlpReceiver, ReceivedSpan
from tests.kit.process import COMMAND, PagefaultProcess, environment
from tests.kit.servers import with_a_database

pytestmark = [pytest.mark.anyio, pytest.mark.engines("embedded"), pytest.mark.xdist_group("heavy")]

_TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def is_call(span: ReceivedSpan) -> bool:
    """Return whether a span is that of a call in the proxy."""
    return (span.name, span.resource["service.name"]) == ("tools/call", "pagefault-proxy")


def trace_of_call(receiver: OtlpReceiver) -> list[ReceivedSpan] | None:
    """Return the trace of a call, once both services have sent their spans of it."""
    spans = receiver.spans()
    for call in spans:
        if is_call(call):
            trace = [span for span in spans if span.trace_id == call.trace_id]
            served = [item for item in trace if "http.route" in item.attributes]
            if len({item.resource["service.instance.id"] for item in served}) > 1:
                return trace
    return None


@pytest.mark.slow
async def test_call_through_a_proxy_is_one_trace_at_both_services(
    tmp_path: Path,
) -> None:
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
                saved = await host.call_tool(
                    "save_page",
                    {"content": "Ten sheep."},
                    meta=cast(RequestParamsMeta, {"traceparent": _TRACEPARENT}),
                )
            assert not saved.is_error
            trace = receiver.wait_for(trace_of_call)
    (call,) = filter(is_call, trace)
    assert call.attributes == {"gen_ai.tool.name": "save_page"}
    ids = [base64.b64decode(item).hex() for item in (call.trace_id, call.parent_id)]
    assert f"00-{ids[0]}-{ids[1]}-01" == _TRACEPARENT
    sent = {item.span_id: item for item in trace if item.kind == "SPAN_KIND_CLIENT"}
    sent = {key: value for key, value in sent.items() if value.parent_id == call.span_id}
    assert {item.resource["service.name"] for item in sent.values()} == {"pagefault-proxy"}
    served = [item for item in trace if "http.route" in item.attributes]
    assert {item.parent_id for item in served} <= sent.keys()
    assert {item.resource["service.name"] for item in served} == {"pagefault"}
    assert "/mcp" in {item.attributes["http.route"] for item in served}
    assert "session=far" not in receiver.text
    assert "Ten sheep" not in receiver.text
