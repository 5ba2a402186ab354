"""Media made on the spot: small, valid, and the same bytes in every run.

Nothing is downloaded and no binary file is checked in; what a factory cannot make has no test.
"""

import base64
import hashlib
import io
import math
import struct
import tempfile
import wave
import zlib
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path

import av
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.stream import VideoStream
from PIL import Image

_SAMPLE_RATE = 48_000
_SAMPLES_PER_FRAME = 960
_FRAMES_PER_SECOND = 10


@cache
def b64(data: bytes) -> str:
    """Return bytes as base64, as tools put them into their results."""
    return base64.b64encode(data).decode()


@lru_cache(maxsize=256)
def image(file_format: str, width: int = 64, height: int = 48, *, noise: bool = False) -> bytes:
    """An image in one of Pillow's formats; with `noise` it is as large as its pixels are many."""
    picture = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    if noise:
        picture = Image.frombytes("RGB", (width, height), noise_bytes(width * height * 3))
    buffer = io.BytesIO()
    picture.save(buffer, file_format)
    return buffer.getvalue()


def png(width: int = 64, height: int = 48, *, noise: bool = False) -> bytes:
    """A PNG image."""
    return image("PNG", width, height, noise=noise)


def jpeg(width: int = 64, height: int = 48, *, noise: bool = False) -> bytes:
    """A JPEG image."""
    return image("JPEG", width, height, noise=noise)


def gif(width: int = 64, height: int = 48) -> bytes:
    """A GIF image of one frame."""
    return image("GIF", width, height)


def webp(width: int = 64, height: int = 48) -> bytes:
    """A WebP image."""
    return image("WEBP", width, height)


@cache
def jpeg_on_its_side(width: int = 64, height: int = 48) -> bytes:
    """A photograph whose Exif orientation asks for a quarter turn."""
    picture = Image.new("RGB", (width, height))
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", exif=exif)
    return buffer.getvalue()


def png_claiming(width: int, height: int) -> bytes:
    """A PNG whose header claims any size, with next to nothing behind it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@cache
def wav(seconds: float = 1.0, sample_rate: int = 8_000) -> bytes:
    """Mono 16-bit PCM."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(noise_bytes(round(seconds * sample_rate) * 2))
    return buffer.getvalue()


@cache
def tone(seconds: float = 1.0, sample_rate: int = 24_000, order: str = "<") -> bytes:
    """Samples of 16 bits without a header, which swing slowly; `order` is that of `struct`."""
    count = round(seconds * sample_rate)
    swing = 2 * math.pi * 440 / sample_rate
    return struct.pack(
        f"{order}{count}h", *(round(9e3 * math.sin(swing * n)) for n in range(count))
    )


def mp3(seconds: float = 1.0, *, says_size: bool = True) -> bytes:
    """MPEG audio, layer III; its first frame says how long it is, unless it is not to."""
    options = () if says_size else (("write_xing", "0"), ("id3v2_version", "0"))
    return _encoded("mp3", seconds, audio="libmp3lame", options=options)


def ogg(seconds: float = 1.0) -> bytes:
    """Opus in Ogg."""
    return _encoded("ogg", seconds, audio="libopus")


def flac(seconds: float = 1.0) -> bytes:
    """FLAC."""
    return _encoded("flac", seconds, audio="flac")


def m4a(seconds: float = 1.0) -> bytes:
    """AAC in MP4, without video."""
    return _encoded("ipod", seconds, audio="aac")


def mp4(
    seconds: float = 1.0, *, header_first: bool = False, size: tuple[int, int] = (64, 48)
) -> bytes:
    """H.264 in MP4; its header is behind the media unless it is asked for first."""
    options = (("movflags", "faststart"),) if header_first else ()
    return _encoded("mp4", seconds, video="libx264", size=size, options=options)


def webm(seconds: float = 1.0, *, open_sizes: bool = False) -> bytes:
    """VP8 in WebM; with open sizes as a browser records it."""
    options = (("live", "1"),) if open_sizes else ()
    return _encoded("webm", seconds, video="libvpx", options=options)


@cache
def pdf(text: str = "Pagefault") -> bytes:
    """A PDF of one page with one line in ASCII."""
    content = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, offsets = b"%PDF-1.4\n", []
    for number, entry in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, entry)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n" % (
        len(objects) + 1,
        len(body),
    )
    return (
        body
        + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
        + table
        + trailer
        + b"%%EOF"
    )


@cache
def noise_bytes(size: int) -> bytes:
    """Bytes that neither compress nor mean anything, the same in every run."""
    return hashlib.shake_128(b"noise").digest(size)


@cache
def _encoded(
    file_format: str,
    seconds: float,
    *,
    audio: str | None = None,
    video: str | None = None,
    size: tuple[int, int] = (64, 48),
    options: tuple[tuple[str, str], ...] = (),
) -> bytes:
    # Bit-exact output carries no version, date or random number of the encoder. A file and not a
    # buffer, since the muxer reopens what it wrote to move the header of an MP4 forward.
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "media")
        muxing = {"fflags": "+bitexact", **dict(options)}
        with av.open(str(path), "w", format=file_format, options=muxing) as container:
            if video is not None:
                _add_video(container, video, seconds, size)
            if audio is not None:
                _add_audio(container, audio, seconds)
        return path.read_bytes()


def _add_video(
    container: OutputContainer, codec: str, seconds: float, size: tuple[int, int]
) -> None:
    stream = container.add_stream(codec, rate=_FRAMES_PER_SECOND)
    assert isinstance(stream, VideoStream)
    (stream.width, stream.height), stream.pix_fmt = size, "yuv420p"
    # Several threads may divide the work differently in each run.
    stream.codec_context.thread_count = 1
    for number in range(round(seconds * _FRAMES_PER_SECOND)):
        frame = av.VideoFrame(*size, "yuv420p")
        for plane in frame.planes:
            plane.update(bytes([number * 7 % 256]) * plane.buffer_size)
        frame.pts, frame.time_base = number, Fraction(1, _FRAMES_PER_SECOND)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def _add_audio(container: OutputContainer, codec: str, seconds: float) -> None:
    stream = container.add_stream(codec, rate=_SAMPLE_RATE)
    assert isinstance(stream, AudioStream)
    stream.layout = "mono"
    for start in range(0, round(seconds * _SAMPLE_RATE), _SAMPLES_PER_FRAME):
        frame = av.AudioFrame(format="s16", layout="mono", samples=_SAMPLES_PER_FRAME)
        frame.planes[0].update(bytes(frame.planes[0].buffer_size))
        frame.sample_rate, frame.pts = _SAMPLE_RATE, start
        frame.time_base = Fraction(1, _SAMPLE_RATE)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))
