"""Long texts in pieces: lines, matches, values and strings of JSON, previews, safe cuts.

Text is processed block by block, and no more of it is kept than an answer may have. Lines end with
LF or CRLF; a CR alone is an ordinary character.
"""
