"""An agent that looks into a shop's failing checkout: what it writes, and its pages.

Every kind of entry that a history has is in it, and every way in which media come to a record.
"""

from collections.abc import Callable, Sequence
from typing import Any

import httpx

from tests.browser import drawings
from tests.contract.page_requests import data_uri, put
from tests.contract.render_cases import audio_block, file_block, image_block
from tests.kit import media
from tests.kit.media import b64

SESSION = "checkout-regression"
CHART_PAGE = "latency-chart"

Write = Callable[[httpx.Client], httpx.Response]

_LOG = "\n".join(
    f"12:0{number // 60}:{number % 60:02} payment-gateway POST /v1/charges {status}"
    for number in range(60)
    for status in (200 if number % 7 else 402,)
)
_ORDER = {"order": "K-20418", "total": "353.40", "currency": "EUR", "items": 3, "paid": False}
_PIXEL = b64(media.png(1, 1))


def tool_result(
    tool: str, call_id: str, result: object, *, session_id: str = SESSION, success: bool = True
) -> Write:
    """A tool result, to be written."""
    body = {
        "toolName": tool,
        "toolCallId": call_id,
        "sessionId": session_id,
        "success": success,
        "result": result,
    }
    return lambda client: client.post("/api/tool-results", json=body)


def message(role: str, content: object, *, session_id: str = SESSION, **more: object) -> Write:
    """A message of a conversation, to be written."""
    return any_message({"role": role, "content": content, **more}, session_id=session_id)


def any_message(body: object, *, session_id: str = SESSION) -> Write:
    """A message of any dialect, to be written."""
    return lambda client: client.post(f"/api/sessions/{session_id}/messages", json=body)


def content(*blocks: dict[str, Any], **more: object) -> dict[str, Any]:
    """Return a result of MCP."""
    return {"content": list(blocks), **more}


def text(words: str) -> dict[str, str]:
    """A block of text."""
    return {"type": "text", "text": words}


def written(client: httpx.Client, writes: Sequence[Write]) -> None:
    """Write one after the other."""
    for write in writes:
        answer = write(client)
        assert answer.is_success, answer.text[:500]


def written_turn(client: httpx.Client, texts: Sequence[str]) -> None:
    """Write messages of the user, a hundred at once."""
    for start in range(0, len(texts), 100):
        entries = [
            {"message": {"role": "user", "content": text}} for text in texts[start : start + 100]
        ]
        answer = client.post(f"/api/sessions/{SESSION}/turns", json={"entries": entries})
        assert answer.is_success, answer.text[:500]


def _fault(client: httpx.Client) -> httpx.Response:
    put_pages(client)
    body = {"session_id": SESSION, "target_level": 0, "tool_call_id": "call_fault"}
    return client.post(f"/api/pages/{CHART_PAGE}/fault", json=body)


def _interaction(client: httpx.Client) -> httpx.Response:
    kept = client.post(
        "/api/resources", content=drawings.latency_chart(), params={"filename": "latency.png"}
    ).json()
    part = {
        "text": "Is this what you saw?",
        "attachments": [{"id": f"@{kept['uri']}", "mime_type": "image/png"}],
    }
    route = f"/api/sessions/{SESSION}/interactions"
    response = client.post(route, json={"input": {"parts": [part]}})
    assert response.is_success, response.text[:500]
    answer = {"role": "assistant", "content": "Yes: the latency doubled at 13:00."}
    return client.put(f"{route}/{response.json()['id']}/output", json=answer)


OPENING: Sequence[Write] = (
    message("user", "Checkout fails for some customers since noon. Find out why."),
    message(
        "assistant",
        "I will open the checkout page and try an order.",
        tool_calls=[
            {
                "id": "call_open",
                "type": "function",
                "function": {
                    "name": "browser.open",
                    "arguments": '{"url": "https://shop.example/checkout", "wait": "load"}',
                },
            }
        ],
    ),
    tool_result(
        "browser.open",
        "call_open",
        content(
            text("Opened https://shop.example/checkout in 412 ms."),
            image_block(drawings.checkout_page()),
            structuredContent={"url": "https://shop.example/checkout", "status": 200},
        ),
    ),
)

SEARCH: Sequence[Write] = (
    tool_result(
        "browser.record",
        "call_click",
        content(
            text("Clicked “Place order” and recorded it."),
            file_block("click.mp4", drawings.click_clip(), "video/mp4"),
        ),
    ),
    tool_result(
        "browser.screenshot",
        "call_declined",
        content(text("The order was declined."), image_block(drawings.failed_checkout_page())),
        success=False,
    ),
    tool_result("logs.read", "call_logs", content(text(_LOG))),
    tool_result(
        "support.hotline",
        "call_audio",
        content(
            audio_block(media.wav(2.0), "audio/wav"),
            file_block("order.json", b'{"order": "K-20418"}' * 80, "application/json"),
            {"type": "image", "data": "not base64 at all!", "mimeType": "image/png"},
        ),
    ),
    _fault,
    _interaction,
)

ODDITIES: Sequence[Write] = (
    message("tool", [text("Order K-20418 is open."), _ORDER], tool_call_id="call_order"),
    message(
        "user",
        [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}},
            {"type": "image_url", "image_url": {"url": "https://pictures.example/till.png"}},
            {"type": "tool_use", "id": "t1", "name": "orders.find", "input": {"id": 20418}},
            {"type": "tool_result", "content": [text("None found.")], "is_error": True},
        ],
    ),
    message("system", None),
    lambda client: client.post(
        f"/api/sessions/{SESSION}/interactions",
        json={
            "input": "Refund it?",
            "output": {"role": "assistant", "content": "Not before the order was found."},
        },
    ),
    lambda client: client.post(
        f"/api/sessions/{SESSION}/interactions", json={"input": {"form": _ORDER}}
    ),
)

EVERYTHING: Sequence[Write] = (*OPENING, *SEARCH, *ODDITIES)
# One of them, the fault, makes two.
ENTRIES = len(EVERYTHING) + 1


def put_pages(client: httpx.Client) -> None:
    """A page of every modality; the chart's shows in each dialect what is lost of it."""
    put(
        client,
        CHART_PAGE,
        modality="image",
        content=data_uri(drawings.latency_chart(), "image/png"),
        caption="p95 latency of the checkout by the hour; it doubles at 13:00.",
        hint="Latency before and after the certificate was changed",
        session_id=SESSION,
        pinned=True,
    )
    put(
        client,
        "gateway-runbook",
        content="When charges fail with 402, look at the expiry of the gateway's certificate.\n"
        "Then call the provider.",
        page_type="artifact",
        hint="What to do when the gateway declines",
        session_id=SESSION,
    )
    put(
        client,
        "order-k-20418",
        modality="structured",
        content=_ORDER,
        schema_name="order",
        session_id=SESSION,
    )
    put(
        client,
        "hotline-call",
        modality="audio",
        content=data_uri(media.wav(2.0), "audio/wav"),
        transcript="It says my card has expired, but it has not.",
        session_id=SESSION,
    )
    put(
        client,
        "click-recording",
        modality="video",
        content=data_uri(drawings.click_clip(), "video/mp4"),
        scenes=["The basket", {"start": 1.0, "end": 2.0, "summary": "The pointer at the button"}],
        caption="The order being placed",
        session_id=SESSION,
    )
