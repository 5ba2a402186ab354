"""Messages that are rewritten for their own dialect because a part of them had to change."""

from typing import Any

import pytest
from hypothesis import given, settings

from packages.dialects.tests.targets.home_histories import HOMES, home_histories
from packages.dialects.tests.targets.resolved_turns import PDF, PNG, base64
from pagefault_dialects import RenderedMessages, render
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions

Json = dict[str, Any]
_URL = "https://files.example/a.png"
# Not valid in a request, so its message is rewritten.
_UNKNOWN: Json = {"type": "hologram", "x": 1}


_CACHED: Json = {"cache_control": {"type": "ephemeral"}}
_CITED: Json = {
    "type": "char_location",
    "cited_text": "A ship",
    "document_index": 0,
    "document_title": "Log",
    "start_char_index": 0,
    "end_char_index": 6,
}
_PDF: Json = {"type": "base64", "media_type": "application/pdf", "data": base64(PDF)}
_FURTHER: Json = {"title": "Log", "context": "Of May.", "citations": {"enabled": True}, **_CACHED}
_BLANK: Json = {"type": "text", "text": " "}
_BLOCKS: dict[str, Json] = {
    "text": {"type": "text", "text": "Look.", **_CACHED},
    "file": {"type": "document", "source": _PDF, **_FURTHER},
    "address": {
        "type": "document",
        "source": {"type": "url", "url": "https://a.example/log.pdf"},
        **_FURTHER,
    },
    "words": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "A ship."},
        **_FURTHER,
    },
    "blocks": {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": "A ship."}]},
        **_FURTHER,
    },
    "file by id": {"type": "image", "source": {"type": "file", "file_id": "file_1"}, **_CACHED},
}


def _rewrite(*messages: Json, options: RenderOptions | None = None) -> RenderedMessages:
    """Render messages for Anthropic, which are rewritten because each has a blank text."""
    blank = [{**message, "content": [*message["content"], _BLANK]} for message in messages]
    ended = [*blank, {"role": "user", "content": "Go on."}]
    return render(read_messages(ended).turns, "anthropic", options or RenderOptions())


@pytest.mark.parametrize("name", _BLOCKS)
def test_block_of_a_rewritten_message_is_unchanged(name: str) -> None:
    message = {"role": "user", "content": [_BLOCKS[name]]}
    rendered = _rewrite(message)
    assert (rendered.messages[0], rendered.loss) == (message, ())


def test_text_of_a_model_keeps_its_citations() -> None:
    text = {"type": "text", "text": "A ship.", "citations": [_CITED]}
    question = {"role": "user", "content": [_BLOCKS["words"]]}
    answer = {"role": "assistant", "content": [text]}
    rendered = _rewrite(question, answer)
    assert (rendered.messages[:2], rendered.loss) == ([question, answer], ())


def test_calls_and_results_keep_their_marks_and_content() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}, **_CACHED}
    files = (_BLOCKS[name] for name in ("file", "words", "file by id"))
    unmarked = ({name: file[name] for name in file if name not in _CACHED} for file in files)
    result_content = [_BLOCKS["text"], *unmarked]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": result_content, **_CACHED}
    question = {"role": "user", "content": [{"type": "text", "text": "Look."}]}
    calling = {"role": "assistant", "content": [call]}
    rendered = _rewrite(question, calling, {"role": "user", "content": [result]})
    assert rendered.messages[1] == calling
    assert rendered.messages[2] == {"role": "user", "content": [result]}
    assert rendered.loss == ()


def test_marks_and_citations_of_changed_blocks_are_lost_with_an_entry() -> None:
    small = {"type": "base64", "media_type": "image/png", "data": base64(PNG)}
    image = {"type": "image", "source": small, **_CACHED}
    rendered = _rewrite({"role": "user", "content": [image, _BLOCKS["words"]]})
    assert [(finding.pointer, finding.from_, finding.to) for finding in rendered.loss] == [
        ("/0/content/0", "cache_control", "nothing"),
        ("/0/content/0", "original", "placeholder"),
    ]
    assert rendered.messages[0]["content"][1] == _BLOCKS["words"]


