"""Long text in pieces: lines, matches, values and strings of JSON, previews, snippets, safe cuts.

Text comes as it is read, block by block, and no more of it is held than an answer may hold. Lines
end with LF or CRLF; a CR alone is a character like any other.
"""

from app.rendering.texts.blocks import LineBlock, LineBlocks, LineIndex, LineIndexer
from app.rendering.texts.excerpts import (
    JsonExcerpt,
    LineCollector,
    LineExcerpt,
    Match,
    MatchCollector,
    Matches,
    json_excerpt,
    text_alone,
)

__all__ = [
    "JsonExcerpt",
    "LineBlock",
    "LineBlocks",
    "LineCollector",
    "LineExcerpt",
    "LineIndex",
    "LineIndexer",
    "Match",
    "MatchCollector",
    "Matches",
    "json_excerpt",
    "text_alone",
]
