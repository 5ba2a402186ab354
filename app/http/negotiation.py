"""Which of two media types a request wishes for (RFC 9110 §12.5.1)."""

from collections.abc import Mapping


def prefers(headers: Mapping[str, str], media_type: str, other: str) -> bool:
    """Whether one media type is wished for more than another; without a wish it is not."""
    accepted = headers.get("accept")
    if accepted is None:
        return False
    wishes = [_parse_accept_item(item) for item in accepted.split(",")]
    return _quality(wishes, media_type) > _quality(wishes, other)


def _parse_accept_item(item: str) -> tuple[str, float]:
    media_range, *parameters = (piece.strip().lower() for piece in item.split(";"))
    quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
    try:
        return media_range, float(quality)
    except ValueError:
        return media_range, 0.0


def _quality(wishes: list[tuple[str, float]], media_type: str) -> float:
    """The quality of the most specific range that takes the type."""
    for media_range in (media_type, media_type.partition("/")[0] + "/*", "*/*"):
        for wished, quality in wishes:
            if wished == media_range:
                return quality
    return 0.0
