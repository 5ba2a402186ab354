"""`/v1/responses/compact` and `/v1/responses/input_tokens`, called with the client of OpenAI."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import openai
import pytest
from openai.types.responses import CompactedResponse, ResponseCompactionItem
from openai.types.responses.input_token_count_response import InputTokenCountResponse
from openai.types.responses.response_input_message_item import ResponseInputMessageItem
from openai.types.responses.response_usage import ResponseUsage

from app.models.identity import utc_now
from app.services.access.callers import LinkSigner
from app.services.agents.compacted_beginnings import CompactionGrant
from app.wiring.open_stores import read_signing_keys
from tests.kit.media import b64, png
from tests.kit.servers import LiveService

Json = dict[str, Any]

MODEL = "gpt-6-astra"
PICTURE = f"data:image/png;base64,{b64(png(64, 64))}"
LONG = "word " * 4_000
STEP: list[Json] = [
    {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": LONG},
]
SHOWN = {
    "role": "user",
    "content": [
        {"type": "input_text", "text": "And on this?"},
        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
    ],
}
REPLY = {"role": "assistant", "content": [{"type": "output_text", "text": "A cat."}]}
HISTORY: list[Json] = [
    {"role": "developer", "content": "Be short."},
    {"role": "user", "content": "What is on the page?"},
    *STEP,
    REPLY,
    SHOWN,
]
SHORT: list[Json] = [{"role": "user", "content": "Another one."}]


@dataclass(frozen=True)
class Caller:
    """A project, called with OpenAI's client and with plain HTTP."""

    http: httpx.Client
    openai: openai.OpenAI

    def compact(self, items: object, **options: object) -> CompactedResponse:
        call: Callable[..., CompactedResponse] = self.openai.responses.compact
        return call(model=MODEL, input=items, **options)

    def count(self, items: object, **options: object) -> int:
        call: Callable[..., InputTokenCountResponse] = self.openai.responses.input_tokens.count
        counted = call(model=MODEL, input=items, **options)
        InputTokenCountResponse.model_validate(counted.model_dump(), strict=True)
        return counted.input_tokens

    def sessions(self) -> list[Json]:
        return list(self.http.get("/api/sessions").raise_for_status().json()["items"])

    def entries(self, session_id: str) -> list[Json]:
        answer = self.http.get(f"/api/sessions/{session_id}/messages").raise_for_status()
        return list(answer.json()["items"])

    def put(self, session_id: str, items: list[Json]) -> httpx.Response:
        return self.http.put(f"/api/sessions/{session_id}/history", json={"input": items})


@contextmanager
def new_caller(service: LiveService) -> Iterator[Caller]:
    """Return a caller with a project of its own."""
    key = service.new_key()
    with (
        service.client(key) as http,
        openai.OpenAI(
            base_url=f"{service.base_url}/v1",
            api_key=key,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(trust_env=False),
        ) as client,
    ):
        yield Caller(http, client)


@pytest.fixture
def caller(service: LiveService) -> Iterator[Caller]:
    with new_caller(service) as caller:
        yield caller


def items_of(compacted: CompactedResponse) -> list[Json]:
    """Return the items to send in the next request."""
    # The union of output items has no message of the user.
    return [item.model_dump(exclude_unset=True, warnings=False) for item in compacted.output]


def without_ids(entry: Json) -> Json:
    """Return an entry without its id and time."""
    return {name: value for name, value in entry.items() if name not in ("id", "created_at")}


def item_with(handle: str) -> Json:
    """Return a compaction item with a handle."""
    return {"type": "compaction", "encrypted_content": handle}


def test_compaction_has_the_messages_of_the_user_and_one_item(caller: Caller) -> None:
    compacted = caller.compact(HISTORY, instructions="Answer in English.")
    *messages, item = items_of(compacted)
    assert [message["content"] for message in messages] == [
        [{"type": "input_text", "text": "What is on the page?"}],
        SHOWN["content"],
    ]
    for message in messages:
        ResponseInputMessageItem.model_validate(message, strict=True)
    ResponseCompactionItem.model_validate(item, strict=True)
    usage = compacted.usage
    ResponseUsage.model_validate(usage.model_dump(), strict=True)
    assert compacted.object == "response.compaction"
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    (session,) = caller.sessions()
    assert session["counts"]["messages"] == len(HISTORY) - 1


def test_same_conversation_is_stored_once(caller: Caller) -> None:
    for _ in range(2):
        caller.compact(HISTORY)
    caller.compact("What is on the page?")
    assert len(caller.sessions()) == 2


def test_budget_is_the_compactor(caller: Caller) -> None:
    whole = caller.compact(HISTORY).usage
    small = caller.compact(HISTORY, extra_headers={"Pagefault-Max-Tokens": "2000"})
    assert whole.input_tokens == whole.output_tokens > 4_000
    assert small.usage.input_tokens == whole.input_tokens
    assert small.usage.output_tokens <= 2_000
    assert caller.count(items_of(small)) == small.usage.output_tokens


def test_budget_that_is_too_small_is_refused(caller: Caller) -> None:
    with pytest.raises(openai.UnprocessableEntityError):
        caller.compact(HISTORY, extra_headers={"Pagefault-Max-Tokens": "1"})


