"""`POST /api/doctor` finds the faults of broken histories in every dialect, and repairs them."""

import json
from typing import cast

import httpx
import pytest

from pagefault_dialects.messages.histories import list_sent_messages
from pagefault_dialects.targets.rules import RULES
from pagefault_dialects.targets.sequence_rules import find_sequence_faults
from tests.contract.broken_histories import BROKEN, PNG, Broken, Json, data_uri
from tests.contract.render_requests import SESSION_RENDER, rendering
from tests.contract.session_requests import append
from tests.contract.sound_histories import SOUND
from tests.kit.media import b64
from tests.kit.process import ROOT
from tests.providers import CHECKS

# Only the tests that read a session depend on the engine.
pytestmark = pytest.mark.engines("embedded")

DOCTOR = "/api/doctor"
NO_CALL = {
    "rule": "no-call",
    "demands": "A result answers a call.",
    "fix": "a call without arguments is inserted before it",
    "source": "every provider",
}


def diagnosis(client: httpx.Client, request: object, **query: str) -> Json:
    """Return the diagnosis with a repaired history, after a check with its provider's types."""
    answer = client.post(DOCTOR, json=request, params={"apply": "true", **query})
    assert answer.status_code == 200, answer.text[:500]
    report = cast("Json", answer.json())
    CHECKS[report["target"]](report["messages"])
    return report


def repaired(report: Json) -> Json:
    """Return the request with the repaired history of a diagnosis."""
    return {name: report[name] for name in ("system", "messages") if name in report}


def rules(report: Json) -> set[str]:
    return {finding["rule"] for finding in report["findings"]}


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_repaired_history_has_no_findings(client: httpx.Client, broken: Broken) -> None:
    report = diagnosis(client, broken.request)
    assert rules(report) == broken.rules
    again = diagnosis(client, repaired(report), target=report["target"])
    assert (again["findings"], again["messages"]) == ([], report["messages"])


def test_there_are_sixty_histories_and_each_kind_of_rule() -> None:
    assert len(BROKEN) >= 60
    unbroken = {"answered-before", "encrypted-media", "damaged-media", "no-media-here", "evicted"}
    unbroken |= {"request-too-large", "half-surrogate", "repeated-key", "no-reply"}
    broken = {rule for item in BROKEN for rule in item.rules}
    assert broken == {code for code, rule in RULES.items() if rule.is_fault} - unbroken


def test_document_has_every_rule() -> None:
    rows = [
        f"| `{code}` | {rule.demands} | {rule.fix} | {rule.source} |"
        for code, rule in RULES.items()
        if rule.is_fault
    ]
    assert "\n".join(rows) in (ROOT / "docs" / "doctor.md").read_text()


def test_sound_history_has_no_findings_and_comes_back_as_it_was(client: httpx.Client) -> None:
    request = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look."},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"at":1.10}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "A cat."},
        ]
    }
    report = diagnosis(client, request)
    assert report == {
        "target": "openai-chat",
        "profile": "openai-chat/2026-11-29",
        "dialect": "openai-chat",
        "findings": [],
        "loss": [],
        "tokensEst": report["tokensEst"],
        "messages": request["messages"],
    }


@pytest.mark.parametrize("dialect", [item for item in SOUND if item != "openai-compat"])
def test_result_of_text_and_image_is_sound_in_every_dialect(
    client: httpx.Client, dialect: str
) -> None:
    sent = SOUND[dialect]
    report = client.post(f"{DOCTOR}?apply=true", json=sent).json()
    assert (report["findings"], report["loss"]) == ([], [])
    # No target writes Pydantic AI's messages.
    assert dialect == "pydantic-ai" or report["messages"] == list_sent_messages(sent)


@pytest.mark.parametrize("text", [b64(PNG), f"Here it is: {data_uri(PNG)} Do you see it?"])
def test_base64_in_one_of_the_texts_of_a_result_is_found(client: httpx.Client, text: str) -> None:
    blocks = [{"type": "text", "text": "A cat."}, {"type": "text", "text": text}]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": blocks}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    history = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    assert rules(diagnosis(client, {"messages": history})) == {"base64-in-text"}


