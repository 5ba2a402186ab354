"""Speech in messages: items of OpenAI's Realtime API, and samples without a header."""

from typing import Any

import pytest
from openai.types.realtime import (
    RealtimeConversationItemAssistantMessage,
    RealtimeConversationItemUserMessage,
)

from pagefault_dialects import read_messages, render
from pagefault_dialects.media.raw_audio import plan_wav_file
from pagefault_dialects.model.conversation import Medium
from tests.kit.media import b64, tone

SAMPLES = tone()
LINE = "[Audio: audio/pcm;rate=24000 (48.0 kB), transcript below]"


def spoken(words: str, *, by_user: bool, sound: bytes | None = None) -> dict[str, Any]:
    """An item as the SDK gives it: with its sound, or with its words alone."""
    part = {"type": "input_audio" if by_user else "output_audio", "transcript": words}
    item = {"type": "message", "role": "user" if by_user else "assistant", "content": [part]}
    if sound is not None:
        part["audio"] = b64(sound)
    model = (
        RealtimeConversationItemUserMessage if by_user else RealtimeConversationItemAssistantMessage
    )
    return model.model_validate(item).model_dump(mode="json", exclude_none=True)


HISTORY = [
    spoken("How warm is it?", by_user=True, sound=SAMPLES),
    spoken("Four degrees.", by_user=False),
    spoken("Thanks.", by_user=True),
    spoken("Bye.", by_user=False, sound=SAMPLES),
]


def texts(message: dict[str, Any]) -> str:
    content: Any = message.get("content") or message["parts"]
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content)


@pytest.mark.parametrize("target", ["anthropic", "openai-responses", "mistral", "text"])
def test_model_that_hears_nothing_reads_the_words(target: str) -> None:
    rendered = render(read_messages(HISTORY).turns, target)
    words = [texts(message) for message in rendered.messages]
    assert words[1:] == ["Four degrees.", "Thanks.", f"{LINE}\nBye."]
    assert {entry.to for entry in rendered.loss} <= {"transcript"}


@pytest.mark.parametrize("target", ["openai-chat", "gemini"])
def test_model_that_hears_gets_wav(target: str) -> None:
    rendered = render(read_messages(HISTORY).turns, target)
    file = plan_wav_file("audio/pcm;rate=24000", len(SAMPLES))
    assert file is not None
    assert b64(file.write(SAMPLES)) in str(rendered.messages[0])
    assert [(entry.to, entry.code) for entry in rendered.loss] == [("transcript", "no-media-here")]


@pytest.mark.parametrize("mime_type", ["audio/L16;codec=pcm;rate=24000", "audio/L16;rate=24000"])
def test_samples_whose_order_the_bytes_decide_are_not_mislabelled(mime_type: str) -> None:
    sound = {"inlineData": {"mimeType": mime_type, "data": b64(SAMPLES)}}
    history = [{"role": "user", "parts": [{"text": "Listen."}, sound]}]
    media = [
        item
        for turn in read_messages(history).turns
        for item in turn.items
        if isinstance(item, Medium)
    ]
    assert [(item.mime_type, item.claimed_type) for item in media] == [
        ("audio/pcm;rate=24000", None)
    ]
