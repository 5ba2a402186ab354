"""Samples without a header: their types, the order of their bytes, and their form as WAV."""

import io
import wave

import av
import pytest
from google.genai.types import Blob, Part
from openai.types.realtime import (
    RealtimeConversationItemAssistantMessage,
    RealtimeConversationItemUserMessage,
)

from pagefault_dialects import normalize
from pagefault_dialects.media.file_type import detect_type
from pagefault_dialects.media.headers import read_hints
from pagefault_dialects.media.raw_audio import RawAudio, parse_raw_audio, plan_wav_file
from pagefault_dialects.media.soundness import check_source_soundness
from pagefault_dialects.media.types import canonical_mime_type
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import MediaHints
from tests.kit.media import b64, noise_bytes, tone, wav

LITTLE, BIG = tone(), tone(order=">")


@pytest.mark.parametrize(
    ("declared", "canonical"),
    [
        # OpenAI, and Gemini Live.
        ("audio/pcm;rate=24000", "audio/pcm;rate=24000"),
        ("audio/pcm; rate=16000", "audio/pcm;rate=16000"),
        ("audio/pcm", "audio/pcm"),
        ("audio/pcmu", "audio/pcmu"),
        ("AUDIO/PCMA", "audio/pcma"),
        # Speech and music of Gemini.
        ("audio/L16;codec=pcm;rate=24000", "audio/pcm;rate=24000"),
        ("audio/l16;rate=48000;channels=2", "audio/l16;rate=48000;channels=2"),
        # Watson and Lex.
        ("audio/l16; rate=44100; endianness=little-endian", "audio/pcm;rate=44100"),
        (
            "audio/lpcm; sample-rate=8000; sample-size-bits=16; channel-count=1; "
            "is-big-endian=false",
            "audio/pcm;rate=8000",
        ),
        # RFC 2046, RFC 3551, RFC 3190.
        ("audio/basic", "audio/basic"),
        ("audio/PCMU;rate=8000;channels=1", "audio/pcmu"),
        ("audio/PCMU;rate=16000", "audio/pcmu;rate=16000"),
        ("audio/L24;rate=48000;channels=2", "audio/l24;rate=48000;channels=2"),
        ("audio/pcm;rate=48000;bits=32;endian=big", "audio/pcm;rate=48000;bits=32;endian=big"),
        # A rate that is missing or absurd, and other types, whose parameters are dropped as ever.
        ("audio/L16", "audio/l16"),
        ("audio/pcm;rate=1e9", "audio/pcm"),
        ("audio/pcm;rate=99999999999999999999", "audio/pcm"),
        ("audio/pcm;rate=24000;channels=0", "audio/pcm"),
        ("audio/pcm;rate=24000;bits=17", "audio/pcm"),
        ("audio/ogg; codecs=opus", "audio/ogg"),
        ("text/plain;rate=24000", "text/plain"),
    ],
)
def test_type_keeps_the_format_of_its_samples(declared: str, canonical: str) -> None:
    assert canonical_mime_type(declared) == canonical
    assert canonical_mime_type(canonical) == canonical


@pytest.mark.parametrize(
    ("declared", "samples", "stored"),
    [
        ("audio/L16;rate=24000", LITTLE, "audio/pcm;rate=24000"),
        ("audio/L16;rate=24000", BIG, "audio/l16;rate=24000"),
        ("audio/L16;rate=24000", bytes(4_096), "audio/pcm;rate=24000"),
        ("audio/L16;rate=24000", b"", "audio/pcm;rate=24000"),
        ("audio/L16;rate=24000;endian=big", LITTLE, "audio/l16;rate=24000"),
        ("audio/L16;codec=pcm;rate=24000", BIG, "audio/pcm;rate=24000"),
        # By chance samples begin like a frame of MP3; a whole file has its own type.
        ("audio/pcm;rate=24000", b"\xff\xfb\x90\x00" + LITTLE, "audio/pcm;rate=24000"),
        ("audio/pcm;rate=24000", wav(), "audio/wav"),
        ("audio/basic", b".snd\0\0\0\x18" + LITTLE, "audio/x-au"),
    ],
)
def test_order_of_the_bytes_is_heard_where_the_type_does_not_say_it(
    declared: str, samples: bytes, stored: str
) -> None:
    assert detect_type(samples[:4_096], declared, None) == stored


@pytest.mark.parametrize(
    ("block", "mime_type"),
    [
        ({"inlineData": {"mimeType": "audio/L16;codec=pcm;rate=24000"}}, "audio/pcm;rate=24000"),
        ({"type": "input_audio", "input_audio": {"format": "pcm16"}}, "audio/pcm;rate=24000"),
        ({"type": "input_audio", "input_audio": {"format": "g711_ulaw"}}, "audio/pcmu"),
        ({"type": "input_audio", "input_audio": {"format": "g711_alaw"}}, "audio/pcma"),
        ({"type": "input_audio", "input_audio": {"format": "ulaw_8000"}}, "audio/pcmu"),
        ({"type": "input_audio", "input_audio": {"format": "pcm_16000"}}, "audio/pcm;rate=16000"),
        ({"type": "audio", "mimeType": "g711_ulaw"}, "audio/pcmu"),
        ({"type": "audio", "mimeType": "audio/g711-alaw"}, "audio/g711-alaw"),
        # An audio content of Gemini's interactions.
        (
            {"type": "audio", "mime_type": "audio/l16", "sample_rate": 24_000, "channels": 2},
            "audio/l16;rate=24000;channels=2",
        ),
    ],
)
def test_blocks_say_the_format_in_their_own_words(block: dict[str, object], mime_type: str) -> None:
    (holder,) = [item for item in block.values() if isinstance(item, dict)] or [block]
    holder["data"] = b64(noise_bytes(3_000))
    read = normalize({"content": [block]})
    declared = [medium.source.declared_mime_type or "" for medium in read.media]
    assert ([canonical_mime_type(item) for item in declared], len(read.parts)) == ([mime_type], 1)
    del holder["data"]


