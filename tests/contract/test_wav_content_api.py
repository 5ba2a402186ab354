"""Samples without a header, sent as a WAV file: `GET …/content?as=wav`."""

import hashlib
import io
import wave

import httpx
import pytest

from tests.contract.content_requests import upload
from tests.kit.media import png, tone

LITTLE = tone()


def wav_at(client: httpx.Client, path: str, **headers: str) -> httpx.Response:
    return client.get(path, params={"as": "wav"}, headers=headers)


@pytest.mark.parametrize(
    ("declared", "samples"),
    [
        ("audio/pcm;rate=24000", LITTLE),
        ("audio/L16;codec=pcm;rate=24000", LITTLE),
        ("audio/L16;rate=24000", LITTLE),
        ("audio/L16;rate=24000", tone(order=">")),
    ],
)
def test_samples_get_a_header_and_stay_as_they_are(
    client: httpx.Client, declared: str, samples: bytes
) -> None:
    path = upload(client, samples, declared, "speech.pcm")
    answer = wav_at(client, path)
    with wave.open(io.BytesIO(answer.content)) as read:
        assert (read.getframerate(), read.readframes(99_999)) == (24_000, LITTLE)
    digest = hashlib.sha256(samples).hexdigest()
    assert answer.headers["content-type"] == "audio/wav"
    assert answer.headers["content-disposition"] == 'inline; filename="speech.wav"'
    assert answer.headers["etag"] == f'"sha256-{digest}-wav"'
    assert "repr-digest" not in answer.headers
    stored = client.get(path)
    assert (stored.content, stored.headers["etag"]) == (samples, f'"sha256-{digest}"')
    record = client.get(path.removesuffix("/content")).json()
    assert (record["kind"], record["durationSeconds"]) == ("audio", 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requested", "span"),
    [
        ("bytes=0-9", (0, 10)),
        ("bytes=43-44", (43, 45)),
        ("bytes=45-50", (45, 51)),
        ("bytes=1048570-4097200", (1_048_570, 4_097_201)),
        ("bytes=-1", (-1, None)),
    ],
)
@pytest.mark.parametrize("mime_type", ["audio/L16;rate=24000;endian=big", "audio/PCMU;rate=16000"])
def test_ranges_are_those_of_the_file(
    client: httpx.Client, mime_type: str, requested: str, span: tuple[int, int | None]
) -> None:
    path = upload(client, tone(90) + bytes(len(requested)), mime_type, None)
    whole = wav_at(client, path)
    part = wav_at(client, path, Range=requested)
    size = len(whole.content)
    first, last = span[0] % size, (span[1] or size) - 1
    assert (part.status_code, part.content) == (206, whole.content[slice(*span)])
    assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
    several = wav_at(client, path, Range="bytes=0-3,60-63")
    assert several.status_code == 206
    assert b"RIFF" in several.content
    known = wav_at(client, path, **{"If-None-Match": whole.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    head = client.head(path, params={"as": "wav"})
    assert head.headers["content-length"] == str(len(whole.content))


def test_signed_link_leads_to_the_file_too(client: httpx.Client) -> None:
    path = upload(client, LITTLE, "audio/pcm;rate=24000", None)
    link = client.post(f"{path.removesuffix('/content')}/signed-url").json()["url"]
    linked = httpx.URL(link).copy_merge_params({"as": "wav"})
    answer = client.get(linked.raw_path.decode(), headers={"Authorization": ""})
    assert (answer.status_code, answer.content) == (200, wav_at(client, path).content)
    assert answer.headers["content-disposition"] == 'inline; filename="sound.wav"'


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [(png(), "image/png"), (LITTLE, "audio/L16"), (b"words", "text/plain")],
)
def test_other_content_has_no_form_as_wav(
    client: httpx.Client, content: bytes, mime_type: str
) -> None:
    path = upload(client, content, mime_type, None)
    refused = wav_at(client, path)
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported-media-type")
    assert client.get(path, params={"as": "mp3"}).status_code == 422
