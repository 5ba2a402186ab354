"""Media for results, and results in a form that can be compared."""

import hashlib
from dataclasses import dataclass
from typing import Any

from pagefault_dialects.json.values import MediaSlot
from pagefault_dialects.model.normalized import (
    NO_PROVENANCE,
    NormalizedMediaPart,
    NormalizedText,
    NormalizedToolResult,
    Provenance,
)
from pagefault_dialects.results import normalize
from tests.kit.media import b64

NOISE = hashlib.shake_256(b"media").digest(1_100)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + NOISE
WAV = b"RIFF\x24\x08\x00\x00WAVEfmt " + NOISE
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + NOISE
BMP = b"BM\x66\x04\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00" + NOISE


PNG64, WAV64, PDF64 = b64(PNG), b64(WAV), b64(PDF)
PNG_URI = f"data:image/png;base64,{PNG64}"


@dataclass(frozen=True)
class Medium:
    """A medium of a result, with its bytes."""

    data: bytes
    declared: str | None = None
    kind: str | None = None
    filename: str | None = None
    must_be_stored: bool = False

    def __repr__(self) -> str:
        return f"Medium({self.data[:12]!r}…{len(self.data)}, {self.declared}, {self.kind})"


@dataclass(frozen=True)
class Result:
    """A result in comparable form: parts, media, and warnings as (code, pointer)."""

    parts: tuple[Any, ...]
    media: tuple[Medium, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    is_error: bool | None = None
    structured_content: tuple[Any, ...] | None = None
    display: Any = None
    meta: Any = None
    envelope: Any = None


def result_of(value: object, *, call_id: str | None = None, tool_name: str | None = None) -> Result:
    """Normalize a value into comparable form."""
    return comparable(normalize(value, call_id=call_id, tool_name=tool_name))


def comparable(result: NormalizedToolResult) -> Result:
    """Return a result with the bytes of its media."""
    return Result(
        parts=result.parts,
        media=tuple(
            Medium(
                b"".join(medium.source.chunks()),
                medium.source.declared_mime_type,
                medium.kind,
                medium.filename,
                medium.must_be_stored,
            )
            for medium in result.media
        ),
        warnings=tuple((warning.code, warning.pointer) for warning in result.warnings),
        is_error=result.is_error,
        structured_content=result.structured_content,
        display=result.display,
        meta=result.meta,
        envelope=result.envelope,
    )


def text(
    *pieces: str | int, mime: str = "text/plain", provenance: Provenance = NO_PROVENANCE
) -> NormalizedText:
    """Return a text part; numbers are slots."""
    template = tuple(MediaSlot(piece) if isinstance(piece, int) else piece for piece in pieces)
    return NormalizedText(template, mime, provenance)


def json_part(*pieces: str | int) -> NormalizedText:
    """Return a part of JSON text."""
    return text(*pieces, mime="application/json")


def medium(index: int = 0, provenance: Provenance = NO_PROVENANCE) -> NormalizedMediaPart:
    """Return the part of a medium."""
    return NormalizedMediaPart(MediaSlot(index), provenance)


def extracted(index: int = 0) -> NormalizedMediaPart:
    """Return the part of a medium that was extracted from a text or a record."""
    return NormalizedMediaPart(MediaSlot(index), extracted=True)


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a value without the members that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
