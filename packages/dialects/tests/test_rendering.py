"""Rendering of conversations in memory: media, limits, and options that need a service."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from pagefault_dialects import render
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    InlineBytes,
    Item,
    Medium,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.rendering import RenderedMessages
from tests.kit.media import b64, png

Json = Any
DATA = png(40, 36)
ENDED = "https://bucket.s3.amazonaws.com/a.png?X-Amz-Date=20240101T000000Z&X-Amz-Expires=3600"


def user_turn(*items: Item, seq: int = 1) -> ComposedTurn:
    return Turn("user", items, f"/{seq}", seq)


def picture(data: bytes = DATA, **more: Json) -> Medium:
    members: Json = {"filename": None, "size_bytes": len(data), **more}
    return Medium("/content/0", InlineBytes(data), "image", "image/png", **members)


LOOK = TextItem("/content", "Look.")
IMAGE: Json = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": b64(DATA)},
}


def contents(rendered: RenderedMessages) -> list[Json]:
    return [message["content"] for message in rendered.messages if isinstance(message, dict)]


def losses(rendered: RenderedMessages) -> list[tuple[str, str, str]]:
    return [(entry.code, entry.from_, entry.to) for entry in rendered.loss]


def test_conversation_is_rendered_with_its_system_text_its_tokens_and_its_open_calls() -> None:
    system: ComposedTurn = Turn("system", (TextItem("/content", "Be kind."),), seq=1)
    call = TurnCall("a", "look", {})
    calling: ComposedTurn = Turn("assistant", (), seq=3, calls=(call,))
    turns = [system, user_turn(LOOK, seq=2), calling]
    rendered = render(turns, "anthropic")
    use = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    assert dataclasses.replace(rendered, tokens=0) == RenderedMessages(
        "anthropic",
        [
            {"role": "user", "content": [{"type": "text", "text": "Look."}]},
            {"role": "assistant", "content": [use]},
        ],
        "Be kind.",
        (),
        0,
        ("a",),
    )
    assert rendered.tokens == render(turns, "anthropic", RenderOptions(max_tokens=9_000)).tokens
    uncounted = render([user_turn(LOOK)], "openai-chat", RenderOptions(count_tokens=False))
    assert uncounted == RenderedMessages(
        "openai-chat", [{"role": "user", "content": "Look."}], "", (), None
    )


def test_rendering_that_needs_a_service_is_refused() -> None:
    stored = dataclasses.replace(
        picture(),
        source=StoredBytes("a1" * 16, "d4" * 32),
        hints=dataclasses.replace(picture().hints, width=40, height=36),
    )
    with pytest.raises(InvalidPayloadError) as unsigned:
        render([user_turn(LOOK)], "anthropic", RenderOptions(media="signed-url"))
    with pytest.raises(InvalidPayloadError) as unread:
        render([user_turn(stored)], "anthropic")
    assert [caught.value.detail for caught in (unsigned, unread)] == [
        "Only a service signs URLs: ask for `inline` or `reference`.",
        "Stored media cannot be read here: ask for `reference`.",
    ]
    rendered = render([user_turn(stored)], "anthropic", RenderOptions(media="reference"))
    assert "a1" * 16 in str(rendered.messages)
    with pytest.raises(InvalidPayloadError):
        render([user_turn(LOOK)], "unknown")


def test_media_are_examined_before_they_are_sent() -> None:
    small, torn = png(8, 6), DATA[:-20]
    rows: Sequence[tuple[Medium, list[tuple[str, str, str]]]] = [
        (picture(), []),
        (picture(small), [("too-few-pixels", "original", "placeholder")]),
        (picture(torn), [("unreadable", "original", "placeholder")]),
        (
            dataclasses.replace(picture(), source=Address(ENDED)),
            [("expired-link", "original", "placeholder")],
        ),
        (dataclasses.replace(picture(), source=Address("https://a.example/b.png")), []),
    ]
    rendered = [render([user_turn(item)], "anthropic") for item, _ in rows]
    assert [losses(result) for result in rendered] == [expected for _, expected in rows]
    assert contents(rendered[0]) == [[IMAGE]]


def test_newest_media_stay_within_the_limit_of_bytes() -> None:
    turns = [user_turn(picture(), seq=1), user_turn(picture(), seq=2)]
    size = len(b64(DATA))

    def count(max_bytes: int) -> int:
        rendered = render(turns, "anthropic", RenderOptions(max_bytes=max_bytes))
        return str(rendered.messages).count(b64(DATA))

    assert [count(limit) for limit in (2 * size, 2 * size - 1, size, size - 1)] == [2, 1, 1, 0]


def test_text_files_become_text_where_a_target_takes_no_files() -> None:
    file = Medium("/content/0", InlineBytes(b"a,b\n1,2\n"), "text", "text/csv", "a.csv", 8)
    [content] = contents(render([user_turn(file)], "openai-chat"))
    assert "a,b\n1,2\n" in str(content)


def test_long_texts_of_tools_are_cut_if_requested() -> None:
    call = TurnCall("a", "look", {})
    calling: ComposedTurn = Turn("assistant", (), seq=1, calls=(call,))
    result: ComposedTurn = Turn("tool", (TextItem("/x", "b" * 900),), "/2", 2, call_id="a")
    whole = render([calling, result], "openai-chat")
    cut = render([calling, result], "openai-chat", RenderOptions(max_text=500))
    assert [("b" * 900) in str(rendered.messages) for rendered in (whole, cut)] == [True, False]
    assert losses(cut) == [("text-too-long", "text", "preview")]


def test_limit_of_tokens_and_frontier_evict_old_content() -> None:
    turns = [user_turn(TextItem("/content", "word " * 3_000), seq=1), user_turn(LOOK, seq=2)]
    whole = render(turns, "openai-chat")
    assert whole.loss == ()
    assert render(turns, "openai-chat", RenderOptions(max_tokens=100_000)) == whole
    call = TurnCall("a", "look", {})
    steps: list[ComposedTurn] = [user_turn(LOOK)]
    for number in range(6):
        seq = 2 * number + 2
        named = dataclasses.replace(call, call_id=f"c{number}")
        steps.append(Turn("assistant", (), f"/{seq}", seq, (named,)))
        text = TextItem("/content", f"{number} " + "word " * 400)
        steps.append(Turn("tool", (text,), f"/{seq + 1}", seq + 1, call_id=f"c{number}"))
    limited = render(steps, "openai-chat", RenderOptions(max_tokens=1_200))
    assert limited.tokens is not None
    assert limited.tokens <= 1_200
    assert {entry.code for entry in limited.loss} <= {"evicted", "folded"}
    assert limited.loss
    with pytest.raises(InvalidPayloadError):
        render(steps, "openai-chat", RenderOptions(max_tokens=10))
    # A frontier of an earlier rendering evicts the same without a limit.
    assert render(steps, "openai-chat", RenderOptions(frontier=Frontier())) == render(
        steps, "openai-chat"
    )


def test_messages_are_marked_for_the_cache_if_requested() -> None:
    [content] = contents(render([user_turn(LOOK)], "anthropic", RenderOptions(cache_markers=True)))
    assert content == [{"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}]
