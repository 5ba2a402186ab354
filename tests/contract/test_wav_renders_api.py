"""Samples without a header in renderings: models that take WAV get them as WAV."""

import httpx
import pytest

from pagefault_dialects import read_messages, render
from pagefault_dialects.media.raw_audio import plan_wav_file
from tests.contract.render_cases import audio_block
from tests.contract.render_requests import rendering, shows, steps, strings
from tests.contract.session_requests import call_tool
from tests.contract.test_sound_media_api import path_of, stored
from tests.kit.media import b64, tone

SAMPLES = tone()
GEMINI = "audio/L16;codec=pcm;rate=24000"


def wav_form(samples: bytes, mime_type: str) -> bytes:
    file = plan_wav_file(mime_type, len(samples))
    assert file is not None
    return file.write(samples)


WAV = wav_form(SAMPLES, "audio/pcm;rate=24000")


@pytest.mark.parametrize("target", ["gemini", "openai-chat", "bedrock"])
@pytest.mark.parametrize(
    ("declared", "samples", "whole"),
    [
        (GEMINI, SAMPLES, WAV),
        ("audio/L16;rate=24000", tone(order=">"), WAV),
        ("audio/PCMU", SAMPLES[:9_000], wav_form(SAMPLES[:9_000], "audio/pcmu")),
    ],
)
def test_target_that_takes_wav_gets_wav(
    client: httpx.Client, target: str, declared: str, samples: bytes, whole: bytes
) -> None:
    record = stored(client, audio_block(samples, declared))
    rendered = rendering(client, path_of(record), target)
    assert (shows(rendered, whole), rendered["loss"]) == (True, [])
    assert rendering(client, path_of(record), target) == rendered
    (resource,) = record["sanitized"]["resources"]
    assert client.get(f"/api/resources/{resource['uri']}/content").content == samples


def test_target_of_any_type_gets_the_samples(client: httpx.Client) -> None:
    record = stored(client, audio_block(SAMPLES, GEMINI))
    rendered = rendering(client, path_of(record), "mcp")
    assert (shows(rendered, SAMPLES), rendered["loss"]) == (True, [])
    assert "audio/pcm;rate=24000" in str(rendered["messages"])


def test_target_without_audio_gets_a_line(client: httpx.Client) -> None:
    record = stored(client, audio_block(SAMPLES, GEMINI))
    rendered = rendering(client, path_of(record), "anthropic")
    assert steps(rendered) == [("/sanitized/parts/0", "original", "placeholder", "type-not-taken")]


def test_file_is_there_by_reference_and_goes_with_its_samples(client: httpx.Client) -> None:
    sound = {"content": [audio_block(SAMPLES, GEMINI)]}
    record = call_tool(client, "call_1", sound, session_id="spoken")
    assert isinstance(record, dict)
    rendered = rendering(client, path_of(record), "openai-chat", media="reference")
    (address,) = (word for word in strings(rendered["messages"]) if word.startswith("@blob:"))
    path = f"/api/resources/{address.removeprefix('@blob:')}/content"
    assert (client.get(path).content, rendered["loss"]) == (WAV, [])
    assert client.delete("/api/sessions/spoken").is_success
    assert client.get(path).status_code == 404


@pytest.mark.slow
def test_recording_that_is_too_large_becomes_a_line(client: httpx.Client) -> None:
    record = stored(client, audio_block(bytes(33 * 1024 * 1024), "audio/pcm;rate=24000"))
    rendered = rendering(client, path_of(record), "openai-chat")
    assert steps(rendered) == [("/sanitized/parts/0", "original", "placeholder", "type-not-taken")]


def test_library_adds_the_header_itself() -> None:
    sound = {"data": b64(SAMPLES), "mimeType": GEMINI}
    history = [{"role": "user", "parts": [{"text": "Listen."}, {"inlineData": sound}]}]
    made = render(read_messages(history).turns, "openai-chat")
    assert made.messages[0]["content"][1] == {
        "type": "input_audio",
        "input_audio": {"data": b64(WAV), "format": "wav"},
    }
    assert made.loss == ()
