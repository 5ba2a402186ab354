"""Requests that cost more than their size shows: what `benchmarks.hostile` sends.

Each attack is an endless series of requests, since a service remembers what it has answered: every
result has a call id of its own, and every image bytes of its own.
"""

import base64
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

import av
import httpx
from PIL import Image

from benchmarks.figures import Scale
from benchmarks.load_client import request
from tests.kit.bombs import BOMBS
from tests.kit.hostile_texts import SHAPES
from tests.kit.images import saved

MIB = 1 << 20
_SHAPES = (
    "escaped quotes with a head, never closed",
    "heads",
    "heads of base64",
    "runs of forty",
    "starts of images in equal groups",
)
_MCP_ACCEPT = {"Accept": "application/json, text/event-stream"}
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Attack:
    """Requests of one kind; an answer below 500, or a 503, is right.

    Attributes:
        name: The row of the table.
        requests: The bytes of one request after another.
        clients: How many send at once.
        sends_all: Whether the last byte of the body is sent.
        probe: The request that another client sends meanwhile; its right answer is a 200.
    """

    name: str
    requests: Iterator[bytes]
    clients: int = 1
    sends_all: bool = True
    probe: bytes = request("GET", "/healthz")


@dataclass(frozen=True, slots=True)
class _Sender:
    """Writes requests for one service."""

    client: httpx.Client
    headers: Mapping[str, str] = field(default_factory=dict)

    def repeat(
        self, method: str, path: str, body: bytes = b"", *, headers: Mapping[str, str] | None = None
    ) -> Iterator[bytes]:
        """Yield the request; `NUMBER` in path and body is another number each time."""
        fields = {**self.headers, "Content-Type": "application/json", **(headers or {})}
        while True:
            number = next(_numbers)
            yield request(
                method,
                path.replace("NUMBER", str(number)),
                headers=fields,
                body=body.replace(b"NUMBER", b"%d" % number),
            )

    def call(self, name: str, result: bytes) -> Attack:
        """Return the attack of a tool that returned `result`, a JSON text."""
        body = b'{"toolName": "t", "toolCallId": "cNUMBER", "result": ' + result + b"}"
        return Attack(name, self.repeat("POST", "/api/tool-results", body))

    def renders(self, make: Callable[[int], bytes], kind: str) -> Iterator[bytes]:
        """Yield renderings that make images smaller; see `render_requests`."""
        return render_requests(self.client, self.headers, make, kind)

    def upload(self, body: bytes, kind: str) -> str:
        """Store a file, and return its path."""
        answer = self.client.post("/api/resources", content=body, headers={"Content-Type": kind})
        return answer.raise_for_status().headers["location"]


def render_requests(
    client: httpx.Client, headers: Mapping[str, str], make: Callable[[int], bytes], kind: str
) -> Iterator[bytes]:
    """Yield renderings for which an image has to be made smaller, each another image.

    Args:
        client: Stores the images.
        headers: Those of every request, with the key.
        make: Returns the image of a number.
        kind: Its media type.
    """
    for number in _numbers:
        answer = client.post("/api/resources", content=make(number), headers={"Content-Type": kind})
        handle = "@blob:" + answer.raise_for_status().json()["uri"].removeprefix("blob:")
        session = f"/api/sessions/image-{number}"
        block = {"type": "image_url", "image_url": {"url": handle}}
        message = {"role": "user", "content": [block]}
        client.post(f"{session}/messages", json=message).raise_for_status()
        query = "target=anthropic&maxImagePixels=64"
        yield request("GET", f"{session}/render?{query}", headers=headers)


def list_attacks(client: httpx.Client, headers: Mapping[str, str], scale: Scale) -> list[Attack]:
    """Return every attack on a service.

    Args:
        client: Stores the records before the attack.
        headers: Those of every request, with the key.
        scale: How large they are.
    """
    sender = _Sender(client, headers)
    return [
        *_images(sender),
        *_derived_images(sender, scale),
        *_results(sender, scale),
        *_large_values(sender, scale),
        *_mcp_bodies(sender, scale),
        _form(sender, scale),
        _ranges(sender),
    ]