def test_tokens_are_counted_and_nothing_is_stored(caller: Caller) -> None:
    counted = caller.count(HISTORY)
    assert caller.sessions() == []
    tool: Any = {"type": "function", "name": "look", "parameters": {}, "strict": True}
    further = [
        caller.count(HISTORY, instructions="Answer in English."),
        caller.count(HISTORY, tools=[tool]),
        caller.count([*HISTORY, REPLY]),
    ]
    assert all(tokens > counted for tokens in further)
    assert counted == caller.compact(HISTORY).usage.input_tokens


def test_compacted_conversation_goes_on_in_its_session(caller: Caller) -> None:
    first = items_of(caller.compact(HISTORY))
    again = items_of(caller.compact([*first, REPLY, {"role": "user", "content": "Why?"}]))
    (session,) = caller.sessions()
    assert session["counts"]["messages"] == len(HISTORY) + 1
    assert [item["type"] for item in again] == ["message"] * 3 + ["compaction"]
    # The same request again appends nothing, and another one has a session of its own.
    caller.compact([*first, REPLY, {"role": "user", "content": "Why?"}])
    assert len(caller.sessions()) == 1
    caller.compact([*first, REPLY, {"role": "user", "content": "Who?"}])
    assert len(caller.sessions()) == 2


def test_history_with_a_compaction_item_is_stored_whole(caller: Caller) -> None:
    compacted = items_of(caller.compact(HISTORY))
    further = [*compacted, REPLY, {"role": "user", "content": "Why?"}]
    receipts = [caller.put("s", further).json() for _ in range(2)]
    assert receipts[0] == receipts[1]
    grown = caller.put("s", [*further, REPLY]).json()
    origin = next(item["id"] for item in caller.sessions() if item["id"] != "s")
    entries = caller.entries("s")
    count = len(HISTORY) - 1
    assert (receipts[0]["appended"], grown["appended"], len(entries)) == (2, 1, count + 3)
    assert [without_ids(entry) for entry in entries[:count]] == [
        without_ids(entry) for entry in caller.entries(origin)
    ]
    rendered = caller.http.get("/api/sessions/s/render?target=openai-responses").json()
    assert [item.get("type") for item in rendered["messages"]].count("compaction") == 0
    assert rendered["messages"][-3:] == [REPLY, {"role": "user", "content": "Why?"}, REPLY]


def test_message_before_the_item_that_is_new_is_refused(caller: Caller) -> None:
    *messages, item = items_of(caller.compact(HISTORY))
    answer = caller.put("s", [*messages, {"role": "user", "content": "Secret."}, item])
    assert (answer.status_code, answer.json()["errors"]) == (
        422,
        [{"pointer": "/input/2", "detail": "is not in the compacted conversation"}],
    )


@pytest.mark.parametrize("route", ["compact", "input_tokens", "put"])
def test_item_of_another_conversation_before_the_item_is_refused(
    caller: Caller, route: str
) -> None:
    both = [caller.compact(items).output[-1].model_dump() for items in (HISTORY, SHORT)]
    before = caller.sessions()
    if route == "put":
        answer = caller.put("s", both)
    else:
        answer = caller.http.post(f"/v1/responses/{route}", json={"input": both})
    assert (answer.status_code, answer.json()["errors"], caller.sessions()) == (
        422,
        [
            {
                "pointer": "/input/0/encrypted_content",
                "detail": "leads to another conversation",
            }
        ],
        before,
    )


def test_items_of_the_same_conversation_are_kept_beside_a_newer_one(caller: Caller) -> None:
    first = items_of(caller.compact(HISTORY))
    # The second one continues a fork, since the session has gone on.
    later = [caller.compact([*first, {"role": "user", "content": text}]) for text in ("a", "b")]
    items = [first[-1], *(items_of(compacted)[-1] for compacted in later)]
    answers = [caller.put(f"s{end}", [items[0], items[end]]) for end in (1, 2)]
    stored = {"appended": 0, "lastSeq": len(HISTORY)}
    assert [answer.json() for answer in answers] == [stored, stored]
    assert caller.put("t", items).status_code == 422


@pytest.mark.parametrize("route", ["compact", "input_tokens"])
@pytest.mark.parametrize(
    ("sent", "pointer", "detail"),
    [
        (1, "/input", "Input should be a text or a list of items"),
        ([*SHORT, "Hi"], "/input/1", "Input should be an object"),
        ([*SHORT, {"type": "unknown", "value": "Hi"}], "/input/1", "is no message"),
    ],
)
def test_item_that_no_dialect_knows_is_refused(
    caller: Caller, route: str, sent: object, pointer: str, detail: str
) -> None:
    answer = caller.http.post(f"/v1/responses/{route}", json={"input": sent})
    assert (answer.status_code, answer.json()["errors"]) == (
        422,
        [{"pointer": pointer, "detail": detail}],
    )


