"""The messages of a model, kept on the side of the client."""

import pytest

from pagefault_client import AsyncPagefault, Pagefault, Session, Target, TurnEntry


def call(call_id: str) -> TurnEntry:
    used = {"type": "tool_use", "id": call_id, "name": "clock", "input": {}}
    return {"message": {"role": "assistant", "content": [used]}}


def result(call_id: str, value: object = "ten") -> TurnEntry:
    return {"toolResult": {"toolName": "clock", "toolCallId": call_id, "result": value}}


def message(role: str, text: str) -> TurnEntry:
    return {"message": {"role": role, "content": text}}


def whole(session: Session) -> list[dict[str, object]]:
    return session.render("anthropic", handles=True)["messages"]


def test_only_what_is_new_is_asked_for(pf: Pagefault, session: Session, png: bytes) -> None:
    requests: list[str] = []
    with Pagefault(pf.base_url) as client:
        client._transport.http.event_hooks = {
            "request": [lambda sent: requests.append(sent.url.path.rpartition("/")[2])]
        }
        conversation = client.session(session.id).conversation("anthropic")
        first = conversation.turn(message("user", "Hi"))
        kept = conversation.turn(call("c1"), result("c1", png))
        assert kept[: len(first)] == first
        assert conversation.messages == whole(session)
        conversation.turn(message("assistant", "Ten."))
        assert conversation.render() == whole(session)
        assert conversation.render() == whole(session)
    assert requests == ["turns", "turns", "turns", "render", "render"]


def test_calls_that_must_not_be_run_are_named(session: Session) -> None:
    handle = "@entry:2/arguments/0/text"
    cut = f"x[... 900 characters left out; read_text {handle} shows all of it ...]"
    used = {"type": "tool_use", "id": "c1", "name": "write", "input": {"text": cut}}
    conversation = session.conversation("anthropic")
    conversation.turn(message("user", "Write it."))
    messages = conversation.turn({"message": {"role": "assistant", "content": [used]}})
    assert conversation.refused == [{"callId": "c1", "seq": 3}]
    assert handle in str(messages[-1]["content"])
    conversation.turn(call("c2"))
    assert conversation.refused == []


def test_what_others_write_is_read_anew(session: Session) -> None:
    conversation = session.conversation("anthropic")
    conversation.turn(message("system", "Be brief."), message("user", "Hi"))
    session.append({"role": "user", "content": "And another thing."})
    assert conversation.turn(call("c1"), result("c1")) == whole(session)
    assert conversation.system == "Be brief."
    session.append({"role": "assistant", "content": "Ten."})
    assert conversation.render() == whole(session)
    assert conversation.render() == whole(session)


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "bedrock", "vercel"])
def test_every_target_has_what_a_whole_rendering_has(session: Session, target: Target) -> None:
    conversation = session.conversation(target, max_images=2)
    for number in range(3):
        conversation.turn(message("user", f"Question {number}"))
        conversation.turn(message("user", "And?"))
        conversation.turn(call(f"c{number}"), result(f"c{number}"))
        rendered = session.render(target, handles=True, max_images=2)
        assert (conversation.messages, conversation.system) == (
            rendered["messages"],
            rendered.get("system"),
        )


def test_two_turns_of_one_side_are_shown_as_a_whole_rendering_shows_them(session: Session) -> None:
    conversation = session.conversation("anthropic")
    conversation.turn(message("user", "Hi"))
    assert conversation.turn(message("user", "Are you there?")) == whole(session)
    conversation.turn(call("c1"))
    assert conversation.turn(result("c1")) == whole(session)


def test_a_budget_is_kept_with_a_frontier(session: Session) -> None:
    conversation = session.conversation("openai-chat", max_tokens=900, frontier="main")
    for number in range(8):
        used = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "log", "arguments": "{}"},
        }
        conversation.turn(
            message("user", f"Question {number}"),
            {"message": {"role": "assistant", "content": None, "tool_calls": [used]}},
            {
                "toolResult": {
                    "toolName": "log",
                    "toolCallId": f"c{number}",
                    "result": "line\n" * 200,
                }
            },
            message("assistant", "I see."),
        )
    rendering = conversation.rendering
    assert rendering is not None
    assert rendering["tokensEst"] <= 900
    assert {item["code"] for item in conversation.loss} == {"evicted", "folded"}
    assert rendering.get("stableThrough") is not None
    assert conversation.render() == conversation.messages


@pytest.mark.anyio
async def test_an_awaited_conversation_is_the_same(url: str, session: Session) -> None:
    async with AsyncPagefault(url) as client:
        conversation = client.session(session.id).conversation("anthropic")
        await conversation.turn(message("user", "Hi"))
        assert await conversation.turn(call("c1"), result("c1")) == whole(session)


@pytest.mark.parametrize("options", [{}, {"memory": ["instructions"]}])
def test_an_existing_session_is_joined(session: Session, options: dict[str, list[str]]) -> None:
    session.turn(message("user", "Hi"), call("c1"), result("c1"))
    conversation = session.conversation("anthropic", **options)  # type: ignore[arg-type]
    assert conversation.render() == whole(session)
    assert bool(conversation.system) == bool(options)
