"""Sound without a header: samples, whose format only the MIME type says.

Speech services stream their samples so. The format is kept in the type: `audio/pcm;rate=24000` for
little-endian samples, `audio/l16;rate=24000` for big-endian ones (RFC 2586, RFC 3190), `audio/pcmu`
and `audio/pcma` for G.711 (RFC 3551). `WavFile` is the same sound behind the header of a WAV file,
any part of which is made from the samples of that part alone.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Literal

WAV_TYPE = "audio/wav"

ByteOrder = Literal["little", "big"]
_Law = Literal["u", "a"]

_MAX_RATE = 768_000
_MAX_CHANNELS = 64
_BITS = (8, 16, 24, 32)
# The only rate of OpenAI's `audio/pcm`, and that of all speech of Gemini.
_RATE_OF_PCM = 24_000
_RATE_OF_G711 = 8_000
_LINEAR = {
    **dict.fromkeys(("audio/pcm", "audio/x-pcm"), (16, _RATE_OF_PCM)),
    "audio/lpcm": (16, None),
    "audio/l8": (8, None),
    **dict.fromkeys(("audio/l16", "audio/x-l16"), (16, None)),
    "audio/l24": (24, None),
}
_LAWS: dict[str, _Law] = {
    **dict.fromkeys(("audio/pcmu", "audio/basic", "audio/mulaw", "audio/ulaw"), "u"),
    **dict.fromkeys(("audio/x-mulaw", "audio/x-ulaw", "audio/g711_ulaw", "audio/g711-ulaw"), "u"),
    **dict.fromkeys(("audio/pcma", "audio/alaw", "audio/x-alaw"), "a"),
    **dict.fromkeys(("audio/g711_alaw", "audio/g711-alaw"), "a"),
}
_ESSENCES = frozenset((*_LINEAR, *_LAWS))

# The names of OpenAI, Gemini, Watson and Lex, in the order in which they are looked up.
_RATES = ("rate", "sample_rate", "sample-rate", "samplerate")
_CHANNELS = ("channels", "channel-count")
_WIDTHS = ("bits", "sample-size-bits")
_ORDERS = ("endian", "endianness")
_MEMBERS = {
    **dict.fromkeys(("sample_rate", "sampleRate", "rate"), "rate"),
    "channels": "channels",
}

_FORMATS: dict[str, str] = {
    "pcm16": "audio/pcm;rate=24000",
    "g711_ulaw": "audio/pcmu",
    "g711_alaw": "audio/pcma",
}
_FORMAT_WITH_RATE = re.compile(r"(pcm|ulaw|alaw)_([0-9]{4,6})")
_TYPE_OF_FORMAT = {"pcm": "audio/pcm", "ulaw": "audio/pcmu", "alaw": "audio/pcma"}

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_HEADER_REST = 36
_PCM = 1
_MAX_DATA_BYTES = (1 << 32) - 1 - _HEADER_REST - 1


@dataclass(frozen=True, slots=True)
class RawAudio:
    """The format of samples without a header."""

    rate: int
    channels: int = 1
    bits: int = 16
    """Of a sample in a WAV file; G.711 has 8 bits and is written in 16."""
    law: _Law | None = None
    """The companding of G.711."""
    order: ByteOrder | None = None
    """The order of the bytes; `None` if the type does not say it, and the bytes have to."""

    @property
    def sample_bytes(self) -> int:
        """The bytes of one sample."""
        return 1 if self.law else self.bits // 8

    @property
    def frame_bytes(self) -> int:
        """The bytes of one sample of all channels."""
        return self.sample_bytes * self.channels

    @property
    def mime_type(self) -> str:
        """The canonical type."""
        if self.law:
            essence, usual = f"audio/pcm{self.law}", _RATE_OF_G711
            rate = "" if self.rate == usual else f";rate={self.rate}"
        else:
            is_big = self.order != "little" and self.bits in (16, 24)
            essence, rate = f"audio/l{self.bits}" if is_big else "audio/pcm", f";rate={self.rate}"
        channels = "" if self.channels == 1 else f";channels={self.channels}"
        bits = f";bits={self.bits}" if essence == "audio/pcm" and self.bits != 16 else ""
        order = ";endian=big" if essence == "audio/pcm" and self.order == "big" else ""
        return f"{essence}{rate}{channels}{bits}{order}"

    def seconds(self, size_bytes: int) -> float:
        """Return the playing time of samples."""
        return size_bytes // self.frame_bytes / self.rate


def is_raw_audio(mime_type: str) -> bool:
    """Return whether a type is one of samples without a header, whatever its parameters."""
    return mime_type.partition(";")[0].strip().lower() in _ESSENCES


def parse_raw_audio(mime_type: str) -> RawAudio | None:
    """Return the format that a type says, in any spelling.

    Return `None` for other types, and if the rate is missing or a parameter is out of range.
    """
    if mime_type[:6].lower() != "audio/":
        return None
    essence, *rest = (piece.strip() for piece in mime_type.lower().split(";"))
    if essence not in _ESSENCES:
        return None
    pairs = (piece.partition("=") for piece in rest)
    parameters = {name.strip(): value.strip().strip('"') for name, _, value in pairs}
    law = _LAWS.get(essence)
    usual_bits, usual_rate = (16, _RATE_OF_G711) if law else _LINEAR[essence]
    rate = _number(parameters, _RATES, usual_rate)
    channels = _number(parameters, _CHANNELS, 1)
    bits = usual_bits if law else _number(parameters, _WIDTHS, usual_bits)
    if rate is None or channels is None or bits not in _BITS:
        return None
    if not (1_000 <= rate <= _MAX_RATE and 1 <= channels <= _MAX_CHANNELS):
        return None
    return RawAudio(rate, channels, bits, law, None if law else _order(essence, parameters))


def _number(
    parameters: Mapping[str, str], names: tuple[str, ...], default: int | None
) -> int | None:
    found = next((parameters[name] for name in names if name in parameters), None)
    if found is None:
        return default
    return int(found) if found.isdecimal() and found.isascii() and len(found) <= 6 else None


def _order(essence: str, parameters: Mapping[str, str]) -> ByteOrder | None:
    named = next((parameters[name] for name in _ORDERS if name in parameters), "")
    is_big = parameters.get("is-big-endian")
    if named.startswith("big") or is_big == "true":
        return "big"
    # Gemini's `audio/L16;codec=pcm` is little-endian, unlike that of RFC 2586.
    is_little = named.startswith("little") or is_big == "false" or parameters.get("codec") == "pcm"
    if is_little or "pcm" in essence or essence == "audio/l8":
        return "little"
    return None


def canonical_raw_type(mime_type: str) -> str | None:
    """Return a type with the parameters that its samples need; `None` for any other type.

    A type that says too little to be played has no canonical form here either, nor has one without
    parameters.
    """
    if ";" not in mime_type:
        return None
    raw = parse_raw_audio(mime_type)
    return None if raw is None else raw.mime_type


def format_members(mime_type: str, members: Mapping[str, object]) -> dict[str, str]:
    """Return the members beside a type without parameters that say the format of its samples.

    Args:
        mime_type: A type as it was declared.
        members: The object that declares it, such as an audio content of Gemini's interactions.

    Returns:
        For each member the parameter that it is, such as `rate=24000`.
    """
    if ";" in mime_type or not is_raw_audio(mime_type):
        return {}
    return {
        name: f"{parameter}={value}"
        for name, parameter in _MEMBERS.items()
        if type(value := members.get(name)) is int
    }


def type_of_format(name: str) -> str | None:
    """Return the type of samples in a `format`, such as `pcm16`, `g711_ulaw` or `pcm_24000`."""
    if known := _FORMATS.get(name):
        return known
    match = _FORMAT_WITH_RATE.fullmatch(name)
    return canonical_raw_type(f"{_TYPE_OF_FORMAT[match[1]]};rate={match[2]}") if match else None


def type_by_samples(head: bytes, mime_type: str) -> str | None:
    """Return the canonical type of samples, whose first bytes say their order if the type does not.

    Services send `audio/L16` in both orders, and sound is smooth in one of them: there, successive
    samples differ less. Silence says nothing, and is little-endian as Gemini's.
    """
    raw = parse_raw_audio(mime_type)
    if raw is None:
        return None
    if raw.order is None and raw.law is None:
        is_big = _roughness(head, raw, "big") < _roughness(head, raw, "little")
        raw = replace(raw, order="big" if is_big else "little")
    return raw.mime_type


def _roughness(head: bytes, raw: RawAudio, order: ByteOrder) -> int:
    width = raw.sample_bytes
    samples = [
        int.from_bytes(head[at : at + width], order, signed=True)
        for at in range(0, len(head) - width + 1, raw.frame_bytes)
    ]
    return sum(abs(after - before) for before, after in pairwise(samples))


@dataclass(frozen=True, slots=True)
class WavFile:
    """Samples as a WAV file, of which any part can be made.

    Bytes after the last whole frame are left out.
    """

    raw: RawAudio
    raw_bytes: int
    """The size of the samples."""

    @property
    def _data_bytes(self) -> int:
        frames = self.raw_bytes // self.raw.frame_bytes
        return frames * self.raw.channels * self.raw.bits // 8

    @property
    def size_bytes(self) -> int:
        """The size of the file. Its last chunk is padded to an even length."""
        return _HEADER.size + self._data_bytes + self._data_bytes % 2

    @property
    def header(self) -> bytes:
        """The first bytes of the file, before its samples."""
        width, size = self.raw.bits // 8, self._data_bytes
        frame = width * self.raw.channels
        return _HEADER.pack(
            *(b"RIFF", self.size_bytes - 8, b"WAVE"),
            *(b"fmt ", 16, _PCM, self.raw.channels, self.raw.rate, self.raw.rate * frame),
            *(frame, self.raw.bits, b"data", size),
        )

    def samples_of(self, start: int, end: int) -> tuple[int, int, int]:
        """Return the samples that a part of the file is made from.

        Returns:
            The first and the last byte of the samples, and how many bytes of the first one, as the
            file has it, are before the part.
        """
        first = max(0, start - _HEADER.size)
        last = min(max(first, end - _HEADER.size), self._data_bytes)
        wide, narrow = self.raw.bits // 8, self.raw.sample_bytes
        begin = first // wide * narrow
        return begin, max(begin, -(-last // wide) * narrow), first % wide

    def convert(self, samples: bytes) -> bytes:
        """Return whole samples as the file has them."""
        if self.raw.law:
            return _expanded(samples, self.raw.law)
        width = self.raw.sample_bytes
        if self.raw.order == "little" or width == 1:
            return samples
        swapped = bytearray(len(samples))
        for at in range(width):
            swapped[at::width] = samples[width - 1 - at :: width]
        return bytes(swapped)

    def whole(self, samples: bytes) -> bytes:
        """Return the whole file of samples in memory."""
        kept = self.raw_bytes // self.raw.frame_bytes * self.raw.frame_bytes
        return self.header + self.convert(samples[:kept]) + b"\0" * (self._data_bytes % 2)


def wav_of(mime_type: str, size_bytes: int) -> WavFile | None:
    """Return stored samples as a WAV file; `None` for other types, and above 4 GiB."""
    raw = parse_raw_audio(mime_type)
    if raw is None:
        return None
    if raw.order is None and raw.law is None:
        raw = replace(raw, order="big")
    wav = WavFile(raw, size_bytes)
    return wav if wav.size_bytes <= _MAX_DATA_BYTES else None


def _expanded(samples: bytes, law: _Law) -> bytes:
    low, high = _tables(law)
    wide = bytearray(2 * len(samples))
    wide[0::2] = samples.translate(low)
    wide[1::2] = samples.translate(high)
    return bytes(wide)


@cache
def _tables(law: _Law) -> tuple[bytes, bytes]:
    """Return the low and the high bytes of the 16-bit samples of G.711."""
    decode = _decode_u if law == "u" else _decode_a
    words = b"".join(struct.pack("<h", decode(code)) for code in range(256))
    return words[0::2], words[1::2]


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