def test_findings_and_loss_point_into_what_was_sent(client: httpx.Client) -> None:
    picture = {"type": "image_url", "image_url": {"url": data_uri(PNG[:-20])}}
    report = diagnosis(
        client,
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Look."}, picture]},
                {"role": "tool", "tool_call_id": "c1", "content": "A cat."},
            ]
        },
    )
    reason = "The image/png is damaged: the file ends too early."
    assert report["findings"] == [
        {
            "pointer": "/messages/0/content/1",
            "rule": "unreadable",
            "demands": "A medium is complete and can be decoded.",
            "actual": report["loss"][0]["reason"],
            "fix": "it is replaced by a smaller image, its words, or a line",
            "source": "every provider",
        },
        {"pointer": "/messages/1", "callId": "c1", **NO_CALL},
    ], reason
    assert [(finding["pointer"], finding["restore"]) for finding in report["loss"]] == [
        ("/messages/0/content/1", "/messages/0/content/1"),
        ("/messages/1", "/messages/1"),
    ]


def test_entry_that_is_no_message_is_listed_in_the_loss(client: httpx.Client) -> None:
    report = diagnosis(client, {"messages": [{"role": "user", "content": "Hi."}, 7]})
    assert rules(report) == {"not-a-message"}
    assert report["loss"] == [
        {
            "pointer": "/messages/1",
            "from": "entry",
            "to": "nothing",
            "code": "not-a-message",
            "reason": "It is no message of a known dialect.",
            "restore": "/messages/1",
        }
    ]


def test_calls_and_results_of_a_user_interface_are_read(client: httpx.Client) -> None:
    part = {"type": "tool-look", "toolCallId": "v1", "input": {"at": 1}}
    old = {"state": "result", "toolCallId": "v2", "toolName": "look", "args": {}, "result": "Dog."}
    parts = [
        {"type": "step-start"},
        {**part, "state": "output-available", "output": "A cat."},
        {"type": "tool-invocation", "toolInvocation": old},
        {"type": "text", "text": "Both.", "state": "done"},
    ]
    request = {"messages": [{"id": "1", "role": "assistant", "parts": parts}]}
    report = diagnosis(client, request, target="openai-chat")
    assert (report["dialect"], report["findings"], report["loss"]) == ("vercel", [], [])
    assert [message["role"] for message in report["messages"]] == [
        *("assistant", "tool", "assistant", "tool", "assistant")
    ]


def test_without_apply_there_are_no_messages(client: httpx.Client) -> None:
    answer = client.post(DOCTOR, json={"messages": [{"role": "user", "content": "Hi."}]})
    assert answer.json().keys() == {
        *("target", "profile", "dialect", "findings", "loss", "tokensEst")
    }
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.engines("embedded", "server")
def test_session_is_examined_by_the_numbers_of_its_entries(client: httpx.Client) -> None:
    append(client, role="user", content="Look.")
    append(client, role="tool", tool_call_id="c1", content="A cat.")
    report = diagnosis(client, {"sessionId": "s"}, target="anthropic")
    assert report["findings"] == [{"seq": 2, "pointer": "", "callId": "c1", **NO_CALL}]
    # A history with a fault is rewritten, its texts as blocks.
    first, *later = rendering(client, SESSION_RENDER, "anthropic")["messages"]
    blocks = [{"type": "text", "text": first["content"]}]
    assert report["messages"] == [{**first, "content": blocks}, *later]


@pytest.mark.slow
def test_session_has_the_findings_of_the_same_history_pasted(client: httpx.Client) -> None:
    different: dict[str, tuple[object, object]] = {}
    stored = 0
    for number, broken in enumerate(BROKEN):
        path = f"/api/sessions/s{number}/messages"
        answers = [
            client.post(path, json=sent_message)
            for sent_message in list_sent_messages(broken.request)
        ]
        if any(answer.status_code != 201 for answer in answers):
            continue
        stored += 1
        # A session has no members beside its messages, which may tell the dialect.
        bare = client.post(DOCTOR, json={"messages": list_sent_messages(broken.request)}).json()
        report = client.post(DOCTOR, json={"sessionId": f"s{number}"}).json()
        if (report["dialect"], rules(report)) != (bare["dialect"], rules(bare)):
            different[f"{broken.name}, without a dialect"] = (rules(report), rules(bare))
        pasted = client.post(DOCTOR, json=broken.request).json()
        query = {name: pasted[name] for name in ("target", "dialect") if pasted[name]}
        report = client.post(DOCTOR, json={"sessionId": f"s{number}"}, params=query).json()
        if rules(report) != broken.rules:
            different[broken.name] = (rules(report), broken.rules)
    assert not different, "\n".join(f"{name}: {value}" for name, value in different.items())
    assert stored > 40


