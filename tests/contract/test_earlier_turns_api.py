"""A session rendered as it was at an earlier turn."""

import httpx

from tests.contract.render_requests import SESSION_RENDER, rendering
from tests.contract.session_requests import append, call_tool


def test_session_is_rendered_as_it_was_at_an_earlier_turn(client: httpx.Client) -> None:
    query: dict[str, str | int] = {"target": "openai-chat", "maxTokens": 2_000}
    then: list[bytes] = []
    for number in range(1, 4):
        assert append(client, role="user", content=f"Line {number}.").status_code == 201
        then.append(client.get(SESSION_RENDER, params=query).content)
    call_tool(client, "c")
    then.append(client.get(SESSION_RENDER, params=query).content)
    now = [
        client.get(SESSION_RENDER, params={**query, "upTo": number}).content
        for number in range(1, 6)
    ]
    assert now == [*then, then[-1]]
    nothing = rendering(client, SESSION_RENDER, "openai-chat", upTo=0)
    assert (nothing["messages"], nothing["lastSeq"]) == ([], 0)
    refused = client.get(SESSION_RENDER, params={**query, "upTo": -1})
    assert refused.status_code == 422
