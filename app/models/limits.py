"""Limits a request is held to; what lies beyond them is refused and not stored."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """See `app.setting_groups.LimitSettings`, which documents and bounds each of them."""

    body_bytes: int
    text_bytes: int
    medium_bytes: int
    media_per_result: int
    json_depth: int
    json_nodes: int
    page_text_bytes: int
    page_fields_bytes: int
    image_bytes: int
    image_pixels: int
    message_bytes: int
    inline_bytes: int
    upload_bytes: int
    upload_seconds: float
    bundle_bytes: int
    large_bodies: int
    large_bodies_waiting: int
    memory_bytes: int
    connections_at_once: int
    requests_at_once: int
    header_bytes: int
    header_seconds: float
    body_idle_seconds: float
    body_bytes_per_second: int
    body_grace_seconds: float
    answer_idle_seconds: float
