"""Raw audio: samples without a header, whose format is only in the MIME type.

Speech services send audio in this form. The canonical types are `audio/pcm;rate=24000` for
little-endian samples, `audio/l16;rate=24000` for big-endian samples (RFC 2586, RFC 3190), and
`audio/pcmu` and `audio/pcma` for G.711 (RFC 3551).

`WavFile` converts raw audio into a WAV file. A range of that file needs only the samples in that
range, so requests with ranges do not read the whole audio.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

WAV_TYPE = "audio/wav"

ByteOrder = Literal["little", "big"]
_Law = Literal["u", "a"]

_MAX_RATE = 768_000
_MAX_CHANNELS = 64
_BITS = (8, 16, 24, 32)
# OpenAI's `audio/pcm` has no other rate, and speech of Gemini always has this one.
_DEFAULT_PCM_RATE = 24_000
_DEFAULT_G711_RATE = 8_000
# Types of linear samples, each with its default bits per sample and rate.
_LINEAR_TYPES = {
    **dict.fromkeys(("audio/pcm", "audio/x-pcm"), (16, _DEFAULT_PCM_RATE)),
    "audio/lpcm": (16, None),
    "audio/l8": (8, None),
    **dict.fromkeys(("audio/l16", "audio/x-l16"), (16, None)),
    "audio/l24": (24, None),
}
# Types of G.711, each with its companding law: µ-law or A-law.
_LAWS: dict[str, _Law] = {
    **dict.fromkeys(("audio/pcmu", "audio/basic", "audio/mulaw", "audio/ulaw"), "u"),
    **dict.fromkeys(("audio/x-mulaw", "audio/x-ulaw", "audio/g711_ulaw", "audio/g711-ulaw"), "u"),
    **dict.fromkeys(("audio/pcma", "audio/alaw", "audio/x-alaw"), "a"),
    **dict.fromkeys(("audio/g711_alaw", "audio/g711-alaw"), "a"),
}
_ESSENCES = frozenset((*_LINEAR_TYPES, *_LAWS))

# Names of parameters, as OpenAI, Gemini, Watson and Lex write them; the first that is found counts.
_RATE_NAMES = ("rate", "sample_rate", "sample-rate", "samplerate")
_CHANNEL_NAMES = ("channels", "channel-count")
_BITS_NAMES = ("bits", "sample-size-bits")
_BYTE_ORDER_NAMES = ("endian", "endianness")
_PARAMETERS_BY_MEMBER = {
    **dict.fromkeys(("sample_rate", "sampleRate", "rate"), "rate"),
    "channels": "channels",
}

_TYPES_BY_FORMAT: dict[str, str] = {
    "pcm16": "audio/pcm;rate=24000",
    "g711_ulaw": "audio/pcmu",
    "g711_alaw": "audio/pcma",
}
_FORMAT_WITH_RATE = re.compile(r"(pcm|ulaw|alaw)_([0-9]{4,6})")
_TYPES_BY_PREFIX = {"pcm": "audio/pcm", "ulaw": "audio/pcmu", "alaw": "audio/pcma"}

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_RIFF_BYTES_BEFORE_DATA = 36
_PCM = 1
_MAX_DATA_BYTES = (1 << 32) - 1 - _RIFF_BYTES_BEFORE_DATA - 1


@dataclass(frozen=True, slots=True)
class RawAudio:
    """The format of raw audio."""

    rate: int
    """Samples per second."""
    channels: int = 1
    bits: int = 16
    """The bits of a sample in a WAV file. G.711 has 8, and is expanded to 16."""
    law: _Law | None = None
    """The companding law of G.711; `None` for linear samples."""
    byte_order: ByteOrder | None = None
    """The byte order of a sample; `None` for G.711, and if the type does not declare it."""

    @property
    def sample_bytes(self) -> int:
        """The size of one stored sample."""
        return 1 if self.law else self.bits // 8

    @property
    def frame_bytes(self) -> int:
        """The size of one sample of every channel."""
        return self.sample_bytes * self.channels

    @property
    def mime_type(self) -> str:
        """The canonical type."""
        if self.law:
            essence = f"audio/pcm{self.law}"
            rate = "" if self.rate == _DEFAULT_G711_RATE else f";rate={self.rate}"
        else:
            is_big = self.byte_order != "little" and self.bits in (16, 24)
            essence, rate = f"audio/l{self.bits}" if is_big else "audio/pcm", f";rate={self.rate}"
        channels = "" if self.channels == 1 else f";channels={self.channels}"
        bits = f";bits={self.bits}" if essence == "audio/pcm" and self.bits != 16 else ""
        byte_order = ";endian=big" if essence == "audio/pcm" and self.byte_order == "big" else ""
        return f"{essence}{rate}{channels}{bits}{byte_order}"

    def seconds(self, size_bytes: int) -> float:
        """Return the playing time of samples of this size."""
        return size_bytes // self.frame_bytes / self.rate


def is_raw_audio(mime_type: str) -> bool:
    """Return whether a MIME type is one of raw audio, with any parameters."""
    return mime_type.partition(";")[0].strip().lower() in _ESSENCES


def parse_raw_audio(mime_type: str) -> RawAudio | None:
    """Return the format of raw audio that a MIME type declares, in any spelling.

    Return `None` for other types, and for types without a rate or with a parameter out of range.
    """
    if mime_type[:6].lower() != "audio/":
        return None
    essence, *rest = (piece.strip() for piece in mime_type.lower().split(";"))
    if essence not in _ESSENCES:
        return None
    pairs = (piece.partition("=") for piece in rest)
    parameters = {name.strip(): value.strip().strip('"') for name, _, value in pairs}
    law = _LAWS.get(essence)
    default_bits, default_rate = (16, _DEFAULT_G711_RATE) if law else _LINEAR_TYPES[essence]
    rate = _parse_number(parameters, _RATE_NAMES, default_rate)
    channels = _parse_number(parameters, _CHANNEL_NAMES, 1)
    bits = default_bits if law else _parse_number(parameters, _BITS_NAMES, default_bits)
    if rate is None or channels is None or bits not in _BITS:
        return None
    if not (1_000 <= rate <= _MAX_RATE and 1 <= channels <= _MAX_CHANNELS):
        return None
    return RawAudio(
        rate, channels, bits, law, None if law else _find_byte_order(essence, parameters)
    )


def _parse_number(
    parameters: Mapping[str, str], names: tuple[str, ...], default: int | None
) -> int | None:
    found = next((parameters[name] for name in names if name in parameters), None)
    if found is None:
        return default
    return int(found) if found.isdecimal() and found.isascii() and len(found) <= 6 else None


def _find_byte_order(essence: str, parameters: Mapping[str, str]) -> ByteOrder | None:
    declared = next((parameters[name] for name in _BYTE_ORDER_NAMES if name in parameters), "")
    is_big = parameters.get("is-big-endian")
    if declared.startswith("big") or is_big == "true":
        return "big"
    # Gemini's `audio/L16;codec=pcm` is little-endian, unlike the `audio/L16` of RFC 2586.
    is_little = (
        declared.startswith("little") or is_big == "false" or parameters.get("codec") == "pcm"
    )
    if is_little or "pcm" in essence or essence == "audio/l8":
        return "little"
    return None


def canonicalize_raw_type(mime_type: str) -> str | None:
    """Return the canonical spelling of a MIME type of raw audio, with all parameters.

    Return `None` for other types, and for types without parameters or without a rate.
    """
    if ";" not in mime_type:
        return None
    raw = parse_raw_audio(mime_type)
    return None if raw is None else raw.mime_type


def read_sample_parameters(mime_type: str, members: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters of raw audio that an object declares in members next to the MIME type.

    Args:
        mime_type: The type as it was declared.
        members: The object that declares it, such as an audio content of Gemini's interactions.

    Returns:
        The parameters, such as `rate=24000`, by the names of the members. Empty if the type is not
        one of raw audio, or has parameters itself.
    """
    if ";" in mime_type or not is_raw_audio(mime_type):
        return {}
    return {
        name: f"{parameter}={value}"
        for name, parameter in _PARAMETERS_BY_MEMBER.items()
        if type(value := members.get(name)) is int
    }