def test_sdks_of_today_give_samples_with_their_format() -> None:
    sound = noise_bytes(3_000)
    blob = Blob(data=sound, mime_type="audio/L16;codec=pcm;rate=24000")
    spoken, answered = (
        each.model_validate(
            {"type": "message", "role": role, "content": [{"type": kind, "audio": b64(sound)}]}
        )
        for each, role, kind in (
            (RealtimeConversationItemUserMessage, "user", "input_audio"),
            (RealtimeConversationItemAssistantMessage, "assistant", "output_audio"),
        )
    )
    for dump in (
        Part(inline_data=blob).model_dump(mode="json", exclude_none=True),
        Part(inline_data=blob).model_dump(mode="json", by_alias=True, exclude_none=True),
        spoken.model_dump(mode="json", exclude_none=True),
        answered.model_dump(mode="json", exclude_none=True),
    ):
        (medium,) = normalize(dump).media
        head, declared = medium.source.head(4_096), medium.source.declared_mime_type
        assert (head, detect_type(head, declared, None)) == (sound, "audio/pcm;rate=24000")


def test_realtime_item_with_a_whole_file_has_the_type_of_the_file() -> None:
    item = {"type": "input_audio", "audio": b64(wav())}
    (medium,) = normalize({"content": [item]}).media
    assert detect_type(wav()[:4_096], medium.source.declared_mime_type, None) == "audio/wav"


@pytest.mark.parametrize(
    ("mime_type", "samples"),
    [("audio/pcm;rate=24000", LITTLE), ("audio/l16;rate=24000", BIG), ("audio/pcm", LITTLE)],
)
def test_wav_has_the_same_samples(mime_type: str, samples: bytes) -> None:
    file = plan_wav_file(mime_type, len(samples) + 1)
    assert file is not None
    # A byte that is no whole sample is left out.
    whole = file.write(samples + b"\0")
    assert len(whole) == file.size_bytes
    with wave.open(io.BytesIO(whole)) as read:
        assert read.getparams()[:4] == (1, 2, 24_000, 24_000)
        assert read.readframes(24_000) == LITTLE
    assert read_hints(samples, mime_type) == MediaHints(duration_seconds=1.0)
    assert check_source_soundness(InMemoryMedia(samples), mime_type) is None


@pytest.mark.parametrize(("mime_type", "codec"), [("audio/pcmu", "mulaw"), ("audio/pcma", "alaw")])
def test_codes_of_g711_are_expanded_as_a_decoder_does(mime_type: str, codec: str) -> None:
    codes = bytes(range(256))
    decoder = av.CodecContext.create(f"pcm_{codec}", "r")
    decoder.sample_rate, decoder.layout = 8_000, "mono"  # type: ignore[attr-defined]
    (frame,) = decoder.decode(av.Packet(codes))  # type: ignore[attr-defined]
    file = plan_wav_file(mime_type, len(codes))
    assert file is not None
    assert file.write(codes)[44:] == bytes(frame.planes[0])[:512]


@pytest.mark.parametrize("mime_type", ["audio/wav", "audio/l16", "audio/mpeg", "text/plain", ""])
def test_other_types_have_no_form_as_wav(mime_type: str) -> None:
    assert plan_wav_file(mime_type, 1_000) is None


def test_file_of_more_than_four_gibibytes_has_no_form_as_wav() -> None:
    assert plan_wav_file("audio/pcm;rate=24000", (1 << 32) - 100) is not None
    assert plan_wav_file("audio/pcm;rate=24000", 1 << 32) is None
    assert plan_wav_file("audio/pcmu", 1 << 31) is None


@pytest.mark.parametrize("size_bytes", [0, 1, 2, 3, 7, 8])
@pytest.mark.parametrize(
    "raw",
    [
        RawAudio(8_000, byte_order="little"),
        RawAudio(8_000, channels=2, byte_order="big"),
        RawAudio(8_000, bits=24, byte_order="big"),
        RawAudio(8_000, bits=8, byte_order="little"),
        RawAudio(8_000, law="u"),
    ],
)
def test_every_part_of_the_file_is_made_from_its_own_samples(
    raw: RawAudio, size_bytes: int
) -> None:
    samples = noise_bytes(size_bytes)
    assert parse_raw_audio(raw.mime_type) is not None
    file = plan_wav_file(raw.mime_type, size_bytes)
    assert file is not None
    whole = file.write(samples)
    assert (len(whole), len(whole) % 2) == (file.size_bytes, 0)
    for start in range(len(whole)):
        for end in range(start + 1, len(whole) + 1):
            first, last, skipped = file.find_samples(start, end)
            made = file.header[start:end] + file.convert(samples[first:last])[skipped:]
            assert (made + b"\0")[: end - start] == whole[start:end]