@pytest.mark.parametrize("options", [RenderOptions(max_text=500), RenderOptions(max_tokens=900)])
def test_marks_and_citations_of_a_result_that_is_shortened_are_lost_with_an_entry(
    options: RenderOptions,
) -> None:
    long = {"type": "text", "text": "A long line. " * 300, **_CACHED}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [long, _BLOCKS["words"]]}
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    question = {"role": "user", "content": [{"type": "text", "text": "Look."}]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "A ship."}]}
    results = {"role": "user", "content": [result]}
    rendered = _rewrite(
        question, {"role": "assistant", "content": [call]}, results, answer, options=options
    )
    lost = {(item.from_, item.to) for item in rendered.loss}
    assert lost >= {("cache_control", "nothing"), ("citations", "nothing")}
    assert "cache_control" not in str(rendered.messages)


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "bedrock", "mcp", "vercel"])
def test_cache_mark_is_left_out_for_other_dialects(target: str) -> None:
    turns = read_messages([{"role": "user", "content": [_BLOCKS["text"], _BLANK]}]).turns
    rendered = render(turns, target)
    assert ("Look." in str(rendered.messages), rendered.loss) == (True, ())
    assert "ephemeral" not in str(rendered.messages)


_POINT: Json = {"cachePoint": {"type": "default", "ttl": "1h"}}


def _converse(*messages: Json, target: str = "bedrock") -> RenderedMessages:
    blank = [{**message, "content": [{"text": " "}, *message["content"]]} for message in messages]
    ended = [*blank, {"role": "user", "content": [{"text": "Go on."}]}]
    return render(read_messages(ended).turns, target)


def _with_points() -> list[Json]:
    uses: list[Json] = [
        {"toolUse": {"toolUseId": name, "name": "f", "input": {}}} for name in ("a1", "a2")
    ]
    results = [
        {"toolResult": {"toolUseId": name, "content": [{"text": "x"}], "status": "success"}}
        for name in ("a1", "a2")
    ]
    return [
        {"role": "user", "content": [{"text": "Look."}, _POINT, {"text": "And say."}]},
        {"role": "assistant", "content": [{"text": "I look."}, *uses, _POINT]},
        {"role": "user", "content": [*results, _POINT]},
        {"role": "assistant", "content": [{"text": "Done."}, _POINT]},
    ]


def test_cache_points_of_bedrock_stay_where_they_were() -> None:
    rendered = _converse(*_with_points())
    assert (rendered.messages[:-1], rendered.loss) == (_with_points(), ())


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "anthropic", "mcp", "vercel"])
def test_cache_points_are_left_out_for_other_dialects(target: str) -> None:
    plain = [
        {**with_point, "content": [block for block in with_point["content"] if block != _POINT]}
        for with_point in _with_points()
    ]
    rendered = _converse(*_with_points(), target=target)
    assert (rendered.messages, rendered.loss) == (_converse(*plain, target=target).messages, ())


def test_message_of_a_cache_point_alone_is_left_out() -> None:
    question, *_ = _with_points()
    rendered = _converse(question, {"role": "assistant", "content": [_POINT]})
    assert rendered.messages[0] == {
        **question,
        "content": [*question["content"], {"text": "Go on."}],
    }


@pytest.mark.slow
@given(history=home_histories(HOMES["anthropic"]))
@settings(max_examples=200)
def test_blocks_of_any_rewritten_message_are_unchanged(
    history: list[Json],
) -> None:
    rendered = render(read_messages([*map(_with_blank, history)]).turns, "anthropic")
    assert (_blocks(rendered.messages), rendered.loss) == (_blocks(history), ())


def _blocks(messages: list[Any]) -> list[tuple[str, Json]]:
    """Return blocks with their roles; results have blocks even for a single text."""
    blocks = [
        (message["role"], block)
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    return [
        (role, {**block, "content": [{"type": "text", "text": block["content"]}]})
        if isinstance(block.get("content"), str)
        else (role, block)
        for role, block in blocks
    ]


def _with_blank(message: Json) -> Json:
    content = message["content"]
    return message if isinstance(content, str) else {**message, "content": [*content, _BLANK]}


def _looked_at(target: str, options: RenderOptions) -> list[Json]:
    image = {"type": "image_url", "image_url": {"url": _URL, "detail": "original"}}
    turns = read_messages([{"role": "user", "content": [image, _UNKNOWN]}]).turns
    rendered = render(turns, target, options)
    assert [finding.pointer for finding in rendered.loss] == ["/0/content/1"]
    block: Json = rendered.messages[0]["content"][0]
    return [block]


@pytest.mark.parametrize("detail", [None, "original"])
def test_image_keeps_its_original_detail_for_models_that_have_it(
    detail: ImageDetail | None,
) -> None:
    options = RenderOptions(detail=detail)
    assert _looked_at("openai-chat", options) == [
        {"type": "image_url", "image_url": {"url": _URL, "detail": "original"}}
    ]
    assert _looked_at("openai-responses", options) == [
        {"type": "input_image", "image_url": _URL, "detail": "original"}
    ]
    for other in ("openai-compat", "mistral"):
        assert _looked_at(other, options) == [
            {"type": "image_url", "image_url": {"url": _URL, "detail": "high"}}
        ]
