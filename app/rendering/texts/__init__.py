"""Long text in pieces: lines, matches, values of JSON, previews, snippets, safe cuts.

Text comes as it is read, block by block, and no more of it is held than an answer may hold. Lines
end with LF or CRLF; a CR alone is a character like any other.
"""

from app.rendering.texts.blocks import LineBlock, LineBlocks
from app.rendering.texts.excerpts import LineCollector, LineExcerpt
from app.rendering.texts.index import LineIndex, LineIndexer
from app.rendering.texts.matches import Match, MatchCollector, Matches
from app.rendering.texts.printed import text_alone
from app.rendering.texts.values import JsonExcerpt, json_excerpt

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