def list_proxy_attacks(client: httpx.Client, scale: Scale) -> list[Attack]:
    """Return every attack on a proxy that listens, beside which another host pings its server.

    Args:
        client: Begins the sessions of both hosts.
        scale: How large they are.
    """
    many = scale.pick(19_000_000, 1_000)
    own, other = _begin_session(client), _begin_session(client)
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    probe = request("POST", "/mcp", headers=other, body=ping)
    sender = _Sender(client, own)
    wide = sender.repeat("POST", "/mcp", b"[" + b"[]," * many + b"1]")
    unfinished = sender.repeat("POST", "/mcp", b'{"a": "%s"}' % (b"word " * (many // 24)))
    return [
        Attack("empty arrays at `proxy --listen`, 57 MB", wide, probe=probe),
        Attack(
            "a hundred bodies of 4 MB at `proxy --listen`, each without its last byte",
            unfinished,
            clients=scale.pick(100, 2),
            sends_all=False,
            probe=probe,
        ),
    ]


def _begin_session(client: httpx.Client) -> dict[str, str]:
    """Begin a session of MCP; return the headers of its host."""
    headers = {**_MCP_ACCEPT, "Content-Type": "application/json"}
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    answer = client.post("/mcp", json=message, headers=headers).raise_for_status()
    return {**headers, "Mcp-Session-Id": answer.headers["mcp-session-id"]}


def _images(sender: _Sender) -> Iterator[Attack]:
    for name, (make, kind) in BOMBS.items():
        block = {"type": "image", "data": base64.b64encode(make()).decode(), "mimeType": kind}
        yield sender.call(name, json.dumps(block).encode())


def _derived_images(sender: _Sender, scale: Scale) -> Iterator[Attack]:
    scans, frames = scale.pick(2_000, 8), scale.pick(2_000, 8)
    animations = {
        "image/gif": animation("GIF", frames),
        "image/webp": animation("WEBP", frames // 4),
        "image/png": animation("PNG", frames),
    }
    jpeg = repeated_scans(scans)
    yield Attack(
        f"a JPEG of {scans:,} scans, {len(jpeg) // 1024} KiB, made smaller",
        sender.renders(lambda number: with_comment(jpeg, number), "image/jpeg"),
    )
    for kind, data in animations.items():
        yield Attack(
            f"{kind} of many frames, made smaller",
            sender.renders(lambda number, data=data: data + b"%d" % number, kind),  # type: ignore[misc]
        )
    rows = scale.pick(4_000, 16)
    tiff = saved(Image.new("L", (rows, rows)), "TIFF", compression="tiff_lzw", tiffinfo={278: 1})
    yield Attack(
        f"a TIFF of {rows:,} strips, made smaller",
        sender.renders(lambda number: tiff + b"%d" % number, "image/tiff"),
    )
    for side in scale.pick(((8_000, 8_000), (3_840, 2_160)), ((64, 64),)):
        video = sender.upload(video_of(*side), "video/mp4")
        yield Attack(
            f"the poster of a video of {side[0]:,}x{side[1]:,}",
            sender.repeat("GET", f"{video}/poster"),
        )


def _results(sender: _Sender, scale: Scale) -> Iterator[Attack]:
    many = scale.pick(1_000_000, 1_000)
    deep = scale.pick(100_000, 500)
    results = {
        "arrays within arrays, 100,000 of them": b"[" * deep + b"]" * deep,
        "objects within objects, 100,000 of them": b'{"a":' * deep + b"1" + b"}" * deep,
        "a million numbers": json.dumps(list(range(many))).encode(),
        "a million empty arrays": b"[" + b"[]," * many + b"[]]",
        "a million keys": json.dumps({f"k{n}": n for n in range(many)}).encode(),
        "a number of a million digits": b"1" * many,
        "a text of escapes, 6 MB": b'"' + b"\\u0000" * many + b'"',
        "a text of quotation marks, 2 MB": b'"' + b'\\"' * many + b'"',
        "lines of a table, 4 MB": json.dumps("|" * many + "\n" * many * 3).encode(),
        "a string that is never closed, 4 MB": SHAPES["escaped quotes in a key, never closed"](
            4 * many
        ).encode(),
    }
    for name in _SHAPES:
        results[f"{name}, 1 MB"] = json.dumps(SHAPES[name](many)).encode()
    for name, result in results.items():
        yield sender.call(name, result)


def _large_values(sender: _Sender, scale: Scale) -> Iterator[Attack]:
    messages = scale.pick(25_000, 10)
    history = [{"role": "user", "content": f"message {number}"} for number in range(messages)]
    yield Attack(
        f"a doctor of {messages:,} messages",
        sender.repeat("POST", "/api/doctor", json.dumps({"messages": history}).encode()),
    )
    members = scale.pick(200_000, 10)
    value = json.dumps({f"k{number}": number for number in range(members)}).encode()
    path = sender.upload(value, "application/json")
    yield Attack(
        f"a pointer into an object of {members:,} members",
        sender.repeat("GET", f"{path}/text?pointer=%2Fk{members - 1}"),
    )


def _mcp_bodies(sender: _Sender, scale: Scale) -> Iterator[Attack]:
    many = scale.pick(1_000_000, 1_000)
    call = b'{"jsonrpc": "2.0", "id": NUMBER, "method": "%s", "params": %s}'
    arrays = b'{"a": [' + b"[]," * many + b"[]]}"
    percents = b'{"uri": "pagefault://pages/' + b"%" * (4 * many) + b'"}'
    pairs = b'{"uri": "pagefault://pages/p?' + b"a=1&" * many + b'"}'
    bodies = {
        "empty arrays at /mcp, 3 MB": call % (b"tools/call", arrays),
        "a URI of percent signs at /mcp, 4 MB": call % (b"resources/read", percents),
        "a URI with a million parameters at /mcp": call % (b"resources/read", pairs),
        "a method of 3 MB at /mcp": call % (b"m" * (3 * many), b"{}"),
    }
    for name, body in bodies.items():
        yield Attack(name, sender.repeat("POST", "/mcp", body, headers=_MCP_ACCEPT))
    body = bodies["empty arrays at /mcp, 3 MB"]
    eight = sender.repeat("POST", "/mcp", body, headers=_MCP_ACCEPT)
    yield Attack("eight of these arrays at once", eight, clients=8)
    text = call % (b"tools/call", json.dumps({"a": "word " * (many * 4 // 5)}).encode())
    unfinished = sender.repeat("POST", "/mcp", text, headers=_MCP_ACCEPT)
    yield Attack(
        "a hundred bodies of 4 MB at /mcp, each without its last byte",
        unfinished,
        clients=scale.pick(100, 2),
        sends_all=False,
    )


def _form(sender: _Sender, scale: Scale) -> Attack:
    part = b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\ny\r\n'
    body = part * scale.pick(100_000, 500) + b"--b--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    requests = sender.repeat("POST", "/api/resources", body, headers=headers)
    return Attack("a form of 100,000 parts", requests)


def _ranges(sender: _Sender) -> Attack:
    path = sender.upload(bytes(MIB), "application/octet-stream")
    ranges = "bytes=" + ",".join(f"{first}-{first}" for first in range(0, 9_600, 2))
    requests = sender.repeat("GET", f"{path}/content", headers={"Range": ranges})
    return Attack("a request for 4,800 ranges", requests)


def repeated_scans(scans: int, side: int = 2_000) -> bytes:
    """Return a progressive JPEG whose last scan is there so many times."""
    data = saved(Image.new("L", (side, side)), "JPEG", progressive=True)
    start, end = data.rindex(b"\xff\xda"), len(data) - 2
    return data[:start] + data[start:end] * scans + data[end:]


def with_comment(jpeg: bytes, number: int) -> bytes:
    """Return the JPEG with a comment, so that its digest is another."""
    comment = b"%016d" % number
    return jpeg[:2] + b"\xff\xfe\x00\x12" + comment + jpeg[2:]


def animation(file_format: str, frames: int) -> bytes:
    """Return an animation of so many frames of 500x500 pixels."""
    first, *rest = [Image.new("L", (500, 500), number % 255) for number in range(frames)]
    return saved(first, file_format, save_all=True, append_images=rest)


def video_of(width: int, height: int) -> bytes:
    """Return an MP4 of one black picture."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=1)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        frame = av.VideoFrame(width, height, "yuv420p")
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return out.getvalue()
