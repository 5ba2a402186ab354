"""Pages of MCP Apps: HTML at `ui://` URIs, which a host shows with the results of a tool.

The proxy reads the page of a tool's app from the server, and stores it with the tool's results.

Source: extension of MCP `io.modelcontextprotocol/ui`, "MCP Apps", 2026-01-26.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from pagefault_dialects.json.values import JsonObject, JsonValue, json_bytes
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_mcp.messages.lines import get_member

APP_MEMBER = "pagefault/app"
"""The member of `_meta` that marks a content block or a part of a record as the page of an app."""

_LONGEST_URI_CHARS = 2_048
_LONGEST_UI_META_BYTES = 16_384
_PIECE_BYTES = 192 * 1024


@dataclass(frozen=True, slots=True)
class AppPage:
    """The page of an app."""

    uri: str
    html: bytes
    ui_meta: JsonObject
    """The member `ui` of the page's `_meta`: its content security policy, and permissions."""

    def encode_block(self) -> Iterator[bytes]:
        """Yield the JSON of the content block that has the page, in pieces."""
        name = safe_file_name(self.uri.rpartition("/")[2]) or "app"
        block = {
            "type": "file",
            "filename": name if name.endswith(".html") else f"{name}.html",
            "uri": self.uri,
            "_meta": {APP_MEMBER: self.ui_meta},
        }
        yield json_bytes(block)[:-1] + b',"data":"data:text/html;base64,'
        for start in range(0, len(self.html), _PIECE_BYTES):
            yield base64.b64encode(self.html[start : start + _PIECE_BYTES])
        yield b'"}'


def find_app_page_uri(meta: JsonValue) -> str | None:
    """Return the URI of the app page in the `_meta` of a tool; `None` if the tool has no app."""
    uri = get_member(meta, "ui", "resourceUri") or get_member(meta, "ui/resourceUri")
    if isinstance(uri, str) and uri.startswith("ui://") and len(uri) <= _LONGEST_URI_CHARS:
        return uri
    return None


def read_app_page(uri: str, result: JsonValue) -> AppPage | None:
    """Return the page in the result of `resources/read`; `None` if it has no HTML."""
    contents = get_member(result, "contents")
    for content in contents if isinstance(contents, list) else ():
        mime_type, text = get_member(content, "mimeType"), get_member(content, "text")
        if not isinstance(mime_type, str) or not mime_type.startswith("text/html"):
            continue
        html = text.encode("utf-8", "replace") if isinstance(text, str) else _decode_blob(content)
        if not html:
            continue
        ui_meta = get_member(content, "_meta", "ui")
        if not isinstance(ui_meta, dict) or len(json_bytes(ui_meta)) > _LONGEST_UI_META_BYTES:
            ui_meta = {}
        return AppPage(uri, html, ui_meta)
    return None


def _decode_blob(content: JsonValue) -> bytes:
    """Return the bytes of the base64 in `blob`; empty if it is missing or invalid."""
    blob = get_member(content, "blob")
    try:
        return base64.b64decode(blob, validate=True) if isinstance(blob, str) else b""
    except binascii.Error:
        return b""