def type_of_format(name: str) -> str | None:
    """Return the MIME type of an audio format such as `pcm16`, `g711_ulaw` or `pcm_24000`.

    Return `None` for other formats.
    """
    if known := _TYPES_BY_FORMAT.get(name):
        return known
    match = _FORMAT_WITH_RATE.fullmatch(name)
    return canonicalize_raw_type(f"{_TYPES_BY_PREFIX[match[1]]};rate={match[2]}") if match else None


def detect_sample_type(head: bytes, mime_type: str) -> str | None:
    """Return the canonical type of raw audio, with a byte order that is detected if necessary.

    Services send `audio/L16` in both byte orders. In the right byte order, successive samples
    differ less. For silence, the result is little-endian, which Gemini sends.

    Args:
        head: The first bytes of the samples.
        mime_type: The declared type.

    Returns:
        The type; `None` if the declared type is not one of raw audio.
    """
    raw = parse_raw_audio(mime_type)
    if raw is None:
        return None
    if raw.byte_order is None and raw.law is None:
        is_big = _measure_roughness(head, raw, "big") < _measure_roughness(head, raw, "little")
        raw = replace(raw, byte_order="big" if is_big else "little")
    return raw.mime_type


def _measure_roughness(head: bytes, raw: RawAudio, byte_order: ByteOrder) -> int:
    """Return the sum of the differences between successive samples of the first channel."""
    width = raw.sample_bytes
    samples = [
        int.from_bytes(head[at : at + width], byte_order, signed=True)
        for at in range(0, len(head) - width + 1, raw.frame_bytes)
    ]
    return sum(abs(after - before) for before, after in pairwise(samples))


