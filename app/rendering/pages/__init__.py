"""Memory pages as they are shown: levels, blocks, typed content, detail view, manifest.

Pure: everything follows from a page's descriptor and bodies. Media are neither read nor made here;
whoever calls hands in the address or the base64 of the one picture that is to be attached.
"""

from app.rendering.pages.blocks import PageBlocks, page_blocks
from app.rendering.pages.descriptors import scenes_of
from app.rendering.pages.detail import page_detail
from app.rendering.pages.effective_level import ShownLevel, attached_image, shown_level
from app.rendering.pages.levels import check_supplied, derive_levels
from app.rendering.pages.manifest import ManifestEntry, manifest_line, manifest_text
from app.rendering.pages.searchable import page_texts, readable_texts
from app.rendering.pages.sizes import body_size_bytes, estimate_tokens, page_tokens
from app.rendering.pages.typed_content import failure_json, page_json, typed_content

__all__ = [
    "ManifestEntry",
    "PageBlocks",
    "ShownLevel",
    "attached_image",
    "body_size_bytes",
    "check_supplied",
    "derive_levels",
    "estimate_tokens",
    "failure_json",
    "manifest_line",
    "manifest_text",
    "page_blocks",
    "page_detail",
    "page_json",
    "page_texts",
    "page_tokens",
    "readable_texts",
    "scenes_of",
    "shown_level",
    "typed_content",
]