def test_history_is_evicted_to_fit_its_budget(client: httpx.Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "log", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "A line of the log.\n" * 2_000},
        {"role": "assistant", "content": "I have."},
        {"role": "user", "content": "And?"},
    ]
    report = diagnosis(client, {"messages": messages}, maxTokens="2000")
    assert rules(report) == {"evicted"}
    assert report["tokensEst"] <= 2_000
    assert "@entr" not in json.dumps(report["messages"])


def _agent_at_work(steps: int, arguments: str, result: str) -> list[Json]:
    messages: list[Json] = [{"role": "user", "content": "Begin."}]
    for number in range(steps):
        function = {"name": "bash", "arguments": json.dumps({"command": arguments})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    return messages


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "gemini", "mistral", "openai-chat"])
def test_old_steps_of_a_history_are_folded_as_those_of_a_session(
    client: httpx.Client, target: str
) -> None:
    messages = _agent_at_work(300, "look at " * 40, "a result " * 30)
    report = diagnosis(client, {"messages": messages}, target=target, maxTokens="4000")
    assert report["tokensEst"] <= 4_000
    assert find_sequence_faults(report["messages"], target) == []
    # No call reads an entry of a history that is in no session.
    assert "@entr" not in json.dumps(report["messages"])
    [fold] = [item for item in report["loss"] if item["code"] == "folded"]
    many = fold["count"]
    assert fold == {
        "pointer": "/messages/1",
        "from": "original",
        "to": "line",
        "code": "folded",
        "reason": RULES["folded"].reason,
        "restore": f"/messages/1 to /messages/{2 * many}",
        "count": many,
    }
    evicted = {finding["pointer"] for finding in report["loss"] if finding["code"] == "evicted"}
    places = [int(item.rpartition("/")[2]) for item in evicted]
    assert min(places) > 2 * many


def test_long_calls_of_a_history_are_cut_until_it_fits(client: httpx.Client) -> None:
    messages = _agent_at_work(12, "print(1 + 1)\n" * 900, "done")
    report = diagnosis(client, {"messages": messages}, maxTokens="8000")
    assert report["tokensEst"] <= 8_000
    assert "@entr" not in json.dumps(report["messages"])
    cut = [finding["pointer"] for finding in report["loss"] if finding["from"] == "arguments"]
    assert cut[-1] == "/messages/21"


@pytest.mark.engines("embedded", "server")
def test_nothing_is_stored(client: httpx.Client) -> None:
    before = client.get("/api/resources").json()
    picture = {"type": "image_url", "image_url": {"url": data_uri(PNG)}}
    diagnosis(client, {"messages": [{"role": "user", "content": [picture]}]}, target="anthropic")
    assert client.get("/api/resources").json() == before
    assert client.get("/api/sessions").json()["items"] == []


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b"{", 400, "The body is not JSON"),
        (b'"Hi."', 422, "There is no history in this"),
        (b'{"model": "gpt"}', 422, "There is no history in this"),
        (b'{"sessionId": 3}', 422, "This is no id of a session"),
        (b'{"sessionId": "nobody"}', 404, ""),
    ],
)
def test_body_without_a_history_is_refused(
    client: httpx.Client, body: bytes, status: int, detail: str
) -> None:
    answer = client.post(DOCTOR, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(detail)


def test_empty_history_is_sound(client: httpx.Client) -> None:
    report = diagnosis(client, {"messages": []})
    assert (report["findings"], report["messages"]) == ([], [])


@pytest.mark.parametrize("query", [{"target": "nobody"}, {"dialect": "text"}, {"maxTokens": "-1"}])
def test_unknown_targets_and_dialects_are_refused(
    client: httpx.Client, query: dict[str, str]
) -> None:
    answer = client.post(DOCTOR, json={"messages": []}, params=query)
    assert answer.status_code == 422


def test_history_longer_than_the_limit_is_refused(client: httpx.Client) -> None:
    def body() -> "list[bytes]":
        return [b'{"messages": ["', *([b"x" * (1 << 20)] * 65), b'"]}']

    answer = client.post(DOCTOR, content=iter(body()), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert json.loads(answer.text)["title"]


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A history of more messages than any model reads is not examined",
    kept_by="packages/doctor/src/pagefault_doctor/doctor.py",
    tried="30,000 messages and one more",
)
def test_history_of_more_messages_than_any_model_reads_is_refused(client: httpx.Client) -> None:
    answers = [client.post(DOCTOR, json=[1] * count) for count in (30_000, 30_001)]
    assert [answer.status_code for answer in answers] == [200, 413]
    assert len(answers[0].json()["findings"]) == 30_000
    assert answers[1].json()["errors"] == [
        {"pointer": "/messages", "detail": "has too many messages"}
    ]
