"""Conversations of SDKs, put to a session and made to fit a model."""

from typing import Any

import pytest

from pagefault_client import AsyncPagefault, ConflictError, HistoryDiverged, Pagefault, Session

USER = {"role": "user", "content": "What time is it?"}
SAID = {"role": "assistant", "content": "It is ten."}
LIST = [{"role": "system", "content": "Be brief."}, USER, SAID]


def test_conversation_is_put_and_comes_back_for_the_model(session: Session) -> None:
    fitted = session.fit(LIST, target="anthropic", max_tokens=4_000)
    assert (fitted.system, [message["role"] for message in fitted.messages]) == (
        "Be brief.",
        ["user", "assistant"],
    )
    assert (fitted.receipt["appended"], fitted.session.id) == (2, session.id)
    longer: list[Any] = [*LIST, {"role": "user", "content": "Sure?"}]
    assert session.fit(longer, target="openai-chat").receipt["appended"] == 1


def test_conversation_that_differs_is_an_error_with_its_place(session: Session) -> None:
    session.fit(LIST, target="openai-chat")
    with pytest.raises(HistoryDiverged) as diverged:
        session.fit([USER, {**SAID, "content": "It is nine."}], target="openai-chat")
    assert (diverged.value.seq, diverged.value.pointer) == (2, "/1/content")
    assert isinstance(diverged.value, ConflictError)


def test_conversation_that_differs_goes_on_in_a_fork(pf: Pagefault, session: Session) -> None:
    session.fit(LIST, target="openai-chat")
    other = [USER, {**SAID, "content": "It is nine."}]
    fitted = session.fit(other, target="openai-chat", on_divergence="fork")
    assert fitted.session.id != session.id
    assert [message.get("content") for message in fitted.session.messages()] == [
        "What time is it?",
        "It is nine.",
    ]
    assert fitted.session.fit(other, target="openai-chat").receipt["appended"] == 0
    named = session.fit(other, target="openai-chat", on_divergence="fork", fork_id="named-fork")
    assert named.session.id == "named-fork"


@pytest.mark.anyio
async def test_conversation_is_awaited(url: str, session: Session) -> None:
    async with AsyncPagefault(url) as client:
        fitted = await client.session(session.id).fit(LIST, target="gemini")
    assert [message["role"] for message in fitted.messages] == ["user", "model"]
