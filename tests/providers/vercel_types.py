"""Messages of the AI SDK: its own schema and prompt in Node.js, and further rules."""

import atexit
import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from pagefault_dialects.json.values import json_text
from tests.kit.node import NODE, installed
from tests.kit.process import environment
from tests.providers.encoded import check_encoded
from tests.providers.pairs import Step, check_pairs

Json: TypeAlias = dict[str, Any]

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_CLIENT = Path(__file__).parents[1] / "e2e" / "ai"


def check_vercel(messages: list[Json]) -> None:
    """Raise unless the AI SDK takes the messages; asks a process of Node.js, started once."""
    _check(messages, "ai")


def check_vercel_6(messages: list[Json]) -> None:
    """Raise unless version 6 of the AI SDK takes the messages; see `check_vercel`."""
    _check(messages, "ai-6")


def check_vercel_6_types(messages: list[Json]) -> None:
    """Raise unless the messages are of the schema of version 6 of the AI SDK."""
    _check_schema(messages, "ai-6")


def check_vercel_types(messages: list[Json]) -> None:
    """Raise unless the messages are of the schema of the AI SDK."""
    _check_schema(messages, "ai")


def _check(messages: list[Json], package: str) -> None:
    _check_schema(messages, package)
    for message in messages:
        assert message["content"], f"an empty message of the {message['role']}"
        for part in _parts(message):
            _check_part(part)
    check_pairs(map(_step, messages))


def _check_schema(messages: list[Json], package: str) -> None:
    node = _node(package)
    assert node.stdin
    assert node.stdout
    node.stdin.write(_ascii(messages) + b"\n")
    node.stdin.flush()
    wrong = json.loads(node.stdout.readline() or '"The process of Node.js has ended."')
    assert not wrong, wrong


@cache
def _node(package: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(  # noqa: S603 - our own script
        [NODE, installed(_CLIENT) / "check.mjs", package],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    # Its input is closed, which ends it.
    atexit.register(process.communicate, timeout=10)
    return process


def _ascii(messages: list[Json]) -> bytes:
    """The messages on one line, whatever characters there are that would end one."""
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], json_text(messages)).encode()


def _parts(message: Json) -> Iterator[Json]:
    """Texts and files, wherever they are."""
    content = message["content"]
    for part in [] if isinstance(content, str) else content:
        if part["type"] != "tool-result":
            yield part
            continue
        assert part["toolName"], "a tool without a name"
        if part["output"]["type"] == "content":
            assert any("text" not in value for value in part["output"]["value"]), "only texts"
            yield from part["output"]["value"]


def _check_part(part: Json) -> None:
    match part:
        case {"type": "text", "text": text}:
            assert text, "an empty text"
        case {"type": "file", "data": {"type": "data", "data": str(data)}, "mediaType": media_type}:
            check_encoded(data, media_type)
        case {"type": "file", "data": str(data), "mediaType": media_type}:
            if not data.startswith(("https://", "http://")):
                check_encoded(data, media_type)
        case {"type": "image-data" | "file-data" as kind, "data": data, "mediaType": media_type}:
            # Providers take what is called a file for no image.
            assert (kind == "image-data") == media_type.startswith("image/"), media_type
            check_encoded(data, media_type)
        case {"type": "file-url", "url": url, "mediaType": _} | {"type": "image-url", "url": url}:
            assert url.startswith(("https://", "http://")), f"no URL: {url[:80]}"
        case {"type": "tool-call", "toolName": name, "input": arguments}:
            assert name, "a call of no tool"
            assert isinstance(arguments, dict), "arguments that are no object"
        case _:
            raise AssertionError(f"no part for any reader: {part}")


def _step(message: Json) -> Step:
    content = message["content"]
    ids: dict[str, list[str]] = {"tool-call": [], "tool-result": []}
    for part in [] if isinstance(content, str) else content:
        if part["type"] in ids:
            assert part["toolCallId"], "a call without an id"
            ids[part["type"]].append(part["toolCallId"])
    return ids["tool-call"], ids["tool-result"]
