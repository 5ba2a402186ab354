"""Pages of MCP Apps: HTML at `ui://` URIs, which a host shows beside the results of a tool.

Source: extension of MCP `io.modelcontextprotocol/ui`, "MCP Apps", 2026-01-26.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from pagefault_dialects.json.values import JsonObject, JsonValue, json_bytes
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_mcp.messages.lines import member

APP = "pagefault/app"
"""The member of a part's `_meta` with the `ui` metadata of a page."""

_LONGEST_URI_CHARS = 2_048
_LONGEST_UI_META_BYTES = 16_384
_PIECE_BYTES = 192 * 1024


@dataclass(frozen=True, slots=True)
class AppPage:
    """The page of an app."""

    uri: str
    html: bytes
    ui_meta: JsonObject
    """The `ui` of its `_meta`: its policy, and the permissions that it asks for."""

    def encode_block(self) -> Iterator[bytes]:
        """Yield the block of content that stores the page, in pieces."""
        name = safe_file_name(self.uri.rpartition("/")[2]) or "app"
        block = {
            "type": "file",
            "filename": name if name.endswith(".html") else f"{name}.html",
            "uri": self.uri,
            "_meta": {APP: self.ui_meta},
        }
        yield json_bytes(block)[:-1] + b',"data":"data:text/html;base64,'
        for start in range(0, len(self.html), _PIECE_BYTES):
            yield base64.b64encode(self.html[start : start + _PIECE_BYTES])
        yield b'"}'


def find_app(meta: JsonValue) -> str | None:
    """Return the URI of the page in the `_meta` of a tool; `None` if the tool has none."""
    uri = member(meta, "ui", "resourceUri") or member(meta, "ui/resourceUri")
    is_app = isinstance(uri, str) and uri.startswith("ui://") and len(uri) <= _LONGEST_URI_CHARS
    return uri if isinstance(uri, str) and is_app else None


def read_page(uri: str, result: JsonValue) -> AppPage | None:
    """Return the page in the result of `resources/read`; `None` if it has no HTML."""
    contents = member(result, "contents")
    for content in contents if isinstance(contents, list) else ():
        mime_type, text = member(content, "mimeType"), member(content, "text")
        if not isinstance(mime_type, str) or not mime_type.startswith("text/html"):
            continue
        html = text.encode("utf-8", "replace") if isinstance(text, str) else _decode(content)
        ui_meta = member(content, "_meta", "ui")
        is_short = isinstance(ui_meta, dict) and len(json_bytes(ui_meta)) <= _LONGEST_UI_META_BYTES
        if html:
            return AppPage(uri, html, ui_meta if isinstance(ui_meta, dict) and is_short else {})
    return None


def _decode(content: JsonValue) -> bytes:
    blob = member(content, "blob")
    try:
        return base64.b64decode(blob, validate=True) if isinstance(blob, str) else b""
    except binascii.Error:
        return b""