class SampleRange(NamedTuple):
    """The samples that are needed for a range of a WAV file."""

    start: int
    """The first byte of the raw audio."""
    end: int
    """The byte of the raw audio behind the last one."""
    skipped_bytes: int
    """The number of bytes to skip at the beginning of the converted samples."""


@dataclass(frozen=True, slots=True)
class WavFile:
    """A WAV file that is computed from raw audio.

    An incomplete frame at the end of the raw audio is left out.
    """

    raw: RawAudio
    raw_bytes: int
    """The size of the raw audio."""

    @property
    def _data_bytes(self) -> int:
        frames = self.raw_bytes // self.raw.frame_bytes
        return frames * self.raw.channels * self.raw.bits // 8

    @property
    def size_bytes(self) -> int:
        """The size of the file, with the byte that pads its last chunk to an even length."""
        return _HEADER.size + self._data_bytes + self._data_bytes % 2

    @property
    def header(self) -> bytes:
        """The bytes of the file before its samples."""
        width, size = self.raw.bits // 8, self._data_bytes
        frame = width * self.raw.channels
        return _HEADER.pack(
            *(b"RIFF", self.size_bytes - 8, b"WAVE"),
            *(b"fmt ", 16, _PCM, self.raw.channels, self.raw.rate, self.raw.rate * frame),
            *(frame, self.raw.bits, b"data", size),
        )

    def find_samples(self, start: int, end: int) -> SampleRange:
        """Return the samples that bytes `start` to `end` of the file are made from."""
        data_start = max(0, start - _HEADER.size)
        data_end = min(max(data_start, end - _HEADER.size), self._data_bytes)
        wav_width, raw_width = self.raw.bits // 8, self.raw.sample_bytes
        raw_start = data_start // wav_width * raw_width
        raw_end = max(raw_start, -(-data_end // wav_width) * raw_width)
        return SampleRange(raw_start, raw_end, data_start % wav_width)

    def convert(self, samples: bytes) -> bytes:
        """Return whole samples of the raw audio as samples of the WAV file."""
        if self.raw.law:
            return _expand_g711(samples, self.raw.law)
        width = self.raw.sample_bytes
        if self.raw.byte_order == "little" or width == 1:
            return samples
        swapped = bytearray(len(samples))
        for at in range(width):
            swapped[at::width] = samples[width - 1 - at :: width]
        return bytes(swapped)

    def write(self, samples: bytes) -> bytes:
        """Return the whole file, from all bytes of the raw audio."""
        whole_frames = samples[: self.raw_bytes // self.raw.frame_bytes * self.raw.frame_bytes]
        return self.header + self.convert(whole_frames) + b"\0" * (self._data_bytes % 2)


def plan_wav_file(mime_type: str, size_bytes: int) -> WavFile | None:
    """Return the WAV file of raw audio, without reading it.

    Return `None` for files of other types, and if the WAV file would have more than 4 GiB.
    """
    raw = parse_raw_audio(mime_type)
    if raw is None:
        return None
    if raw.byte_order is None and raw.law is None:
        # RFC 2586 defines samples without a declared byte order as big-endian.
        raw = replace(raw, byte_order="big")
    wav = WavFile(raw, size_bytes)
    return wav if wav.size_bytes <= _MAX_DATA_BYTES else None


def _expand_g711(samples: bytes, law: _Law) -> bytes:
    words = _G711_WORDS[law]
    expanded = bytearray(2 * len(samples))
    expanded[0::2] = samples.translate(words[0::2])
    expanded[1::2] = samples.translate(words[1::2])
    return bytes(expanded)


def _decode_u(code: int) -> int:
    """Return a sample of the µ-law (ITU-T G.711, table 2), scaled to 16 bits."""
    code = ~code & 0xFF
    size = (((code & 0x0F) << 3) + 0x84 << (code >> 4 & 7)) - 0x84
    return -size if code & 0x80 else size


def _decode_a(code: int) -> int:
    """Return a sample of the A-law (ITU-T G.711, table 1), scaled to 16 bits."""
    code ^= 0x55
    step, size = code >> 4 & 7, (code & 0x0F) << 4
    size += 8 if step == 0 else 0x108
    size <<= max(0, step - 1)
    return size if code & 0x80 else -size


# The samples of all codes.
_G711_WORDS: dict[_Law, bytes] = {
    "u": b"".join(struct.pack("<h", _decode_u(code)) for code in range(256)),
    "a": b"".join(struct.pack("<h", _decode_a(code)) for code in range(256)),
}
