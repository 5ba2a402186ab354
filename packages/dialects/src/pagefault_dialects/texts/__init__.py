"""Long text in pieces: lines, matches, values and strings of JSON, previews, safe cuts.

Text comes as it is read, block by block, and no more of it is held than an answer may hold. Lines
end with LF or CRLF; a CR alone is a character like any other.
"""
