"""Digests of outputs that stay the same while code moves, one file of `tests/data/frozen` a group.

Run a test that uses them with `--write-documents` to write its file anew. The commit that does so
says why the outputs changed.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

import httpx

_FOLDER = Path(__file__).parents[1] / "data" / "frozen"
_DIGITS = 16
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_REQUEST_ID = re.compile(rb'"requestId": ?"[^"]*"')
_HEADERS = (
    "content-type",
    "content-disposition",
    "content-range",
    "content-security-policy",
    "cache-control",
    "location",
    "allow",
    "vary",
)


def digest(*outputs: bytes) -> str:
    """Return a digest of outputs in which times are equal, and ids are numbered as they appear."""
    numbers: dict[bytes, bytes] = {}

    def number(match: re.Match[bytes]) -> bytes:
        return numbers.setdefault(match[0], b"id-%d" % len(numbers))

    hashed = hashlib.sha256()
    for output in outputs:
        # Times and ids have hyphens, and base64 has none: megabytes of it are not searched.
        strings = _REQUEST_ID.sub(b"", output).split(b'"')
        found = [
            _UUID.sub(number, _TIME.sub(b"TIME", text)) if b"-" in text else text
            for text in strings
        ]
        hashed.update(b'"'.join(found) + b"\0")
    return hashed.hexdigest()[:_DIGITS]


def answer_digest(answer: httpx.Response) -> str:
    """Return a digest of an answer: its status, the headers that matter and its body."""
    headers = [f"{name}: {answer.headers[name]}" for name in _HEADERS if name in answer.headers]
    return digest(str(answer.status_code).encode(), "\n".join(headers).encode(), answer.content)


def compare(name: str, digests: Mapping[str, object], *, writes: bool) -> None:
    """Compare digests with those of the file, or write them to it.

    Args:
        name: The file.
        digests: What was found.
        writes: Whether the file is written.
    """
    path = _FOLDER / f"{name}.json"
    if writes:
        rows = [f"{json.dumps(key)}: {json.dumps(found)}" for key, found in digests.items()]
        path.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    frozen = json.loads(path.read_text())
    changed = [key for key in {**frozen, **digests} if frozen.get(key) != digests.get(key)]
    assert not changed, f"{name}: {changed}"
