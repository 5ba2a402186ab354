"""Long texts in pieces: lines, matches, values and strings of JSON, previews, safe cuts.

    cuts           cuts that split no grapheme: excerpts, previews, sentences
    line_blocks    splits a text into blocks of lines while it arrives, and indexes the lines
    excerpts       the lines, matches and JSON values that fit into one response
    file_texts     texts of files in messages of renderings
    json_strings   writes files into the strings of a JSON text

Texts are processed block by block, and only as much is in memory as a response may have. Lines end
with LF or CRLF; a CR alone is an ordinary character.
"""
