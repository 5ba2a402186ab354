"""Media as agents meet them, drawn on the spot: a checkout page, a chart, clips of a screen."""

import io
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
from av.video.stream import VideoStream
from PIL import Image, ImageDraw, ImageFont

from tests.kit.media import noise_bytes

_FRAMES_PER_SECOND = 10
_INK, _QUIET, _LINE = "#1f2937", "#6b7280", "#d1d5db"
_BRAND, _GROUND, _FAULT = "#0f766e", "#f9fafb", "#b91c1c"


@cache
def checkout_page() -> bytes:
    """A shop's checkout page as a browser tool captures it."""
    return _png(_checkout())


@cache
def failed_checkout_page() -> bytes:
    """The page after the payment was declined."""
    page = _checkout()
    draw = ImageDraw.Draw(page)
    draw.rounded_rectangle((40, 76, 600, 116), 6, fill="#fef2f2", outline=_FAULT)
    draw.text((56, 86), "Your card was declined (card_expired).", _FAULT, _font(16))
    return _png(page)


@cache
def latency_chart() -> bytes:
    """Bars of a chart: how long requests took, by the hour."""
    chart = Image.new("RGB", (640, 320), "white")
    draw = ImageDraw.Draw(chart)
    draw.text((24, 16), "Checkout latency, p95 in ms", _INK, _font(18))
    for step in range(4):
        y = 270 - step * 60
        draw.line((64, y, 616, y), _LINE)
        draw.text((24, y - 9), str(step * 200), _QUIET, _font(14))
    for hour, value in enumerate((180, 190, 210, 200, 240, 610, 580, 320, 220, 200)):
        x, top = 84 + hour * 54, 270 - value * 60 // 200
        draw.rectangle((x, top, x + 30, 270), fill=_FAULT if value > 500 else _BRAND)
        draw.text((x + 4, 278), f"{hour + 8:02}", _QUIET, _font(14))
    return _png(chart)


@cache
def click_clip() -> bytes:
    """Two seconds of a pointer that moves to a button, in H.264."""
    frames = []
    for number in range(2 * _FRAMES_PER_SECOND):
        page = _checkout()
        draw = ImageDraw.Draw(page)
        x, y = 180 + number * 19, 120 + number * 12
        draw.polygon([(x, y), (x, y + 22), (x + 6, y + 17), (x + 15, y + 16)], fill="black")
        frames.append(page)
    return _encoded(frames, {"crf": "23"})


@cache
def heavy_clip() -> bytes:
    """Four seconds of noise: more than browsers load to show how a recording begins."""
    noise = noise_bytes(480 * 270 * 3)
    frames = [
        Image.frombytes("RGB", (480, 270), noise[number * 331 :] + noise[: number * 331])
        for number in range(4 * _FRAMES_PER_SECOND)
    ]
    # Browsers can begin anew at each tenth frame only.
    return _encoded(frames, {"crf": "12", "preset": "ultrafast", "g": "10"})


def _checkout() -> Image.Image:
    page = Image.new("RGB", (640, 360), _GROUND)
    draw = ImageDraw.Draw(page)
    draw.rectangle((0, 0, 640, 56), fill=_BRAND)
    draw.text((24, 16), "Kestrel Outdoor", "white", _font(22))
    draw.text((540, 20), "Basket (3)", "white", _font(16))
    draw.text((40, 124), "Checkout", _INK, _font(22))
    rows = ("Two-person tent", "249.00"), ("Sleeping mat", "64.50"), ("Gas stove", "39.90")
    for number, (name, price) in enumerate(rows):
        y = 164 + number * 34
        draw.text((40, y), name, _INK, _font(16))
        draw.text((320, y), price, _INK, _font(16))
        draw.line((40, y + 27, 380, y + 27), _LINE)
    draw.text((40, 280), "Total", _INK, _font(18))
    draw.text((316, 280), "353.40", _INK, _font(18))
    draw.rounded_rectangle((420, 124, 600, 250), 6, fill="white", outline=_LINE)
    draw.text((436, 136), "Pay by card", _INK, _font(16))
    draw.text((436, 168), "**** **** **** 4242", _QUIET, _font(14))
    draw.text((436, 196), "Expires 04/27", _QUIET, _font(14))
    draw.rounded_rectangle((420, 276, 600, 316), 6, fill=_BRAND)
    draw.text((466, 286), "Place order", "white", _font(16))
    return page


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _encoded(frames: Sequence[Image.Image], options: dict[str, str]) -> bytes:
    """H.264 in an MP4 whose header is in front, so that reading may stop behind it."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "clip.mp4")
        muxing = {"movflags": "faststart", "fflags": "+bitexact"}
        with av.open(str(path), "w", format="mp4", options=muxing) as container:
            stream = container.add_stream("libx264", rate=_FRAMES_PER_SECOND, options=options)
            assert isinstance(stream, VideoStream)
            stream.width, stream.height = frames[0].size
            stream.pix_fmt = "yuv420p"
            for number, image in enumerate(frames):
                frame = av.VideoFrame.from_image(image)  # type: ignore[no-untyped-call]
                frame.pts, frame.time_base = number, Fraction(1, _FRAMES_PER_SECOND)
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        return path.read_bytes()
