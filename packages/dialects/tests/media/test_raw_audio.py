"""Samples without a header: their types, the order of their bytes, and their form as WAV."""

import io
import struct
import wave
from functools import partial

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
from pagefault_dialects.media.raw_audio import (
    RawAudio,
    canonicalize_raw_type,
    detect_sample_type,
    is_raw_audio,
    parse_raw_audio,
    plan_wav_file,
    read_sample_parameters,
    type_of_format,
)
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


little = partial(RawAudio, byte_order="little")
# Types without their family.
PARSED = [
    ("pcm", little(24_000), "pcm;rate=24000"),
    ("x-pcm;rate=8000", little(8_000), "pcm;rate=8000"),
    ("l8;rate=8000", RawAudio(8_000, 1, 8, None, "little"), "pcm;rate=8000;bits=8"),
    ("l16;rate=8000", RawAudio(8_000), "l16;rate=8000"),
    ("x-l16;rate=8000;endian=little", little(8_000), "pcm;rate=8000"),
    ("l16;rate=8000;is-big-endian=false", little(8_000), "pcm;rate=8000"),
    ("pcm;rate=8000;is-big-endian=true", RawAudio(8_000, byte_order="big"), "l16;rate=8000"),
    ("l24;samplerate=8000", RawAudio(8_000, 1, 24), "l24;rate=8000"),
    (
        "pcm;bits=32;endianness=big-endian",
        RawAudio(24_000, 1, 32, None, "big"),
        "pcm;rate=24000;bits=32;endian=big",
    ),
    (
        "pcm;sample-size-bits=8;endian=big",
        RawAudio(24_000, 1, 8, None, "big"),
        "pcm;rate=24000;bits=8;endian=big",
    ),
    ('PCM ; Rate="8000" ; CHANNELS = 2', little(8_000, 2), "pcm;rate=8000;channels=2"),
    ("pcm;rate=768000;channels=64", little(768_000, 64), "pcm;rate=768000;channels=64"),
    ("pcm;rate=1000;channel-count=1", little(1_000), "pcm;rate=1000"),
    ("pcm;rate=1000;sample_rate=2000", little(1_000), "pcm;rate=1000"),
    ("basic", RawAudio(8_000, law="u"), "pcmu"),
    (
        "x-alaw;rate=16000;channels=2;bits=24",
        RawAudio(16_000, 2, law="a"),
        "pcma;rate=16000;channels=2",
    ),
    *(
        (f"{declared}", None, None)
        for declared in (
            *("l16", "lpcm", "l24", "pcm;rate=999", "pcm;rate=768001", "pcm;rate=0"),
            *(
                "pcm;rate=-8000",
                "pcm;rate=8000.0",
                "pcm;rate=",
                "pcm;rate=0008000",
                "pcm;rate=\u0668000",
            ),
            *("pcm;channels=0", "pcm;channels=65", "pcm;bits=12", "pcm;bits=x", "wav;rate=8000"),
        )
    ),
]


def test_format_of_samples_is_parsed_from_any_spelling_and_written_in_one() -> None:
    for declared, raw, name in PARSED:
        mime_type = f"Audio/{declared}"
        canonical = f"audio/{name}" if name and ";" in declared else None
        found = (parse_raw_audio(mime_type), canonicalize_raw_type(mime_type))
        assert (declared, *found) == (declared, raw, canonical)
        assert raw is None or raw.mime_type == f"audio/{name}"
    assert [parse_raw_audio(item) for item in ("pcm;rate=8000", "video/pcm")] == [None, None]


def test_size_of_samples_and_their_playing_time_follow_from_the_format() -> None:
    sizes = {
        RawAudio(8_000): (2, 2, 0.5),
        RawAudio(8_000, channels=2): (2, 4, 0.25),
        RawAudio(8_000, bits=24): (3, 3, 2_667 / 8_000),
        RawAudio(8_000, channels=2, law="u"): (1, 2, 0.5),
    }
    found = {raw: (raw.sample_bytes, raw.frame_bytes, raw.seconds(8_001)) for raw in sizes}
    assert found == sizes


def test_raw_audio_is_known_by_its_type() -> None:
    declared = ["audio/pcm", " AUDIO/PCM ; rate=1", "audio/g711-alaw", "audio/wav", "pcm", ""]
    assert [is_raw_audio(item) for item in declared] == [True, True, True, False, False, False]


def test_parameters_of_samples_are_read_from_members_beside_the_type() -> None:
    members = {"sample_rate": 8_000, "sampleRate": 9_000, "rate": 1.5, "channels": True, "bits": 8}
    assert read_sample_parameters("audio/l16", members) == {
        "sample_rate": "rate=8000",
        "sampleRate": "rate=9000",
    }
    assert read_sample_parameters("audio/l16", {"rate": 1, "channels": 2}) == {
        "rate": "rate=1",
        "channels": "channels=2",
    }
    assert read_sample_parameters("audio/l16;rate=1", members) == {}
    assert read_sample_parameters("audio/wav", members) == {}


def test_names_of_formats_are_types() -> None:
    formats = [
        ("pcm16", "audio/pcm;rate=24000"),
        ("g711_ulaw", "audio/pcmu"),
        ("g711_alaw", "audio/pcma"),
        ("pcm_44100", "audio/pcm;rate=44100"),
        ("ulaw_8000", "audio/pcmu"),
        ("alaw_16000", "audio/pcma;rate=16000"),
        *((name, None) for name in ("pcm", "pcm_100", "pcm_9999999", "pcm_999999", "mp3_44100")),
    ]
    assert [(name, type_of_format(name)) for name, _ in formats] == formats


def test_order_of_bytes_is_detected_in_the_first_channel() -> None:
    # The first channel is smooth in one order, the second one is loud in either.
    frames = [(index, index * 7_919 % 65_536 - 32_768) for index in range(0, 2_000, 40)]
    for order, stored in (("<", "audio/pcm"), (">", "audio/l16")):
        head = b"".join(struct.pack(f"{order}hh", *frame) for frame in frames) + b"\x7f"
        found = detect_sample_type(head, "audio/l16;rate=8000;channels=2")
        assert found == f"{stored};rate=8000;channels=2"
    three = b"".join((index * 5_000).to_bytes(3) for index in range(40))
    assert detect_sample_type(three, "audio/l24;rate=8000") == "audio/l24;rate=8000"
    assert detect_sample_type(b"", "audio/l24;rate=8000") == "audio/pcm;rate=8000;bits=24"
    assert detect_sample_type(b"\x7f", "audio/pcmu") == "audio/pcmu"
    assert detect_sample_type(b"", "audio/wav") is None


def test_header_of_the_file_has_the_format() -> None:
    file = plan_wav_file("audio/l24;rate=48000;channels=2", 61)
    assert file is not None
    parts = (16, 1, 2, 48_000, 288_000, 6, 24, b"data", 60)
    assert file.header == b"RIFF\x60\0\0\0WAVEfmt " + struct.pack("<IHHIIHH4sI", *parts)
    assert (file.size_bytes, file.find_samples(0, 10), file.find_samples(45, 48)) == (
        *(104, (0, 0, 0), (0, 6, 1)),
    )
    law = plan_wav_file("audio/pcma", 3)
    assert law is not None
    assert (law.size_bytes, law.raw, law.find_samples(47, 99)) == (
        *(50, RawAudio(8_000, law="a"), (1, 3, 1)),
    )