def test_item_is_refused_as_a_single_message(caller: Caller) -> None:
    item = items_of(caller.compact(HISTORY))[-1]
    before = caller.sessions()
    answers = [
        caller.http.post("/api/sessions/s/messages", json=item),
        caller.http.post("/api/sessions/s/turns", json={"entries": [{"message": item}]}),
    ]
    assert [(answer.status_code, answer.json()["errors"][0]["pointer"]) for answer in answers] == [
        (422, "/type"),
        (422, "/entries/0/message/type"),
    ]
    assert all("PUT /api/sessions/{session_id}/history" in answer.text for answer in answers)
    assert caller.sessions() == before


def test_item_does_not_continue_another_conversation(caller: Caller) -> None:
    compacted = items_of(caller.compact(HISTORY))
    caller.put("s", [{"role": "user", "content": "Another one."}])
    answer = caller.put("s", [*compacted, REPLY])
    assert (answer.status_code, answer.json()["code"]) == (409, "history-diverged")
    forked = caller.http.put(
        "/api/sessions/s/history?onDivergence=fork&as=t", json={"input": [*compacted, REPLY]}
    )
    assert forked.json() == {"appended": 1, "lastSeq": len(HISTORY), "sessionId": "t"}


@pytest.mark.promise(
    "security.md#links-and-keys",
    "A handle of a compaction is expanded in its project only, unchanged, and for 30 days",
    kept_by="app/services/agents/compacted_beginnings.py",
    tried="3 routes with forged, foreign, expired and orphaned handles, both engines",
)
@pytest.mark.parametrize("route", ["compact", "count", "put"])
def test_handle_that_is_not_valid_is_never_expanded(
    caller: Caller, service: LiveService, route: str
) -> None:
    with new_caller(service) as stranger:
        foreign = items_of(stranger.compact(HISTORY))[-1]["encrypted_content"]
    handle = items_of(caller.compact(HISTORY))[-1]["encrypted_content"]
    payload, _, mac = handle.rpartition(".")
    session = caller.sessions()[0]
    signer = LinkSigner(read_signing_keys(service.settings))
    grant = CompactionGrant.verify(signer, handle.removeprefix("pagefault."))
    assert grant is not None
    past = utc_now() - timedelta(seconds=1)
    expired = replace(grant, expires_at=past)
    handles = {
        "pagefault.": "invalid-compaction",
        f"{payload}.{mac[:-2]}AA": "invalid-compaction",
        foreign: "invalid-compaction",
        f"pagefault.{expired.sign(signer)}": "expired-compaction",
    }
    before = caller.sessions()
    for changed, code in handles.items():
        assert refused(caller, route, [item_with(changed)]) == (422, code)
    assert caller.sessions() == before
    caller.http.delete(f"/api/sessions/{session['id']}").raise_for_status()
    assert refused(caller, route, [item_with(handle)]) == (422, "expired-compaction")
    # The id of the deleted session may be used again.
    caller.put(session["id"], HISTORY)
    assert refused(caller, route, [item_with(handle)]) == (422, "expired-compaction")


def refused(caller: Caller, route: str, items: list[Json]) -> tuple[int, str | None]:
    """Return the status and the code of the refusal of some items."""
    if route == "put":
        answer = caller.put("s", items)
        return answer.status_code, answer.json()["code"]
    with pytest.raises(openai.APIStatusError) as caught:
        (caller.compact if route == "compact" else caller.count)(items)
    assert caught.value.param == "/input/0/encrypted_content"
    assert caught.value.type == "invalid_request_error"
    return caught.value.status_code, caught.value.code


@pytest.mark.engines("embedded")
def test_error_is_a_problem_that_the_client_of_openai_reads(caller: Caller) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        caller.openai.responses.compact(model=MODEL, input="Hi", previous_response_id="resp_1")
    problem = caught.value.response.json()
    assert caught.value.response.headers["content-type"] == "application/problem+json"
    assert problem["error"] == caught.value.body
    assert (caught.value.code, caught.value.param) == ("invalid-payload", "/previous_response_id")
    with pytest.raises(openai.AuthenticationError) as refused_key:
        caller.openai.with_options(api_key="pf_none").responses.compact(model=MODEL, input="Hi")
    assert refused_key.value.code == "unauthorized"


@pytest.mark.engines("embedded")
def test_compaction_item_of_a_provider_is_kept_as_it_is(caller: Caller) -> None:
    item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAAABo"}
    messages = {"role": "user", "content": "Hi"}
    assert caller.put("s", [messages, item, messages]).status_code == 200
    rendered = caller.http.get("/api/sessions/s/render?target=openai-responses").json()
    assert rendered["messages"][1] == item


def test_items_without_content_at_the_end_stay_behind_the_compaction(caller: Caller) -> None:
    """A session gets them with the next message only, so a compaction would lose them."""
    item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAAABo"}
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAABp"}
    compacted = items_of(caller.compact([*SHORT, item, thought]))
    assert [sent["type"] for sent in compacted] == [
        "message",
        "compaction",
        "compaction",
        "reasoning",
    ]
    again = items_of(caller.compact(compacted))
    caller.put("s", [*again, *SHORT]).raise_for_status()
    entries = caller.entries("s")
    assert (len(entries), [entry.get("message") for entry in entries[1:3]]) == (4, [item, thought])
