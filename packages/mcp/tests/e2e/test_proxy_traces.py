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
            trace = [each for each in spans if each.trace_id == call.trace_id]
            served = [each for each in trace if "http.route" in each.attributes]
            if len({each.resource["service.instance.id"] for each in served}) > 1:
                return trace
    return None


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
    ids = [base64.b64decode(each).hex() for each in (call.trace_id, call.parent_id)]
    assert f"00-{ids[0]}-{ids[1]}-01" == _TRACEPARENT
    sent = {each.span_id: each for each in trace if each.kind == "SPAN_KIND_CLIENT"}
    sent = {key: each for key, each in sent.items() if each.parent_id == call.span_id}
    assert {each.resource["service.name"] for each in sent.values()} == {"pagefault-proxy"}
    served = [each for each in trace if "http.route" in each.attributes]
    assert {each.parent_id for each in served} <= sent.keys()
    assert {each.resource["service.name"] for each in served} == {"pagefault"}
    assert "/mcp" in {each.attributes["http.route"] for each in served}
    assert "session=far" not in receiver.text
    assert "Ten sheep" not in receiver.text
