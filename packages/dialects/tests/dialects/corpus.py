"""Results of tools that real packages dumped, each with its expected content.

`peers/dialects/build.py` writes the file; `make peers-check` rebuilds it.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagefault_dialects.model.normalized import NormalizedMediaPart, NormalizedText
from pagefault_dialects.results import normalize

FILE = Path(__file__).with_name("tool_results.jsonl")
_DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class Expectation:
    """The texts and media that a model reads, and the call that they answer."""

    texts: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    failed: bool = False
    call: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One result."""

    name: str
    package: str
    value: Any
    expect: Expectation


def read_cases(text: str) -> list[Case]:
    """Return the cases of a file."""
    return [_case(**json.loads(line)) for line in text.splitlines()]


def observe(value: object) -> Expectation:
    """Normalize a result; a tool that returned nothing has empty texts."""
    result = normalize(value)
    texts = ["".join(map(str, p.template)) for p in result.parts if isinstance(p, NormalizedText)]
    media = [
        hashlib.sha256(b"".join(result.media[p.slot.index].source.chunks())).hexdigest()
        for p in result.parts
        if isinstance(p, NormalizedMediaPart)
    ]
    kept = result.envelope or {}
    return Expectation(
        tuple(filter(None, texts)),
        tuple(medium[:_DIGEST_CHARS] for medium in media),
        result.is_error is True,
        kept.get("toolCallId"),
        kept.get("toolName"),
    )


def _case(*, name: str, package: str, value: object, expect: dict[str, Any]) -> Case:
    for key in expect.keys() & {"texts", "media"}:
        expect[key] = tuple(expect[key])
    return Case(name, package, value, Expectation(**expect))
