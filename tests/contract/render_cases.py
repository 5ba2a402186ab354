"""Every medium that tools return, rendered for every target: the matrix of the documentation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import httpx

from pagefault_dialects.targets.table import TARGETS
from tests.kit import media
from tests.kit.media import b64
from tests.providers import CHECKS

_SVG = b'<svg xmlns="http://www.w3.org/2000/svg">' + b'<circle r="1"/>' * 100 + b"</svg>"
_MANY = 30


@dataclass(frozen=True, slots=True)
class Case:
    """Results of tools, one each, in one session."""

    results: Sequence[dict[str, Any]]


def image_block(content: bytes, mime_type: str = "image/png", **more: object) -> dict[str, Any]:
    """An image as MCP has it."""
    return {"type": "image", "data": b64(content), "mimeType": mime_type, **more}


def audio_block(content: bytes, mime_type: str, **more: object) -> dict[str, Any]:
    """A recording as MCP has it."""
    return {"type": "audio", "data": b64(content), "mimeType": mime_type, **more}


def file_block(name: str, content: bytes, mime_type: str) -> dict[str, Any]:
    """A file as MCP has it."""
    resource = {"uri": f"file:///{name}", "mimeType": mime_type, "blob": b64(content)}
    return {"type": "resource", "resource": resource}


def _case(*blocks: dict[str, Any], **more: object) -> Case:
    message = {"type": "text", "text": "Here it is."}
    return Case([{"content": [message, *blocks], **more}])


CASES: Mapping[str, Case] = MappingProxyType(
    {
        "text": _case(),
        "PNG": _case(image_block(media.png(noise=True))),
        "JPEG": _case(image_block(media.jpeg(noise=True), "image/jpeg")),
        "WebP": _case(image_block(media.image("WEBP", noise=True), "image/webp")),
        "GIF": _case(image_block(media.image("GIF", noise=True), "image/gif")),
        "BMP": _case(image_block(media.image("BMP"), "image/bmp")),
        "SVG": _case(file_block("drawing.svg", _SVG, "image/svg+xml")),
        "PDF": _case(file_block("report.pdf", media.pdf(), "application/pdf")),
        "CSV": _case(file_block("table.csv", b"a,b\n" + b"1,2\n" * 500, "text/csv")),
        "ZIP": _case(file_block("all.zip", b"PK\x03\x04" + bytes(2_000), "application/zip")),
        "WAV": _case(audio_block(media.wav(), "audio/wav")),
        "MP3": _case(audio_block(media.mp3(), "audio/mpeg")),
        "MP4": _case(file_block("demo.mp4", media.mp4(), "video/mp4")),
        "image of 9,000 pixels": _case(image_block(media.png(9_000, 40))),
        "image of 6 MB": _case(image_block(media.png(1_500, 1_400, noise=True))),
        "JPEG called a PNG": _case(image_block(media.jpeg(noise=True))),
        "damaged PNG": _case(image_block(b"\x89PNG\r\n\x1a\n" + bytes(2_000))),
        "PDF by name only": _case(file_block("report.pdf", b"\x00\x01" * 1_000, "application/pdf")),
        "small image in the record": _case(image_block(media.png())),
        "image at an address": _case(
            {"type": "image_url", "image_url": {"url": "https://files.example/a.png"}}
        ),
        "error with an image": _case(image_block(media.png(noise=True)), isError=True),
        "data with a `$ref`": _case(structuredContent={"schema": {"$ref": "#/a"}, "n": 2**60}),
        "30 images in a session": Case(
            [
                {"content": [image_block(media.png(64 + number, 48, noise=True))]}
                for number in range(_MANY)
            ]
        ),
    }
)

_WORDS = {"placeholder": "one line", "nothing": "left out"}


def store(client: httpx.Client, name: str) -> str:
    """The results of a case in a session of its own, each called for; returns the session's id."""
    session_id = "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")
    for number, result in enumerate(CASES[name].results):
        call_id = f"call_{number}"
        call = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
        message = {"role": "assistant", "content": [call]}
        called = client.post(f"/api/sessions/{session_id}/messages", json=message)
        assert called.status_code == 201, called.text[:500]
        body = {
            "toolName": "look",
            "toolCallId": call_id,
            "sessionId": session_id,
            "result": result,
        }
        stored = client.post("/api/tool-results", json=body)
        assert stored.status_code in (200, 201), stored.text[:500]
    return session_id


def rendered(client: httpx.Client, session_id: str, target: str) -> dict[str, Any]:
    """The rendering of a session, which the provider's own types take."""
    answer = client.get(f"/api/sessions/{session_id}/render", params={"target": target})
    assert answer.status_code == 200, answer.text[:500]
    record: dict[str, Any] = answer.json()
    CHECKS[target](record["messages"])
    return record


def matrix(client: httpx.Client) -> str:
    """Return a table of every medium's form for every target."""
    lines = [
        f"| | {' | '.join(f'`{target}`' for target in TARGETS)} |",
        f"|---|{'---|' * len(TARGETS)}",
    ]
    for name in CASES:
        session_id = store(client, name)
        cells = [_cell(name, rendered(client, session_id, target)) for target in TARGETS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(name: str, record: dict[str, Any]) -> str:
    # What a provider demands besides, as a line before the first turn, is no loss of the medium.
    losses = [entry for entry in record["loss"] if entry["from"] != "nothing"]
    lost = {(entry["seq"], entry["pointer"]): entry["to"] for entry in losses}
    if not lost:
        return "✓"
    words = ", ".join(sorted({_WORDS.get(to, to) for to in lost.values()}))
    many = len(CASES[name].results)
    return words if many == 1 else f"{words}: {len(lost)} of {many}"
